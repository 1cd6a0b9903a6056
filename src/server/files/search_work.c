#include "server/files/search_work.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

/* The result of an operation: the answer is full. */
enum { SEARCH_WORK_FULL = 1 };

struct search_answer {
	struct buf body;
	struct jw jw;
	bool in_file; /* the object of a file and the list of its lines are open */
};

static void search_work_begin(
	struct search_answer *a, const struct search_work *w, const char *list)
{
	*a = (struct search_answer){.in_file = false};
	buf_init(&a->body, SEARCH_BODY_MAX + SEARCH_BODY_SLACK);
	buf_puts(&a->body, "200");
	jw_init(&a->jw, &a->body);
	jw_object(&a->jw);
	jw_key(&a->jw, "path");
	jw_str(&a->jw, str_make(w->top.abs, w->top.n));
	jw_key(&a->jw, list);
	jw_array(&a->jw);
}

static void search_work_put_number(struct search_answer *a, const char *key, uint64_t n)
{
	jw_key(&a->jw, key);
	jw_uint(&a->jw, n);
}

static void search_work_put_truncated(struct search_answer *a, const char *why)
{
	jw_key(&a->jw, "truncated");
	if (why)
		jw_cstr(&a->jw, why);
	else
		jw_null(&a->jw);
}

static bool search_work_is_full(const struct search_answer *a)
{
	return a->body.n > SEARCH_BODY_MAX;
}

/* Replaces the answer by an error. */
static void search_work_fail(struct search_answer *a, int err)
{
	bool client = err == -EACCES || err == -EPERM;

	buf_reset(&a->body);
	if (err == -ENOENT || err == -ENOTDIR || err == -ELOOP)
		buf_fmt(&a->body, "404The file or folder does not exist.");
	else if (err == ERR_TYPE)
		buf_fmt(&a->body, "422The path is neither a folder nor a regular file.");
	else if (err == -ENOMEM)
		buf_fmt(&a->body, "503The search ran out of memory.");
	else
		buf_fmt(&a->body, "%sThe path cannot be searched: %s.",
			client ? "403" : "500", err_text(err));
}

static int search_work_finish(struct search_answer *a, int out)
{
	int r = a->body.err;

	if (!r)
		r = fd_write_all(out, a->body.p, a->body.n);
	buf_free(&a->body);
	return r;
}

/* --- Glob ---------------------------------------------------------------------- */

static bool search_work_is_type_match(const struct search_work *w, uint8_t type)
{
	return type == DT_DIR ? w->folders
			      : w->files && (type == DT_REG || type == DT_LNK);
}

/* Lists matching names. Returns 0 or an error. *why: the list may be incomplete. */
static int search_work_list(struct search_work *w, struct walk *walk,
	struct search_answer *a, uint64_t *n, const char **why)
{
	uint64_t until = clock_ms() + w->ms;
	struct walk_entry e;
	int r = 0;

	while (!*why && (r = walk_next(walk, &e)) == 0) {
		if (clock_ms() >= until)
			*why = "time";
		if (!search_work_is_type_match(w, e.type))
			continue;
		r = glob_match(&w->glob, e.path);
		if (r < 0)
			return r;
		if (r)
			continue;
		if (*n == w->limit) {
			*why = "limit";
			break;
		}
		jw_str(&a->jw, e.path);
		++*n;
		if (search_work_is_full(a))
			*why = "size";
	}
	return *why || r > 0 ? 0 : r;
}

/* The top is a file: it is matched by its base name, as in grep. */
static int search_work_list_file(
	struct search_work *w, struct search_answer *a, uint64_t *n)
{
	struct str base = file_path_base(&w->top);
	struct stat st;
	int r;

	if (stat(w->top.abs, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return ERR_TYPE;
	r = w->files ? glob_match(&w->glob, base) : 1;
	if (r == 0) {
		jw_str(&a->jw, base);
		++*n;
	}
	return r < 0 ? r : 0;
}

int search_work_glob(void *arg, int in, int out)
{
	struct search_work *w = arg;
	const char *why = NULL;
	struct search_answer a;
	struct walk walk;
	uint64_t n = 0;
	int r;

	(void)in;
	search_work_begin(&a, w, "paths");
	r = walk_open(&walk, w->top.abs, &w->walk);
	if (!r)
		r = search_work_list(w, &walk, &a, &n, &why);
	else if (r == -ENOTDIR)
		r = search_work_list_file(w, &a, &n);
	if (r) {
		search_work_fail(&a, r);
		return search_work_finish(&a, out);
	}
	jw_end(&a.jw);
	search_work_put_number(&a, "count", n);
	jw_key(&a.jw, "skipped");
	jw_object(&a.jw);
	search_work_put_number(&a, "unreadable", walk.unreadable);
	search_work_put_number(&a, "too_deep", walk.too_deep);
	jw_end(&a.jw);
	search_work_put_truncated(&a, why);
	jw_end(&a.jw);
	walk_free(&walk);
	return search_work_finish(&a, out);
}

/* --- Grep ---------------------------------------------------------------------- */

static int search_work_put_file(void *arg, struct str path)
{
	struct search_answer *a = arg;

	jw_object(&a->jw);
	jw_key(&a->jw, "path");
	jw_str(&a->jw, path);
	jw_key(&a->jw, "lines");
	jw_array(&a->jw);
	a->in_file = true;
	return 0;
}

static int search_work_put_line(void *arg, const struct grep_line *line)
{
	struct search_answer *a = arg;

	jw_object(&a->jw);
	search_work_put_number(a, "line", line->number);
	jw_key(&a->jw, "text");
	jw_str(&a->jw, line->text);
	jw_key(&a->jw, "match");
	jw_bool(&a->jw, line->match);
	if (line->cut) {
		jw_key(&a->jw, "cut");
		jw_bool(&a->jw, true);
	}
	jw_end(&a->jw);
	return search_work_is_full(a) ? SEARCH_WORK_FULL : 0;
}

static int search_work_put_file_end(void *arg, uint64_t matches)
{
	struct search_answer *a = arg;

	jw_end(&a->jw);
	search_work_put_number(a, "matches", matches);
	jw_end(&a->jw);
	a->in_file = false;
	return search_work_is_full(a) ? SEARCH_WORK_FULL : 0;
}

static void search_work_put_counts(
	struct search_answer *a, const struct grep_counts *c, bool full)
{
	static const char *const why[] = {
		[GREP_COMPLETE] = NULL,
		[GREP_LIMIT] = "limit",
		[GREP_TIME] = "time",
	};

	search_work_put_number(a, "matches", c->matches);
	search_work_put_number(a, "files_matched", c->matched_files);
	search_work_put_number(a, "files_searched", c->files);
	jw_key(&a->jw, "skipped");
	jw_object(&a->jw);
	search_work_put_number(a, "binary", c->binary);
	search_work_put_number(a, "unreadable", c->unreadable);
	search_work_put_number(a, "too_long", c->too_long);
	search_work_put_number(a, "too_deep", c->too_deep);
	jw_end(&a->jw);
	search_work_put_truncated(a, full ? "size" : why[c->end]);
}

int search_work_grep(void *arg, int in, int out)
{
	static const struct grep_ops ops = {
		search_work_put_file, search_work_put_line, search_work_put_file_end};
	struct search_work *w = arg;
	struct grep_conf conf = w->grep;
	struct grep_counts counts;
	struct search_answer a;
	int r;

	(void)in;
	search_work_begin(&a, w, "results");
	conf.ops = &ops;
	conf.arg = &a;
	conf.until = clock_ms() + w->ms;
	r = grep_run(&conf, w->top.abs, &counts);
	if (r < 0) {
		search_work_fail(&a, r);
		return search_work_finish(&a, out);
	}
	if (a.in_file) {
		jw_end(&a.jw);
		jw_end(&a.jw);
	}
	jw_end(&a.jw);
	search_work_put_counts(&a, &counts, r == SEARCH_WORK_FULL);
	jw_end(&a.jw);
	return search_work_finish(&a, out);
}
