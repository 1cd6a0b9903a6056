#include "inject/sandbox/via_way.h"

#include "inject/console/out.h"
#include "inject/image/cache.h"
#include "inject/image/client_files.h"
#include "inject/image/probe.h"
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
struct way {
	const char *word; /* value of --via */
	bool image;       /* makes an image, and has no functions */
	int (*prepare)(struct via *v);
	int (*fill)(struct via *v, const char *id);
};

static int bind_prepare(struct via *v);
static int bind_fill(struct via *v, const char *id);
static int put_prepare(struct via *v);
static int put_fill(struct via *v, const char *id);

static const struct way ways[] = {
	[VIA_AUTO] = {"auto", false, NULL, NULL},
	[VIA_BIND] = {"bind", false, bind_prepare, bind_fill},
	[VIA_VOLUME] = {"volume", false, via_volume_prepare, via_volume_fill},
	[VIA_PUT] = {"put", false, put_prepare, put_fill},
	[VIA_BUILD] = {"build", true, NULL, NULL},
	[VIA_COMMIT] = {"commit", true, NULL, NULL},
};

/* The order of auto: the fastest method first; a volume also works with --read-only. */
static const enum via_way order[] = {VIA_BIND, VIA_PUT, VIA_VOLUME};

bool via_makes_image(enum via_way way)
{
	return ways[way].image;
}

const char *via_word(enum via_way way)
{
	return ways[way].word;
}

int via_why_not(struct via *v, const char *words)
{
	buf_reset(&v->why);
	buf_puts(&v->why, words);
	return v->why.err ? v->why.err : 1;
}

int via_refused_files(struct via *v, const struct reply *reply)
{
	buf_reset(&v->why);
	engine_words(reply, &v->why);
	return v->why.err ? v->why.err : 1;
}

void via_add_mount(struct via *v, struct spec_mount m)
{
	m.read_only = true;
	v->mounts[v->mounts_n++] = m;
}

static void add_file(struct via *v, const char *file, const char *target)
{
	struct spec_mount m = {
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
	via_add_mount(v, m);
}

static int bind_one(
	struct via *v, const struct program *p, const char *name, const char *target)
{
	char *file = v->file[v->mounts_n];
	char words[256];
	int r = cache_file(p, name, file, sizeof(v->file[0]));

	if (r == -ENOMEM)
		return r;
	if (r) {
		snprintf(words, sizeof(words),
			"no program can be kept in the cache folder: %s", err_text(r));
		return via_why_not(v, words);
	}
	add_file(v, file, target);
	return 0;
}

static int bind_prepare(struct via *v)
{
	int r;

	if (v->engine->podman && v->options->via == VIA_AUTO)
		return via_why_not(v, "Podman does not tell whether it sees the file");
	r = bind_one(v, v->client, CLIENT_NAME, IMAGE_CLIENT);
	if (!r && v->client->plugins)
		r = bind_one(v, v->client->plugins, PLUGINS_NAME, IMAGE_PLUGINS);
	if (!r && v->with_busybox)
		r = bind_one(v, v->busybox, "busybox", VIA_BUSYBOX);
	return r;
}

int via_shows(struct via *v, const char *id, const char *path, const struct program *p)
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
static int bind_fill(struct via *v, const char *id)
{
	size_t without = 1 + (v->client->plugins != NULL);
	int r;

	if (v->with_busybox && v->mounts_n == without) {
		r = bind_one(v, v->busybox, "busybox", VIA_BUSYBOX);
		return r ? r : via_why_not(v, "");
	}
	/* Podman 4 fails when it is asked about a mounted file. */
	if (v->engine->podman)
		return 0;
	r = via_shows(v, id, IMAGE_CLIENT, v->client);
	return r == 1
		? via_why_not(v, "the engine does not see the files of this machine")
		: r;
}

static int put_prepare(struct via *v)
{
	return v->options->read_only
		? via_why_not(v, "nothing can be put into a --read-only sandbox")
		: 0;
}

static int put_fill(struct via *v, const char *id)
{
	struct client_files files = {
		.client = buf_view(&v->client->bytes),
		.plugins_program = program_plugins(v->client),
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
		r = probe_od_is_taken(v->engine, id)
			? probe_fail_od(str_c(v->shown_image))
			: via_refused_files(v, &reply);
	reply_free(&reply);
	return r;
}

static void clear(struct via *v)
{
	v->mounts_n = 0;
	memset(v->mounts, 0, sizeof(v->mounts));
}

/* Changes to the next method after one that is not possible, if --via is auto. */
static int next_way(struct via *v)
{
	struct str why = buf_view(&v->why);
	size_t i = 0;

	if (v->options->via != VIA_AUTO)
		return out_fail("leave --via out, and od-runtime finds another",
			"the client does not get into %s with --via %s: %.*s",
			v->shown_image, via_word(v->way), STR_ARG(why));
	while (i + 1 < ARRAY_LEN(order) && order[i] != v->way)
		i++;
	if (i + 1 == ARRAY_LEN(order))
		return out_fail("make an image with --via build",
			"the client does not get into %s: %.*s", v->shown_image,
			STR_ARG(why));
	v->way = order[i + 1];
	clear(v);
	return 0;
}

/* Prepares v->way, or the first method after it that can be prepared. */
static int settle(struct via *v)
{
	int r;

	while ((r = ways[v->way].prepare(v)) == 1) {
		r = next_way(v);
		if (r)
			break;
	}
	return r;
}

int via_begin(struct via *v)
{
	v->way = v->options->via == VIA_AUTO ? order[0] : (enum via_way)v->options->via;
	buf_init(&v->why, INJECT_TEXT_MAX);
	clear(v);
	return settle(v);
}

void via_free(struct via *v)
{
	buf_free(&v->why);
}

/*
 * Changes to another method and prints that, because it may be slower or leave a volume.
 * In a container the change from bind is not printed: the engine outside has other files
 * there.
 */
static int move_on(struct via *v)
{
	bool news = v->way != VIA_BIND || !sandbox_from_container();
	enum via_way old = v->way;
	char why[512];
	int r;

	/* The next methods may have reasons of their own. */
	snprintf(why, sizeof(why), "%.*s", STR_ARG(buf_view(&v->why)));
	r = next_way(v);

	if (!r)
		r = settle(v);
	if (!r && news)
		out_note("od-runtime: not by --via %s (%s), but by --via %s",
			via_word(old), why, via_word(v->way));
	return r ? r : 1;
}

/* Loads a busybox, if it is wanted and there is one. */
static int want_busybox(struct via *v)
{
	int r = 0;

	if (v->with_busybox || v->told || v->options->no_busybox)
		return 0;
	if (!v->busybox->arch)
		r = program_find_busybox(
			v->busybox, v->options->busybox, v->client->arch);
	if (r == 1) {
		out_note("od-runtime: the image %s " PROGRAM_NO_SHELL, v->shown_image);
		v->told = true;
		return 0;
	}
	v->with_busybox = r == 0;
	return r;
}

int via_fill(struct via *v, const char *id)
{
	bool shell = v->with_busybox;
	int r = shell ? 0 : probe_shell(v->engine, id, &shell);

	if (!r && !shell)
		r = want_busybox(v);
	if (r)
		return r;
	buf_reset(&v->why);
	r = ways[v->way].fill(v, id);
	/* Without a reason the method is repeated, with another mount. */
	return r == 1 && v->why.n ? move_on(v) : r;
}

int via_refused(struct via *v, const struct reply *reply)
{
	struct str words = buf_view(&reply->body);

	if (v->way == VIA_PUT || reply->status == 404 || reply->status == 409 ||
		str_find(words, v->mounts[0].source) == words.n)
		return 0;
	buf_reset(&v->why);
	engine_words(reply, &v->why);
	return v->why.err ? v->why.err : move_on(v);
}
