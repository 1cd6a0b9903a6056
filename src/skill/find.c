/* The skills that search for text and for names. */
#include "fs/strip.h"
#include "limits.h"
#include "search/walk.h"
#include "skill/private.h"
#include "skill/state.h"
#include "skill/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A search in a folder. */
struct find {
	struct skill_call *call;
	struct str term;
	const char *dir;  /* as given */
	struct buf text;  /* of a file */
	struct buf found; /* the lines to print */
	uint64_t matches;
	uint64_t files; /* with matches */
};

/* Appends the lines of text that contain term. Returns their number. */
static uint64_t skill_find_put_matches(struct buf *out, struct str text, struct str term,
	const char *front, struct str path, const char *after)
{
	uint64_t n = 0, number = 0;

	while (text.n) {
		struct str line = skill_cut_line(&text);

		number++;
		if (str_find(line, term) == line.n && term.n)
			continue;
		buf_puts(out, front);
		buf_str(out, path);
		buf_fmt(out, "%s%" PRIu64 "%s", path.n ? " (Line " : "Line ", number,
			after);
		buf_str(out, strip_both(line));
		buf_putc(out, '\n');
		n++;
	}
	return n;
}

void skill_search_file(struct skill_call *c)
{
	struct buf text = BUF_INIT(SKILL_FILE_MAX + 2), found = BUF_INIT(SKILL_OUT_MAX);
	const char *term = c->args[0], *path = c->args[1];
	struct skill_state s;
	uint64_t n;
	int r;

	skill_state_load(&s);
	if (!path)
		path = s.path;
	if (!path[0]) {
		skill_set_error(c,
			"No file specified or open. Use the open_file function first.");
		return;
	}
	r = skill_read_text(AT_FDCWD, path, true, &text);
	if (r == -EACCES || r == ERR_LIMIT || r == -ENOMEM) {
		skill_set_error(c, "File %s cannot be read: %s", path, err_text(r));
	} else if (r < 0) {
		skill_set_error(c, "File %s not found.", path);
	} else {
		n = skill_find_put_matches(
			&found, buf_view(&text), str_c(term), "", str_make("", 0), ": ");
		if (n)
			buf_fmt(&c->out, "[Found %" PRIu64 " matches for \"%s\" in %s]\n",
				n, term, path);
		else
			buf_fmt(&c->out, "[No matches found for \"%s\" in %s]\n", term,
				path);
		buf_str(&c->out, buf_view(&found));
		if (n)
			buf_fmt(&c->out, "[End of matches for \"%s\" in %s]\n", term,
				path);
	}
	buf_free(&text);
	buf_free(&found);
}

/* --- Folders ------------------------------------------------------------------- */

/* A symbolic link to a folder counts as a folder. */
static bool skill_find_is_folder(const struct walk_entry *e)
{
	struct stat st;

	if (e->type != DT_LNK)
		return e->type == DT_DIR;
	return fstatat(e->dir, e->name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* The prefix of the paths in the folder, as os.walk builds it. */
static const char *skill_find_make_prefix(struct find *f, char front[FILE_PATH_MAX + 2])
{
	size_t n = strlen(f->dir);

	snprintf(front, FILE_PATH_MAX + 2, "%s%s", f->dir,
		n && f->dir[n - 1] == '/' ? "" : "/");
	return front;
}

/* A file that cannot be read is skipped. */
static void skill_find_search_text(struct find *f, const struct walk_entry *e)
{
	char front[FILE_PATH_MAX + 2];
	uint64_t n;

	if (e->name[0] == '.' || (e->type != DT_REG && e->type != DT_LNK))
		return;
	buf_reset(&f->text);
	if (skill_read_text(e->dir, e->name, true, &f->text) < 0)
		return;
	n = skill_find_put_matches(&f->found, buf_view(&f->text), f->term,
		skill_find_make_prefix(f, front), e->path, "): ");
	f->matches += n;
	f->files += n != 0;
}

static void skill_find_match_name(struct find *f, const struct walk_entry *e)
{
	char front[FILE_PATH_MAX + 2];

	if (str_find(str_c(e->name), f->term) == strlen(e->name) && f->term.n)
		return;
	buf_puts(&f->found, skill_find_make_prefix(f, front));
	buf_str(&f->found, e->path);
	buf_putc(&f->found, '\n');
	f->matches++;
}

/* Searches the folder. False: it cannot be searched, and the error is set. */
static bool skill_find_walk(
	struct find *f, void (*look)(struct find *f, const struct walk_entry *e))
{
	static const struct walk_conf conf = {.order = WALK_FOUND, .hidden = true};
	struct walk_entry e;
	struct walk w;
	int r;

	buf_init(&f->text, SKILL_FILE_MAX + 2);
	buf_init(&f->found, SKILL_OUT_MAX);
	r = f->dir[0] ? walk_open(&w, f->dir, &conf) : -ENOENT;
	if (r == -ENOENT || r == -ENOTDIR) {
		skill_set_error(f->call, "Directory %s not found", f->dir);
	} else {
		while (!r && (r = walk_next(&w, &e)) == 0)
			if (!skill_find_is_folder(&e))
				look(f, &e);
		if (r < 0)
			skill_set_error(f->call, "Directory %s cannot be searched: %s",
				f->dir, err_text(r));
	}
	if (f->dir[0])
		walk_free(&w);
	buf_free(&f->text);
	return r == 1;
}

static void skill_find_put_result(struct find *f)
{
	struct buf *out = &f->call->out;

	buf_fmt(out, "[Found %" PRIu64 " matches for \"%.*s\" in %s]\n", f->matches,
		STR_ARG(f->term), f->dir);
	buf_str(out, buf_view(&f->found));
	buf_fmt(out, "[End of matches for \"%.*s\" in %s]\n", STR_ARG(f->term), f->dir);
	if (f->found.err)
		out->err = f->found.err;
}

static struct find skill_find_make(struct skill_call *c)
{
	return (struct find){
		.call = c,
		.term = str_c(c->args[0]),
		.dir = c->args[1] ? c->args[1] : "./",
	};
}

void skill_search_dir(struct skill_call *c)
{
	struct find f = skill_find_make(c);

	if (skill_find_walk(&f, skill_find_search_text)) {
		if (f.files > SKILL_FILES_MAX)
			buf_fmt(&c->out,
				"More than %" PRIu64 " files matched for \"%.*s\" in %s. "
				"Please narrow your search.\n",
				f.files, STR_ARG(f.term), f.dir);
		else if (f.matches)
			skill_find_put_result(&f);
		else
			buf_fmt(&c->out, "No matches found for \"%.*s\" in %s\n",
				STR_ARG(f.term), f.dir);
	}
	buf_free(&f.found);
}

void skill_find_file(struct skill_call *c)
{
	struct find f = skill_find_make(c);

	if (skill_find_walk(&f, skill_find_match_name)) {
		if (f.matches)
			skill_find_put_result(&f);
		else
			buf_fmt(&c->out, "[No matches found for \"%.*s\" in %s]\n",
				STR_ARG(f.term), f.dir);
	}
	buf_free(&f.found);
}
