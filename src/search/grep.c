#include "search/grep.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "fs/load.h"
#include "fs/path.h"
#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes read at once: most files are one read. */
enum { PIECE = 128 << 10 };

struct grep {
	const struct grep_conf *conf;
	struct grep_counts counts;
	struct buf text; /* of the current file, from some line on */

	/* The current file. */
	struct str path;
	uint64_t matches;
	size_t searched;    /* offset in text: all before it was searched */
	size_t shown;       /* offset: all before it was shown or need not be */
	size_t counted;     /* offset of a line whose number is known */
	uint64_t number;    /* number of that line */
	unsigned after_due; /* lines of context still to be shown */
	bool done;          /* no more matches are wanted */
};

/* --- Showing lines ------------------------------------------------------------- */

static struct str grep_view_from(const struct grep *g, size_t from)
{
	return str_skip(buf_view(&g->text), from);
}

/* The offset after the line at from, its LF included. */
static size_t grep_find_line_end(const struct grep *g, size_t from)
{
	struct str rest = grep_view_from(g, from);
	size_t n = str_find_byte(rest, '\n');

	return from + n + (n < rest.n);
}

/* The offset of the line that ends before at; 0 is the first. */
static size_t grep_find_line_start(const struct grep *g, size_t at)
{
	const char *lf = at > 1 ? memrchr(g->text.p, '\n', at - 1) : NULL;

	return lf ? (size_t)(lf - g->text.p) + 1 : 0;
}

static void grep_count_lines(struct grep *g, size_t at)
{
	const char *p = g->text.p + g->counted, *end = g->text.p + at;

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		p++;
		g->number++;
	}
	g->counted = at;
}

/* The part of a long line to show: around the byte near. */
static struct str grep_cut_line(struct str line, size_t near, size_t max)
{
	size_t from = near > max / 2 ? near - max / 2 : 0;
	struct str part;

	if (from + max > line.n)
		from = line.n - max;
	while (from < line.n && ((uint8_t)line.p[from] & 0xc0) == 0x80)
		from++;
	part = str_skip(line, from);
	part.n = part.n < max ? part.n : max;
	part.n -= utf8_unfinished_length(part);
	return part;
}

/* Reports the line at from; near is an offset in it. */
static int grep_show_line(struct grep *g, size_t from, size_t near, bool match)
{
	struct grep_line line = {.match = match};
	size_t end = grep_find_line_end(g, from);

	line.text = str_make(g->text.p + from, end - from);
	if (str_ends(line.text, STR("\n")))
		line.text.n--;
	if (line.text.n > g->conf->line_max) {
		line.cut = true;
		line.text = grep_cut_line(line.text, near - from, g->conf->line_max);
	}
	grep_count_lines(g, from);
	line.number = g->number;
	g->shown = end;
	return g->conf->ops->line(g->conf->arg, &line);
}

/* Reports context after the last match, up to the offset end. */
static int grep_show_after(struct grep *g, size_t end)
{
	int r = 0;

	while (!r && g->after_due && g->shown < end) {
		g->after_due--;
		r = grep_show_line(g, g->shown, g->shown, false);
	}
	return r;
}

static int grep_show_match(struct grep *g, size_t from, size_t near)
{
	size_t at = from;
	int r = grep_show_after(g, from);

	for (unsigned i = 0; i < g->conf->before && at > g->shown; i++)
		at = grep_find_line_start(g, at);
	if (at < g->shown)
		at = g->shown;
	while (!r && at < from) {
		r = grep_show_line(g, at, at, false);
		at = g->shown;
	}
	if (!r)
		r = grep_show_line(g, from, near, true);
	g->after_due = g->conf->after;
	return r;
}

/* --- Searching a file ---------------------------------------------------------- */

static bool grep_is_limit(uint64_t n, uint64_t limit)
{
	return limit && n >= limit;
}

static int grep_add_match(struct grep *g, size_t from, size_t near)
{
	const struct grep_conf *c = g->conf;
	int r = 0;

	if (!g->matches++) {
		g->counts.matched_files++;
		r = c->ops->file(c->arg, g->path);
	}
	g->counts.matches++;
	if (!r && c->mode == GREP_LINES)
		r = grep_show_match(g, from, near);
	if (c->mode == GREP_LINES && grep_is_limit(g->counts.matches, c->limit))
		g->counts.end = GREP_LIMIT;
	g->done = c->mode == GREP_FILES || grep_is_limit(g->matches, c->per_file) ||
		g->counts.end != GREP_COMPLETE;
	return r;
}

/* Searches all lines of text up to the offset end, which is the end of a line. */
static int grep_search_lines(struct grep *g, size_t end)
{
	while (g->searched < end && !g->done) {
		struct str rest = str_make(g->text.p + g->searched, end - g->searched);
		size_t near, from;
		int r = regex_find(g->conf->regex, rest, &near);

		if (r)
			return r < 0 ? r : 0;
		near += g->searched;
		/* The offset of an LF belongs to the line that it ends. */
		from = grep_find_line_start(g, near + 1);
		if (from < g->searched)
			from = g->searched;
		g->searched = grep_find_line_end(g, near);
		r = grep_add_match(g, from, near);
		if (r)
			return r;
	}
	return 0;
}

/* Drops text that neither the search nor context needs any more. */
static void grep_drop_text(struct grep *g, size_t end)
{
	size_t keep = end;

	for (unsigned i = 0; i < g->conf->before && keep > g->shown; i++)
		keep = grep_find_line_start(g, keep);
	if (keep < g->shown)
		keep = g->shown;
	if (g->conf->mode == GREP_LINES)
		grep_count_lines(g, keep);
	buf_consume(&g->text, keep);
	g->searched = end - keep;
	g->shown = g->shown > keep ? g->shown - keep : 0;
	g->counted = 0;
}

static bool grep_is_binary(const struct grep *g)
{
	static const uint8_t nul[3];

	return needle_find_bytes(buf_view(&g->text), nul) < g->text.n;
}

/* Appends a piece of the file: the number of bytes, 0 at the end, or -errno. */
static ssize_t grep_read_piece(struct grep *g, int fd)
{
	char *room = buf_reserve(&g->text, PIECE);
	ssize_t n;

	if (!room)
		return g->text.err;
	do
		n = read(fd, room, PIECE);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	buf_commit(&g->text, (size_t)n);
	return n;
}

/* The offset after the last whole line, searching back to from. */
static size_t grep_find_last_line(const struct grep *g, size_t from)
{
	struct str rest = grep_view_from(g, from);
	const char *lf = rest.n ? memrchr(rest.p, '\n', rest.n) : NULL;

	return lf ? (size_t)(lf - g->text.p) + 1 : from;
}

static bool grep_is_expired(const struct grep *g)
{
	return g->conf->until && clock_ms() >= g->conf->until;
}

/*
 * Searches one open file. 0, also for a skipped file; otherwise the value that ends the
 * whole search.
 */
static int grep_search_text(struct grep *g, int fd, uint64_t size)
{
	uint64_t have = 0;
	bool last = false;
	int r = 0;

	while (!r && !last && !(g->done && !g->after_due)) {
		ssize_t n = grep_read_piece(g, fd);
		size_t end;

		if (n < 0) {
			g->text.err = 0;
			g->counts.too_long += n == ERR_LIMIT;
			g->counts.unreadable += n != ERR_LIMIT;
			return n == -ENOMEM ? (int)n : 0;
		}
		if (have == 0 && grep_is_binary(g)) {
			g->counts.binary++;
			return 0;
		}
		have += (uint64_t)n;
		/* Files of /proc have size 0. */
		last = n == 0 || (size && have >= size);
		end = last ? g->text.n : grep_find_last_line(g, g->searched);
		r = grep_search_lines(g, end);
		if (!r)
			r = grep_show_after(g, end);
		if (!r)
			grep_drop_text(g, end);
		if (grep_is_expired(g)) {
			g->counts.end = GREP_TIME;
			break;
		}
	}
	return r;
}

static int grep_search_fd(struct grep *g, int fd, uint64_t size, struct str path)
{
	int r;

	buf_reset(&g->text);
	g->path = path;
	g->matches = 0;
	g->searched = g->shown = g->counted = 0;
	g->number = 1;
	g->after_due = 0;
	g->done = false;
	g->counts.files++;
	r = grep_search_text(g, fd, size);
	if (r || !g->matches)
		return r;
	if (g->conf->mode != GREP_LINES &&
		grep_is_limit(g->counts.matched_files, g->conf->limit))
		g->counts.end = GREP_LIMIT;
	return g->conf->ops->file_end(g->conf->arg, g->matches);
}

/* --- The tree ------------------------------------------------------------------ */

/* 0 if the file is to be searched, 1 if not. */
static int grep_check_globs(const struct grep_conf *c, struct str path)
{
	int r = c->only ? glob_match(c->only, path) : 0;

	if (!r && c->except) {
		r = glob_match(c->except, path);
		r = r < 0 ? r : !r;
	}
	return r;
}

static int grep_search_entry(struct grep *g, const struct walk_entry *e)
{
	struct stat st;
	int fd, r;

	if (e->type != DT_REG)
		return 0;
	r = grep_check_globs(g->conf, e->path);
	if (r)
		return r < 0 ? r : 0;
	/* The file may have been replaced by a pipe: fd_openat adds O_NONBLOCK. */
	fd = fd_openat(e->dir, e->name, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		g->counts.unreadable++;
	else
		r = grep_search_fd(g, fd, (uint64_t)st.st_size, e->path);
	fd_close(&fd);
	return r;
}

static int grep_search_tree(struct grep *g, struct walk *w)
{
	struct walk_entry e;
	int r;

	while ((r = walk_next(w, &e)) == 0) {
		r = grep_search_entry(g, &e);
		if (!r && grep_is_expired(g))
			g->counts.end = GREP_TIME;
		if (r || g->counts.end != GREP_COMPLETE)
			return r;
	}
	return r < 0 ? r : 0;
}

static int grep_search_single(struct grep *g, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	int fd = load_open(AT_FDCWD, path, O_RDONLY, &st);
	int r;

	if (fd < 0)
		return fd;
	r = grep_search_fd(g, fd, (uint64_t)st.st_size, str_c(slash ? slash + 1 : path));
	fd_close(&fd);
	return r;
}

int grep_run(const struct grep_conf *conf, const char *top, struct grep_counts *out)
{
	struct grep g = {.conf = conf};
	struct walk w;
	int r = walk_open(&w, top, &conf->walk);

	buf_init(&g.text, GREP_LINE_MAX + PIECE);
	if (!r) {
		r = grep_search_tree(&g, &w);
		g.counts.unreadable += w.unreadable;
		g.counts.too_deep = w.too_deep;
	} else if (r == -ENOTDIR) {
		r = grep_search_single(&g, top);
	}
	walk_free(&w);
	buf_free(&g.text);
	if (r >= 0)
		*out = g.counts;
	return r;
}
