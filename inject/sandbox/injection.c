#include "inject/sandbox/injection.h"

#include "inject/console/out.h"
#include "inject/image/cache.h"
#include "inject/image/client_files.h"
#include "inject/image/probe.h"
#include "inject/sandbox/injection_volume.h"
#include "inject/sandbox/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CLIENT_NAME "od-runtime-client"
#define PLUGINS_NAME "od-plugins"

/*
 * An injection method. The functions return 0; 1 with the reason in v->why: the method is
 * not possible; or a negative error. fill returns 1 without v->why: repeat with the
 * current mounts.
 */
struct injection_ops {
	const char *name; /* value of --via */
	bool image;       /* makes an image, and has no functions */
	int (*prepare)(struct injection *v);
	int (*fill)(struct injection *v, const char *id);
};

static int injection_bind_prepare(struct injection *v);
static int injection_bind_fill(struct injection *v, const char *id);
static int injection_put_prepare(struct injection *v);
static int injection_put_fill(struct injection *v, const char *id);

static const struct injection_ops injection_methods[] = {
	[INJECTION_AUTO] = {"auto", false, NULL, NULL},
	[INJECTION_BIND] = {"bind", false, injection_bind_prepare, injection_bind_fill},
	[INJECTION_VOLUME] = {"volume", false, injection_volume_prepare,
		injection_volume_fill},
	[INJECTION_PUT] = {"put", false, injection_put_prepare, injection_put_fill},
	[INJECTION_BUILD] = {"build", true, NULL, NULL},
	[INJECTION_COMMIT] = {"commit", true, NULL, NULL},
};

/* The order of auto: the fastest method first; a volume also works with --read-only. */
static const enum injection_kind order[] = {
	INJECTION_BIND, INJECTION_PUT, INJECTION_VOLUME};

bool injection_makes_image(enum injection_kind way)
{
	return injection_methods[way].image;
}

const char *injection_method_name(enum injection_kind way)
{
	return injection_methods[way].name;
}

int injection_set_reason(struct injection *v, const char *words)
{
	buf_reset(&v->reason);
	buf_puts(&v->reason, words);
	return v->reason.err ? v->reason.err : 1;
}

int injection_set_reply_reason(struct injection *v, const struct reply *reply)
{
	buf_reset(&v->reason);
	engine_read_message(reply, &v->reason);
	return v->reason.err ? v->reason.err : 1;
}

void injection_add_mount(struct injection *v, struct spec_parse_mount m)
{
	m.read_only = true;
	v->mounts[v->mounts_n++] = m;
}

static void injection_add_file(struct injection *v, const char *file, const char *target)
{
	struct spec_parse_mount m = {
		.type = SPEC_BIND,
		.source = str_c(file),
		.target = str_c(target),
	};

	/*
	 * With SELinux a process in a container may read only files labelled for
	 * containers.
	 */
	if (access("/sys/fs/selinux/enforce", F_OK) == 0) {
		m.short_form = true;
		m.modes = STR("ro,z");
	}
	injection_add_mount(v, m);
}

static int injection_bind_program(struct injection *v, const struct program *p,
	const char *name, const char *target)
{
	char *file = v->file[v->mounts_n];
	char words[256];
	int r = cache_put_file(p, name, file, sizeof(v->file[0]));

	if (r == -ENOMEM)
		return r;
	if (r) {
		snprintf(words, sizeof(words),
			"the client cannot be stored in the cache folder: %s",
			err_text(r));
		return injection_set_reason(v, words);
	}
	injection_add_file(v, file, target);
	return 0;
}

static int injection_bind_prepare(struct injection *v)
{
	int r;

	if (v->engine->podman && v->options->image.via == INJECTION_AUTO)
		return injection_set_reason(
			v, "Podman does not report whether it can access the file");
	r = injection_bind_program(v, v->client, CLIENT_NAME, IMAGE_CLIENT);
	if (!r && v->client->plugins)
		r = injection_bind_program(
			v, v->client->plugins, PLUGINS_NAME, IMAGE_PLUGINS);
	if (!r && v->with_busybox)
		r = injection_bind_program(v, v->busybox, "busybox", INJECTION_BUSYBOX);
	return r;
}

int injection_check_program(
	struct injection *v, const char *id, const char *path, const struct program *p)
{
	struct buf target = BUF_INIT(FILE_PATH_MAX);
	struct probe_stat st;
	int r = probe_path(v->engine, id, str_c(path), &st, &target);

	buf_free(&target);
	if (r)
		return r;
	return st.kind == PROBE_PROGRAM && st.size == (int64_t)p->bytes.n ? 0 : 1;
}

/*
 * Checks the client: an engine on another machine may have another file there, or none.
 */
static int injection_bind_fill(struct injection *v, const char *id)
{
	size_t without = 1 + (v->client->plugins != NULL);
	int r;

	if (v->with_busybox && v->mounts_n == without) {
		r = injection_bind_program(v, v->busybox, "busybox", INJECTION_BUSYBOX);
		return r ? r : injection_set_reason(v, "");
	}
	/* Podman 4 fails when it is asked about a mounted file. */
	if (v->engine->podman)
		return 0;
	r = injection_check_program(v, id, IMAGE_CLIENT, v->client);
	return r == 1 ? injection_set_reason(
				v, "the engine cannot access the files of this machine")
		      : r;
}

static int injection_put_prepare(struct injection *v)
{
	return v->options->read_only
		? injection_set_reason(
			  v, "no file can be copied into a --read-only sandbox")
		: 0;
}

static int injection_put_fill(struct injection *v, const char *id)
{
	struct client_files files = {
		.client = buf_view(&v->client->bytes),
		.plugins_program = program_plugins_bytes(v->client),
	};
	struct buf target = BUF_INIT(FILE_PATH_MAX);
	struct probe_stat st;
	struct reply reply;
	int r = probe_path(v->engine, id, STR("/openhands"), &st, &target);

	buf_free(&target);
	if (r)
		return r;
	/* An existing /openhands of the image stays. */
	files.drop_in = st.kind == PROBE_ABSENT;
	if (v->with_busybox)
		files.busybox = buf_view(&v->busybox->bytes);
	r = client_files_put(v->engine, id, &files, &reply);
	if (!r && reply.status != 200)
		r = probe_is_od_blocked(v->engine, id)
			? probe_fail_od(str_c(v->shown_image))
			: injection_set_reply_reason(v, &reply);
	reply_free(&reply);
	return r;
}

static void injection_clear_mounts(struct injection *v)
{
	v->mounts_n = 0;
	memset(v->mounts, 0, sizeof(v->mounts));
}

/* Changes to the next method after one that is not possible, if --via is auto. */
static int injection_next_method(struct injection *v)
{
	struct str why = buf_view(&v->reason);
	size_t i = 0;

	if (v->options->image.via != INJECTION_AUTO)
		return out_fail(
			"leave --via out, so that od-runtime tries the other methods",
			"cannot add the client to the image %s with --via "
			"%s: %.*s",
			v->shown_image, injection_method_name(v->method), STR_ARG(why));
	while (i + 1 < ARRAY_LEN(order) && order[i] != v->method)
		i++;
	if (i + 1 == ARRAY_LEN(order))
		return out_fail("build an image that contains the client: --via build",
			"cannot add the client to the image %s: %.*s", v->shown_image,
			STR_ARG(why));
	v->method = order[i + 1];
	injection_clear_mounts(v);
	return 0;
}

/* Prepares v->method, or the first method after it that can be prepared. */
static int injection_prepare_method(struct injection *v)
{
	int r;

	while ((r = injection_methods[v->method].prepare(v)) == 1) {
		r = injection_next_method(v);
		if (r)
			break;
	}
	return r;
}

int injection_begin(struct injection *v)
{
	v->method = v->options->image.via == INJECTION_AUTO
		? order[0]
		: (enum injection_kind)v->options->image.via;
	buf_init(&v->reason, INJECT_TEXT_MAX);
	injection_clear_mounts(v);
	return injection_prepare_method(v);
}

void injection_free(struct injection *v)
{
	buf_free(&v->reason);
}

/*
 * Changes to another method and prints that, because it may be slower or leave a volume.
 * In a container the change from bind is not printed: the engine outside has other files
 * there.
 */
static int injection_switch_method(struct injection *v)
{
	bool news = v->method != INJECTION_BIND || !sandbox_is_in_container();
	enum injection_kind old = v->method;
	char why[512];
	int r;

	/* The next methods may have reasons of their own. */
	snprintf(why, sizeof(why), "%.*s", STR_ARG(buf_view(&v->reason)));
	r = injection_next_method(v);

	if (!r)
		r = injection_prepare_method(v);
	if (!r && news)
		out_note("od-runtime: --via %s does not work (%s); using --via %s",
			injection_method_name(old), why,
			injection_method_name(v->method));
	return r ? r : 1;
}

/* Loads a busybox, if it is wanted and there is one. */
static int injection_load_busybox(struct injection *v)
{
	int r = 0;

	if (v->with_busybox || v->busybox_reported || v->options->image.client.no_busybox)
		return 0;
	if (!v->busybox->arch)
		r = program_find_busybox(
			v->busybox, v->options->image.client.busybox, v->client->arch);
	if (r == 1) {
		out_note("od-runtime: the image %s " PROGRAM_NO_SHELL, v->shown_image);
		v->busybox_reported = true;
		return 0;
	}
	v->with_busybox = r == 0;
	return r;
}

int injection_fill(struct injection *v, const char *id)
{
	bool shell = v->with_busybox;
	int r = shell ? 0 : probe_shell(v->engine, id, &shell);

	if (!r && !shell)
		r = injection_load_busybox(v);
	if (r)
		return r;
	buf_reset(&v->reason);
	r = injection_methods[v->method].fill(v, id);
	/* Without a reason the method is repeated, with another mount. */
	return r == 1 && v->reason.n ? injection_switch_method(v) : r;
}

int injection_on_refusal(struct injection *v, const struct reply *reply)
{
	struct str words = buf_view(&reply->body);

	if (v->method == INJECTION_PUT || reply->status == 404 || reply->status == 409 ||
		str_find(words, v->mounts[0].source) == words.n)
		return 0;
	buf_reset(&v->reason);
	engine_read_message(reply, &v->reason);
	return v->reason.err ? v->reason.err : injection_switch_method(v);
}
