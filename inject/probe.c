#include "inject/probe.h"

#include "base/b64.h"
#include "base/jw.h"
#include "inject/out.h"
#include "inject/owner.h"
#include "inject/sandbox_label.h"
#include "limits.h"
#include "proc/shells.h"

enum { PROBE_PATH_MAX = 512, PROBE_LINKS_MAX = 8 };

/* Go's os.FileMode: bits of the type, none of them for a file. */
static const int64_t mode_dir = (int64_t)1 << 31;
static const int64_t mode_link = (int64_t)1 << 27;
static const int64_t mode_types = (int64_t)0x8f28 << 16;

static enum probe_kind kind_of(int64_t mode)
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
	struct doc d;
	int64_t mode = -1, size = -1;
	int r = b64_decode(&text, header);

	if (!r)
		r = doc_parse(&d, buf_view(&text));
	if (!r) {
		mode = doc_int(json_get(doc_root(&d), "mode"), -1);
		if (mode < 0)
			r = ERR_TYPE;
		else if (kind_of(mode) == PROBE_LINK)
			buf_str(target,
				doc_str(&d, json_get(doc_root(&d), "linkTarget")));
		size = doc_int(json_get(doc_root(&d), "size"), -1);
		doc_free(&d);
	}
	buf_free(&text);
	if (!r)
		*st = (struct probe_stat){kind_of(mode), size, (unsigned)mode & 07777};
	return r;
}

/* HEAD gives no words: the same question with GET does, and an error is short. */
static int refused(const struct engine *e, const struct target *target, struct str path)
{
	struct reply reply;
	int r = engine_ask_at(e, &reply, "GET", (struct str){0}, target);

	if (!r)
		r = engine_refused(&reply, "od-runtime doctor tells what is in the way",
			"looking for %.*s in the image", STR_ARG(path));
	reply_free(&reply);
	return r;
}

int probe_path(const struct engine *e, const char *id, struct str path,
	struct probe_stat *st, struct buf *target)
{
	struct target at;
	const struct call_request q = {.method = "HEAD", .target = &at};
	struct str stat;
	struct call c;
	int r;

	target_init(&at, ENGINE_TARGET_MAX);
	target_add(&at, "/containers/%s/archive?path=%.*s", id, STR_ARG(path));
	if (target_error(&at)) {
		target_free(&at);
		return ERR_LIMIT;
	}
	r = engine_stream(e, &c, &q, INJECT_ENGINE_MS);
	if (!r && c.head.status == 404)
		*st = (struct probe_stat){.kind = PROBE_ABSENT};
	else if (!r && c.head.status != 200)
		r = refused(e, q.target, path);
	else if (!r &&
		(http_field_find(&c.head.head, c.in.p,
			 STR("X-Docker-Container-Path-Stat"), &stat) ||
			probe_read_stat(stat, st, target)))
		r = out_fail(NULL, "the engine's description of %.*s is not understood",
			STR_ARG(path));
	call_close(&c);
	target_free(&at);
	return r;
}

/* Puts a link's target in the place of the path of the link. */
static void follow(struct buf *path, struct str target)
{
	if (str_starts(target, STR("/")))
		buf_reset(path);
	else
		while (path->n && path->p[path->n - 1] != '/')
			path->n--;
	buf_str(path, target);
}

/*
 * True in *found if there is a program at path or where its links lead to. Engines
 * follow those of its folders, and as a rule name the end of a chain at once.
 */
static int has_program(
	const struct engine *e, const char *id, const char *at, bool *found)
{
	struct buf path = BUF_INIT(PROBE_PATH_MAX), target = BUF_INIT(PROBE_PATH_MAX);
	struct probe_stat st = {.kind = PROBE_LINK};
	int r = 0;

	buf_puts(&path, at);
	for (int i = 0; !r && st.kind == PROBE_LINK && i < PROBE_LINKS_MAX; i++) {
		buf_reset(&target);
		r = probe_path(e, id, buf_view(&path), &st, &target);
		if (!r && st.kind == PROBE_LINK)
			follow(&path, buf_view(&target));
		/* Where a path of that length leads to is no shell. */
		if (path.err || target.err)
			break;
	}
	if (!r)
		*found = st.kind == PROBE_PROGRAM;
	buf_free(&path);
	buf_free(&target);
	return r;
}

/* Nearly every image that has a shell has this one, and each question takes a while. */
int probe_shell(const struct engine *e, const char *id, bool *found)
{
	int r = has_program(e, id, "/bin/sh", found);

	for (size_t i = 0; shells_ladder[i] && !*found && !r; i++)
		r = has_program(e, id, shells_ladder[i], found);
	return r;
}

int probe_container(const struct engine *e, const char *id, struct probe *p)
{
	struct buf target = BUF_INIT(PROBE_PATH_MAX);
	struct probe_stat od, openhands;
	bool sh = false, shell = false;
	int r = probe_path(e, id, STR("/.od"), &od, &target);

	if (!r)
		r = probe_path(e, id, STR("/openhands"), &openhands, &target);
	if (!r)
		r = has_program(e, id, "/bin/sh", &sh);
	shell = sh;
	if (!r && !sh)
		r = probe_shell(e, id, &shell);
	buf_free(&target);
	if (!r)
		*p = (struct probe){od.kind, openhands.kind, shell, sh};
	return r;
}

static void write_volume(struct jw *w, const char *volume)
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
	/* Never run; an image without a command needs one to be created at all. */
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
		write_volume(&w, volume);
	jw_end(&w);
	r = engine_create(e, &body, volume, "looking into the image", id);
	buf_free(&body);
	return r;
}

void probe_close(const struct engine *e, struct buf *id)
{
	if (id->n && !id->err)
		engine_tidy(e, NULL, "DELETE", "/containers/%.*s?force=1&v=1",
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
