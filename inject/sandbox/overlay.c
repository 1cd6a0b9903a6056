#include "inject/sandbox/overlay.h"

#include "base/hash.h"
#include "codec/archive/pax.h"
#include "inject/console/out.h"
#include "inject/image/image.h"
#include "inject/names/owner.h"
#include "inject/names/sandbox_label.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static size_t overlay_count_mounts(const struct settings *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->mounts_n; i++)
		n += s->mounts[i].type == SPEC_OVERLAY;
	return n;
}

static void overlay_write_volume(const char *name, const char *sandbox, struct jw *w)
{
	char owner[OWNER_LABEL_MAX];

	owner_label(name, owner);
	jw_object(w);
	jw_key(w, "Name");
	jw_cstr(w, name);
	jw_key(w, "Labels");
	jw_object(w);
	jw_key(w, sandbox_label_name(SANDBOX_LABEL_OVERLAY));
	jw_cstr(w, "1");
	jw_key(w, sandbox_label_name(SANDBOX_LABEL_NAME));
	jw_cstr(w, sandbox);
	jw_key(w, sandbox_label_name(SANDBOX_LABEL_OWNER));
	jw_cstr(w, owner);
	jw_end(w);
	jw_end(w);
}

/*
 * Reads the mount point of the volume, which becomes part of mount options: an absolute
 * path without their separators.
 */
static void overlay_take_place(struct json_doc *d, struct buf *where)
{
	struct str place = json_doc_str(d, json_get(json_doc_root(d), "Mountpoint"));

	for (size_t i = 0; i < place.n; i++)
		if ((unsigned char)place.p[i] < ' ' || memchr(",:\\\"", place.p[i], 4))
			return;
	if (str_starts(place, STR("/")))
		buf_str(where, place);
}

/* Creates the volume and stores its path on the engine's machine in where. */
static int overlay_make_volume(
	const struct engine *e, struct overlay *o, const char *sandbox, struct buf *where)
{
	const struct engine calm = engine_copy_nosignal(e);
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	struct reply reply;
	struct json_doc d;
	struct jw w;
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];
	int r = random_bytes(random, sizeof(random));

	if (r)
		return r;
	/* The sandbox's name may belong to another container, so that it is not used. */
	hex_encode(random, sizeof(random), hex);
	snprintf(o->name, sizeof(o->name), SANDBOX_OVERLAY_PREFIX "%s", hex);
	jw_init(&w, &body);
	overlay_write_volume(o->name, sandbox, &w);
	r = body.err ? body.err
		     : engine_request(
			       &calm, &reply, "POST", buf_view(&body), "/volumes/create");
	if (!r && reply.status != 201)
		r = engine_fail_reply(&reply, NULL, "creating a volume for the overlay");
	if (!r && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		overlay_take_place(&d, where);
		json_doc_free(&d);
	}
	if (!r && !where->n)
		r = out_fail(ENGINE_NEXT,
			"the engine did not return the path of the volume %s", o->name);
	reply_free(&reply);
	buf_free(&body);
	return r;
}

static int overlay_add_folder(
	struct buf *tar, size_t number, const char *which, const struct stat *st)
{
	char name[32];
	struct pax_entry entry = {
		.mode = S_IFDIR | (st->st_mode & 07777),
		.mtime = st->st_mtime,
		.uid = st->st_uid,
		.gid = st->st_gid,
	};

	snprintf(name, sizeof(name), "%zu-%s", number, which);
	entry.name = str_c(name);
	return pax_write_header(tar, &entry);
}

/*
 * Appends the upper and work folders. The top of an overlay has the owner and mode of its
 * upper folder, so that the upper folder gets those of the lower folder. The lower folder
 * must be on this machine.
 */
static int overlay_write_archive(
	const struct settings *s, struct str where, struct overlay *o, struct buf *tar)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < s->mounts_n && !r; i++) {
		struct stat st = {.st_mode = 0755};
		char lower[4096], *upper, *work;
		size_t room = where.n + 32;

		if (s->mounts[i].type != SPEC_OVERLAY)
			continue;
		snprintf(lower, sizeof(lower), "%.*s", STR_ARG(s->mounts[i].source));
		if (stat(lower, &st) < 0)
			return out_fail("give an existing folder",
				"cannot use the overlay's source %s: %s", lower,
				err_text(-errno));
		upper = arena_alloc(&o->arena, room);
		work = arena_alloc(&o->arena, room);
		if (!upper || !work)
			return -ENOMEM;
		snprintf(upper, room, "%.*s/%zu-upper", STR_ARG(where), n);
		snprintf(work, room, "%.*s/%zu-work", STR_ARG(where), n);
		o->dirs[n] = (struct settings_overlay){str_c(upper), str_c(work)};
		r = overlay_add_folder(tar, n, "upper", &st);
		if (!r)
			r = overlay_add_folder(tar, n++, "work", &st);
	}
	pax_end(tar);
	return r ? r : tar->err;
}

static int overlay_make_container(
	const struct engine *e, const char *image, const char *volume, struct buf *id)
{
	static const struct str no_labels[SANDBOX_LABELS];
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	struct jw_text t;
	struct jw w;
	int r;

	jw_init(&w, &body);
	jw_object(&w);
	jw_key(&w, "Image");
	jw_cstr(&w, image);
	jw_key(&w, "Entrypoint");
	jw_array(&w);
	jw_cstr(&w, IMAGE_CLIENT);
	jw_end(&w);
	jw_key(&w, "Labels");
	jw_object(&w);
	sandbox_label_write_all(no_labels, &w);
	jw_end(&w);
	jw_key(&w, "HostConfig");
	jw_object(&w);
	jw_key(&w, "Binds");
	jw_array(&w);
	jw_text_begin(&t, &w);
	jw_text_put(&t, str_c(volume));
	jw_text_put(&t, STR(":/.od/overlay:nocopy"));
	jw_text_end(&t);
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	r = engine_create(e, &body, NULL, "preparing the overlay", id);
	buf_free(&body);
	return r;
}

static int overlay_put_folders(
	const struct engine *e, const char *image, const char *volume, struct str tar)
{
	struct buf id = BUF_INIT(256);
	struct target target;
	struct reply reply = {0};
	struct http_client c;
	int r = overlay_make_container(e, image, volume, &id);
	struct http_client_request q = {
		.method = "PUT",
		.target = &target,
		.type = "application/x-tar",
		.parts = &tar,
		.parts_n = 1,
	};

	if (r) {
		buf_free(&id);
		return r;
	}
	reply_init(&reply);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%.*s/archive?path=/.od/overlay",
		STR_ARG(buf_view(&id)));
	http_client_begin(&c, -1, 0, false);
	r = engine_stream(e, &c, &q, INJECT_ENGINE_MS);
	if (!r) {
		reply.status = c.head.status;
		r = http_client_read_all(&c, &reply.body);
		r = r ? engine_fail(e, r) : 0;
	}
	if (!r && reply.status != 200)
		r = engine_fail_reply(&reply, NULL, "preparing the overlay");
	http_client_close(&c);
	engine_cleanup(
		e, NULL, "DELETE", "/containers/%.*s?force=1", STR_ARG(buf_view(&id)));
	reply_free(&reply);
	target_free(&target);
	buf_free(&id);
	return r;
}

int overlay_make(const struct engine *e, const char *image, const char *sandbox,
	const struct settings *s, struct overlay *o)
{
	struct buf where = BUF_INIT(4096), tar = BUF_INIT(INJECT_FILE_MAX);
	size_t n = overlay_count_mounts(s);
	int r;

	*o = (struct overlay){0};
	if (!n)
		return 0;
	arena_init(&o->arena, INJECT_FILE_MAX);
	o->dirs = arena_array(&o->arena, n, sizeof(*o->dirs));
	r = o->dirs ? overlay_make_volume(e, o, sandbox, &where) : -ENOMEM;
	if (!r)
		r = overlay_write_archive(s, buf_view(&where), o, &tar);
	if (!r)
		r = overlay_put_folders(e, image, o->name, buf_view(&tar));
	buf_free(&where);
	buf_free(&tar);
	return r;
}

void overlay_free(struct overlay *o)
{
	arena_reset(&o->arena);
	*o = (struct overlay){0};
}

void overlay_undo(const struct engine *e, struct overlay *o, const char *sandbox)
{
	overlay_remove(e, o->name, sandbox);
	overlay_free(o);
}

/* Whether od-runtime created the volume that the engine describes, for this sandbox. */
static bool overlay_is_owned(struct json_doc *d, const char *name, const char *sandbox)
{
	struct json_val root = json_doc_root(d), labels = json_get(root, "Labels");
	struct json_val of = json_get(labels, sandbox_label_name(SANDBOX_LABEL_NAME));

	return str_eq(json_doc_str(d, json_get(root, "Name")), str_c(name)) &&
		sandbox_label_is_set(d, labels, SANDBOX_LABEL_OVERLAY) &&
		(!json_type(of) || str_eq(json_doc_str(d, of), str_c(sandbox)));
}

void overlay_remove(const struct engine *e, const char *name, const char *sandbox)
{
	struct reply reply = {0};
	struct json_doc d;
	bool owned = false;

	if (!sandbox_label_is_overlay(str_c(name)))
		return;
	if (engine_cleanup(e, &reply, "GET", "/volumes/%s", name) == 0 &&
		reply.status == 200 && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		owned = overlay_is_owned(&d, name, sandbox);
		json_doc_free(&d);
	}
	reply_free(&reply);
	if (owned)
		engine_cleanup(e, NULL, "DELETE", "/volumes/%s", name);
}
