#include "inject/image/commit.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/image/client_files.h"
#include "inject/image/plan_part.h"
#include "inject/image/probe.h"
#include "inject/names/sandbox_label.h"
#include "inject/names/tag.h"
#include "limits.h"

static int commit_put_label(void *w, const char *name, struct str value)
{
	jw_key(w, name);
	jw_str(w, value);
	return 0;
}

/* Writes the settings of the container, which become those of the image. */
static int commit_write_container(struct plan *p, struct image *on, struct buf *out)
{
	const struct json_val shell = json_get(on->config, "Shell");
	const struct dockerfile d = plan_describe(p);
	const struct labels labels = dockerfile_get_labels(&d);
	struct jw w;
	int r;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "Image");
	jw_str(&w, on->id);
	jw_key(&w, "Entrypoint");
	jw_array(&w);
	jw_cstr(&w, IMAGE_CLIENT);
	jw_cstr(&w, "init");
	jw_end(&w);
	jw_key(&w, "Labels");
	jw_object(&w);
	r = labels_each(&labels, commit_put_label, &w);
	/*
	 * The image inherits the labels of the container, which inherits those of its
	 * image.
	 */
	for (enum sandbox_label i = 0; i < SANDBOX_LABELS; i++)
		if (image_label(on, sandbox_label_name(i)).n) {
			jw_key(&w, sandbox_label_name(i));
			jw_cstr(&w, "");
		}
	jw_end(&w);
	if (image_has_healthcheck(p->base)) {
		jw_key(&w, "Healthcheck");
		jw_object(&w);
		jw_key(&w, "Test");
		jw_array(&w);
		jw_cstr(&w, "NONE");
		jw_end(&w);
		jw_end(&w);
	}
	/* A container inherits all settings but Shell. */
	if (json_count(shell)) {
		jw_key(&w, "Shell");
		jw_raw(&w, json_raw(shell));
	}
	jw_end(&w);
	return r ? r : out->err;
}

/* Makes the container; *id is its id with a NUL at the end. */
static int commit_create_container(struct plan *p, struct image *on, struct buf *id)
{
	struct buf body = BUF_INIT(INJECT_BODY_MAX);
	int r = commit_write_container(p, on, &body);

	if (!r)
		r = engine_create(
			p->engine, &body, NULL, "creating a container of the image", id);
	buf_free(&body);
	return r;
}

static int commit_put_files(struct plan *p, const char *id)
{
	struct client_files files = {
		.client = buf_view(&p->client.bytes),
		.plugins_program = program_plugins_bytes(&p->client),
		.drop_in = p->drop_in,
	};
	struct reply reply;
	int r;

	if (p->shell == IMAGE_SHELL_BUSYBOX)
		files.busybox = buf_view(&p->busybox.bytes);
	r = client_files_put(p->engine, id, &files, &reply);
	if (!r && reply.status != 200)
		r = engine_fail_reply(
			&reply, NULL, "copying the client into a container of the image");
	reply_free(&reply);
	return r;
}

static int commit(struct plan *p, const char *id)
{
	struct engine calm = engine_copy_nosignal(p->engine);
	const struct str nothing = STR("{}");
	struct reply reply;
	int r;

	/* Some storage drivers compare all files first, and send nothing meanwhile. */
	calm.idle_ms = INJECT_STREAM_MS;
	r = engine_request(&calm, &reply, "POST", nothing,
		"/commit?container=%s&repo=" TAG_REPO "&tag=%.*s&pause=0", id,
		STR_ARG(buf_view(&p->tag)));

	if (!r && reply.status != 201)
		r = engine_fail_reply(
			&reply, NULL, "committing the container as an image");
	reply_free(&reply);
	return r;
}

int commit_image(struct plan *p, struct image *on)
{
	struct buf id = BUF_INIT(256);
	int r = commit_create_container(p, on, &id);

	if (!r)
		r = commit_put_files(p, id.p);
	if (!r)
		r = commit(p, id.p);
	probe_close(p->engine, &id);
	return r;
}
