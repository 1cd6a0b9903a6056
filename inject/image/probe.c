#include "inject/image/probe.h"

#include "base/b64.h"
#include "base/jw.h"
#include "codec/archive/untar.h"
#include "codec/exec_format.h"
#include "inject/console/out.h"
#include "inject/image/image.h"
#include "inject/names/owner.h"
#include "inject/names/sandbox_label.h"
#include "limits.h"
#include "proc/shells.h"

#include <errno.h>

enum { PROBE_PATH_MAX = 512, PROBE_LINKS_MAX = 8 };
/* A shell counts only if every user can execute it: sandboxes run as any user. */
enum { PROBE_BY_ALL = 0001 };

/* Go's os.FileMode: bits of the type; a regular file has none. */
static const int64_t mode_dir = (int64_t)1 << 31;
static const int64_t mode_link = (int64_t)1 << 27;
static const int64_t mode_types = (int64_t)0x8f28 << 16;

static enum probe_kind probe_parse_kind(int64_t mode)
{
	if (mode & mode_link)
		return PROBE_LINK;
	if (mode & mode_dir)
		return PROBE_FOLDER;
	return !(mode & mode_types) && (mode & 0111) ? PROBE_PROGRAM : PROBE_OTHER;
}

int probe_read_stat(struct str header, struct probe_stat *st, struct buf *target)
{
	struct buf text = BUF_INIT(INJECT_TEXT_MAX);
	struct json_doc d;
	int64_t mode = -1, size = -1;
	int r = b64_decode(&text, header);

	if (!r)
		r = json_doc_parse(&d, buf_view(&text));
	if (!r) {
		mode = json_doc_int(json_get(json_doc_root(&d), "mode"), -1);
		if (mode < 0)
			r = ERR_TYPE;
		else if (probe_parse_kind(mode) == PROBE_LINK)
			buf_str(target,
				json_doc_str(
					&d, json_get(json_doc_root(&d), "linkTarget")));
		size = json_doc_int(json_get(json_doc_root(&d), "size"), -1);
		json_doc_free(&d);
	}
	buf_free(&text);
	if (!r)
		*st = (struct probe_stat){
			probe_parse_kind(mode), size, (unsigned)mode & 07777};
	return r;
}

static void probe_target(struct target *at, const char *id, struct str path)
{
	target_init(at, ENGINE_TARGET_MAX);
	target_add(at, "/containers/%s/archive?path=%.*s", id, STR_ARG(path));
}

/* As probe_path, but if the engine refuses: 1, without a message. */
static int probe_ask(const struct engine *e, const char *id, struct str path,
	struct probe_stat *st, struct buf *target)
{
	struct target at;
	const struct http_client_request q = {.method = "HEAD", .target = &at};
	struct str stat;
	struct http_client c;
	int r;

	probe_target(&at, id, path);
	if (target_error(&at)) {
		target_free(&at);
		return ERR_LIMIT;
	}
	r = engine_stream(e, &c, &q, INJECT_ENGINE_MS);
	if (!r && c.head.status == 404)
		*st = (struct probe_stat){.kind = PROBE_ABSENT};
	else if (!r && c.head.status != 200)
		r = 1;
	else if (!r &&
		(http_field_find(&c.head.head, c.in.p,
			 STR("X-Docker-Container-Path-Stat"), &stat) ||
			probe_read_stat(stat, st, target)))
		r = out_fail(ENGINE_NEXT,
			"the engine's description of the file %.*s cannot be read",
			STR_ARG(path));
	http_client_close(&c);
	target_free(&at);
	return r;
}

/* The image of a container; empty if the engine does not return it. */
static void probe_image_of(const struct engine *e, const char *id, struct buf *image)
{
	struct reply reply;
	struct json_doc d;

	if (engine_cleanup(e, &reply, "GET", "/containers/%s/json", id) == 0 &&
		reply.status == 200 && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		buf_str(image, json_doc_str(&d, json_get(json_doc_root(&d), "Image")));
		json_doc_free(&d);
	}
	reply_free(&reply);
}

bool probe_is_od_blocked(const struct engine *e, const char *id)
{
	const struct engine quiet = engine_copy_silent(e);
	struct buf image = BUF_INIT(256), other = BUF_INIT(256), target;
	struct probe_stat st = {.kind = PROBE_ABSENT};
	bool known;

	buf_init(&target, PROBE_PATH_MAX);
	probe_image_of(&quiet, id, &image);
	known = image.n && probe_open(&quiet, buf_view(&image), NULL, &other) == 0 &&
		probe_ask(&quiet, other.p, STR("/.od"), &st, &target) == 0;
	probe_close(&quiet, &other);
	buf_free(&image);
	buf_free(&target);
	return known && st.kind != PROBE_ABSENT && st.kind != PROBE_FOLDER;
}

int probe_fail_od(struct str name)
{
	return out_fail("choose another image, or remove /.od from it",
		"%.*s cannot be used: its /.od is not a directory", STR_ARG(name));
}

void probe_note_openhands(struct str name)
{
	out_note("od-runtime: %.*s already contains /openhands, so the link "
		 "/openhands/micromamba/bin/micromamba is not added: OpenHands backends "
		 "do not work with this image, od-runtime and other clients do",
		STR_ARG(name));
}

/*
 * Prints the error of a refused HEAD request, which has no text: sends GET, whose answer
 * has a text and is short for an error.
 */
static int probe_fail_request(const struct engine *e, const char *id, struct str path)
{
	struct target target;
	struct reply reply;
	int r;

	/*
	 * If /.od is no directory, a mount below it fails with internal paths of the
	 * engine.
	 */
	if (probe_is_od_blocked(e, id))
		return probe_fail_od(STR("the image"));
	probe_target(&target, id, path);
	r = engine_request_at(e, &reply, "GET", (struct str){0}, &target);
	if (!r)
		r = engine_fail_reply(&reply, "od-runtime doctor shows what is missing",
			"searching the image for %.*s", STR_ARG(path));
	reply_free(&reply);
	target_free(&target);
	return r;
}

int probe_path(const struct engine *e, const char *id, struct str path,
	struct probe_stat *st, struct buf *target)
{
	int r = probe_ask(e, id, path, st, target);

	return r == 1 ? probe_fail_request(e, id, path) : r;
}

/* Replaces the path of a link by its target. */
static void probe_resolve_link(struct buf *path, struct str target)
{
	if (str_starts(target, STR("/")))
		buf_reset(path);
	else
		while (path->n && path->p[path->n - 1] != '/')
			path->n--;
	buf_str(path, target);
}

/*
 * Follows the links at *path; *path is the path of the file then. Engines follow the
 * links of its folders, and most return the end of a chain at once.
 */
static int probe_follow(
	const struct engine *e, const char *id, struct buf *path, struct probe_stat *st)
{
	struct buf target = BUF_INIT(PROBE_PATH_MAX);
	int r = 0;

	*st = (struct probe_stat){.kind = PROBE_LINK};
	for (int i = 0; !r && st->kind == PROBE_LINK && i < PROBE_LINKS_MAX; i++) {
		buf_reset(&target);
		r = probe_path(e, id, buf_view(path), st, &target);
		if (!r && st->kind == PROBE_LINK)
			probe_resolve_link(path, buf_view(&target));
		/* A file with a path of that length is no shell. */
		if (path->err || target.err)
			break;
	}
	buf_free(&target);
	return r;
}

/* Reads the content of the first file of an archive until head is full. */
static int probe_read_archive(struct http_client *c, struct buf *head)
{
	struct untar tar;
	struct str in, piece;
	int r = 0, event = UNTAR_MORE;

	untar_init(&tar);
	while (head->n < head->max && (r = http_client_read(c, &in)) == 1) {
		do {
			event = untar_next(&tar, &in, &piece);
			if (event == UNTAR_DATA && piece.n > head->max - head->n)
				piece.n = head->max - head->n;
			if (event == UNTAR_DATA)
				buf_str(head, piece);
		} while (event == UNTAR_ENTRY || event == UNTAR_DATA);
		if (event != UNTAR_MORE)
			break;
	}
	untar_free(&tar);
	return r == -EINTR || r == -ENOMEM ? r : head->err;
}

/*
 * Reads the beginning of a file; head stays empty if the engine refuses it. An error if
 * the engine is silent, because it would not answer the next request either.
 */
static int probe_read_head(
	const struct engine *e, const char *id, struct str path, struct buf *head)
{
	struct target at;
	const struct http_client_request q = {.method = "GET", .target = &at};
	struct http_client c;
	int r;

	probe_target(&at, id, path);
	r = engine_try_stream(e, &c, &q, INJECT_ENGINE_MS);
	if (!r && c.head.status == 200)
		r = probe_read_archive(&c, head);
	http_client_close(&c);
	target_free(&at);
	if (r == -ETIMEDOUT || r == -ETIME)
		return engine_fail(e, r);
	return r == -EINTR || r == -ENOMEM ? r : 0;
}

/*
 * Whether exec of the file at path would find its format and its interpreter. If the
 * engine does not return the content, the file counts as executable.
 */
static int probe_check_format(
	const struct engine *e, const char *id, struct str path, bool *fits)
{
	struct buf head = BUF_INIT(EXEC_FORMAT_HEAD), loader = BUF_INIT(PROBE_PATH_MAX);
	struct str interpreter;
	struct probe_stat st;
	int r = probe_read_head(e, id, path, &head);

	*fits = !head.n || !exec_format_read(buf_view(&head), &interpreter);
	if (!r && head.n && *fits && interpreter.n) {
		buf_str(&loader, interpreter);
		r = probe_follow(e, id, &loader, &st);
		*fits = !r && st.kind == PROBE_PROGRAM;
	}
	buf_free(&loader);
	buf_free(&head);
	return r;
}

/*
 * The permission bits of the program at path at, after links; 0: exec of it would fail.
 */
static int probe_program(
	const struct engine *e, const char *id, const char *at, unsigned *mode)
{
	struct buf path = BUF_INIT(PROBE_PATH_MAX);
	struct probe_stat st;
	bool fits = false;
	int r;

	buf_puts(&path, at);
	r = probe_follow(e, id, &path, &st);
	if (!r && st.kind == PROBE_PROGRAM && st.size)
		r = probe_check_format(e, id, buf_view(&path), &fits);
	*mode = fits ? st.mode : 0;
	buf_free(&path);
	return r;
}

/*
 * Tries /bin/sh first, because nearly every image with a shell has it and each request
 * takes time.
 */
int probe_shell(const struct engine *e, const char *id, bool *found)
{
	unsigned mode = 0;
	int r = probe_program(e, id, "/bin/sh", &mode);

	for (size_t i = 0; shells_paths[i] && !(mode & PROBE_BY_ALL) && !r; i++)
		r = probe_program(e, id, shells_paths[i], &mode);
	*found = mode & PROBE_BY_ALL;
	return r;
}

int probe_container(const struct engine *e, const char *id, struct probe *p)
{
	struct buf target = BUF_INIT(PROBE_PATH_MAX);
	struct probe_stat od, openhands = {.kind = PROBE_ABSENT}, link = openhands;
	unsigned sh = 0;
	bool linked, shell;
	int r = probe_path(e, id, STR("/.od"), &od, &target);

	if (r)
		goto out;
	r = probe_path(e, id, STR("/openhands"), &openhands, &target);
	if (!r && openhands.kind == PROBE_FOLDER)
		r = probe_path(e, id, STR(IMAGE_DROP_IN), &link, &target);
	if (r)
		goto out;
	linked = link.kind == PROBE_LINK && str_eq(buf_view(&target), STR(IMAGE_CLIENT));
	r = probe_program(e, id, "/bin/sh", &sh);
	if (r)
		goto out;
	shell = sh & PROBE_BY_ALL;
	if (!shell)
		r = probe_shell(e, id, &shell);
	if (!r)
		*p = (struct probe){od.kind, openhands.kind, linked, shell, sh != 0};
out:
	buf_free(&target);
	return r;
}

static void probe_write_volume(struct jw *w, const char *volume)
{
	jw_key(w, "HostConfig");
	jw_object(w);
	jw_key(w, "Mounts");
	jw_array(w);
	jw_object(w);
	jw_key(w, "Type");
	jw_cstr(w, "volume");
	jw_key(w, "Source");
	jw_cstr(w, volume);
	jw_key(w, "Target");
	jw_cstr(w, "/.od");
	jw_key(w, "VolumeOptions");
	jw_object(w);
	jw_key(w, "NoCopy");
	jw_bool(w, true);
	for (unsigned i = 0; i < 4; i++)
		jw_end(w);
}

static void probe_write_labels(const char *owner, struct jw *w)
{
	const struct str values[SANDBOX_LABELS] = {
		[SANDBOX_LABEL_OWNER] = str_c(owner),
		[SANDBOX_LABEL_PROBE] = STR("1"),
	};

	sandbox_label_write_all(values, w);
}

int probe_open(
	const struct engine *e, struct str image, const char *volume, struct buf *id)
{
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	char owner[OWNER_LABEL_MAX];
	struct jw w;
	int r;

	jw_init(&w, &body);
	jw_object(&w);
	jw_key(&w, "Image");
	jw_str(&w, image);
	/* It never runs; an image without a command needs it to be created. */
	jw_key(&w, "Entrypoint");
	jw_array(&w);
	jw_cstr(&w, "/");
	jw_end(&w);
	jw_key(&w, "Labels");
	jw_object(&w);
	owner_label(volume, owner);
	probe_write_labels(owner, &w);
	jw_end(&w);
	jw_key(&w, "NetworkDisabled");
	jw_bool(&w, true);
	if (volume)
		probe_write_volume(&w, volume);
	jw_end(&w);
	r = engine_create(e, &body, volume, "reading the files of the image", id);
	buf_free(&body);
	return r;
}

void probe_close(const struct engine *e, struct buf *id)
{
	if (id->n && !id->err)
		engine_cleanup(e, NULL, "DELETE", "/containers/%.*s?force=1&v=1",
			STR_ARG(buf_view(id)));
	buf_free(id);
}

int probe_image(const struct engine *e, struct str image, struct probe *p)
{
	struct buf id = BUF_INIT(256);
	int r = probe_open(e, image, NULL, &id);

	if (!r)
		r = probe_container(e, id.p, p);
	probe_close(e, &id);
	return r;
}
