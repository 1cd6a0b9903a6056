/* The skills that show a window of lines of a file. */
#include "base/err.h"
#include "fs/path.h"
#include "limits.h"
#include "skill/private.h"
#include "skill/state.h"
#include "skill/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 100 };

#define HINT "\n[Use `scroll_down` to view the next 100 lines of the file!]"

static bool skill_window_is_file(const char *path)
{
	struct stat st;

	return path[0] && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/*
 * Makes a path absolute like os.path.abspath: ".." removes the part before, link or not.
 */
static bool skill_window_make_absolute(const char *sent, char out[FILE_PATH_MAX])
{
	struct buf words = BUF_INIT(FILE_WORDS_MAX);
	char cwd[FILE_PATH_MAX];
	struct file_path path;
	struct str rest;
	size_t n = 0;
	int r;

	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	r = file_path_make(&path, str_c(cwd), str_c(sent), &words);
	buf_free(&words);
	if (r)
		return false;
	rest = str_make(path.abs + 1, path.n - 1);
	while (rest.n) {
		struct str part = str_cut(&rest, '/');

		if (str_eq(part, STR(".."))) {
			while (n && out[--n] != '/')
				;
			continue;
		}
		out[n++] = '/';
		memcpy(out + n, part.p, part.n);
		n += part.n;
	}
	if (!n)
		out[n++] = '/';
	out[n] = '\0';
	return true;
}

/* Parses an int as Python writes it, or True or False. */
static bool skill_window_parse_int(const char *text, int64_t *out)
{
	struct str s = str_c(text);
	int64_t n;

	if (str_eq(s, STR("True")) || str_eq(s, STR("False"))) {
		*out = s.p[0] == 'T';
		return true;
	}
	/* Sums of such numbers must not overflow. */
	if (str_i64(s, &n) < 0 || n > INT32_MAX || n < INT32_MIN)
		return false;
	*out = n;
	return true;
}

/* Loads the text of the open file. False: the error is set. */
static bool skill_window_load(struct skill_call *c, const char *path, struct buf *text)
{
	int r = skill_read_text(AT_FDCWD, path, false, text);

	if (r == ERR_UTF8)
		skill_set_error(c, "File %s is not UTF-8 text.", path);
	else if (r == ERR_LIMIT)
		skill_set_error(
			c, "File %s is larger than %d bytes.", path, SKILL_FILE_MAX);
	else if (r < 0)
		skill_set_error(c, "File %s cannot be read: %s", path, err_text(r));
	return r == 0;
}

static uint64_t skill_window_count_lines(
	struct str text, struct str (*cut)(struct str *rest))
{
	uint64_t n = 0;

	while (text.n) {
		cut(&text);
		n++;
	}
	return n ? n : 1;
}

static uint64_t skill_window_clamp(int64_t n, uint64_t most)
{
	return n < 1 ? 1 : (uint64_t)n > most ? most : (uint64_t)n;
}

static void skill_window_put_lines(
	struct buf *out, struct str text, uint64_t from, uint64_t to)
{
	for (uint64_t n = 1; n <= to; n++) {
		struct str line = skill_cut_split_line(&text);

		if (n < from)
			continue;
		buf_fmt(out, "%" PRIu64 "|", n);
		buf_str(out, line);
		if (!str_ends(line, STR("\n")))
			buf_putc(out, '\n');
	}
}

/* Prints size lines around target, or from target on (top). target is stored. */
static void skill_window_put(struct skill_call *c, struct skill_state *s,
	struct buf *text, int64_t target, int64_t size, bool top)
{
	uint64_t lines, from, to, half = size > 3 ? (uint64_t)size / 2 : 1;
	uint64_t full = (uint64_t)size;

	if (!str_ends(buf_view(text), STR("\n")))
		buf_putc(text, '\n');
	lines = skill_window_count_lines(buf_view(text), skill_cut_split_line);
	s->line = skill_window_clamp(target, lines);
	from = top ? s->line : s->line > half ? s->line - half : 1;
	to = s->line + (top ? full : half);
	to = to < lines ? to : lines;
	if (from == 1)
		to = full < lines ? full : lines;
	if (to == lines)
		from = to > full ? to - full + 1 : 1;
	if (from == 1)
		buf_puts(&c->out, "(this is the beginning of the file)\n");
	else
		buf_fmt(&c->out, "(%" PRIu64 " more lines above)\n", from - 1);
	skill_window_put_lines(&c->out, buf_view(text), from, to);
	if (to == lines)
		buf_puts(&c->out, "(this is the end of the file)");
	else
		buf_fmt(&c->out, "(%" PRIu64 " more lines below)", lines - to);
}

static void skill_window_put_header(
	struct skill_call *c, const char *path, uint64_t total)
{
	buf_fmt(&c->out, "[File: %s (%" PRIu64 " lines total)]\n", path, total);
}

void skill_open_file(struct skill_call *c)
{
	struct buf text = BUF_INIT(SKILL_FILE_MAX + 2);
	int64_t line = 1, size = WINDOW;
	struct skill_state s;
	uint64_t total;

	if (!skill_window_is_file(c->args[0])) {
		skill_set_error(c, "File %s not found.", c->args[0]);
		return;
	}
	skill_state_load(&s);
	if (!skill_window_make_absolute(c->args[0], s.path) ||
		!skill_window_load(c, s.path, &text)) {
		buf_free(&text);
		return;
	}
	total = skill_window_count_lines(buf_view(&text), skill_cut_line);
	if (c->args[2] &&
		(!skill_window_parse_int(c->args[2], &size) || size < 1 || size > WINDOW))
		size = WINDOW;
	if ((c->args[1] && !skill_window_parse_int(c->args[1], &line)) || line < 1 ||
		(uint64_t)line > total) {
		skill_set_error(c, "Line number must be between 1 and %" PRIu64, total);
	} else {
		skill_window_put_header(c, s.path, total);
		skill_window_put(c, &s, &text, line, size, false);
		if (str_ends(buf_view(&c->out), STR("more lines below)")))
			buf_puts(&c->out, HINT);
		buf_putc(&c->out, '\n');
	}
	skill_state_save(&s);
	buf_free(&text);
}

/* Loads the open file. False: none is open or it cannot be read; the error is set. */
static bool skill_window_load_open(
	struct skill_call *c, struct skill_state *s, struct buf *text)
{
	skill_state_load(s);
	if (skill_window_is_file(s->path))
		return skill_window_load(c, s->path, text);
	skill_set_error(c, "No file open. Use the open_file function first.");
	return false;
}

static void skill_window_show(struct skill_call *c, struct skill_state *s,
	struct buf *text, uint64_t total, int64_t line, bool top)
{
	skill_window_put_header(c, s->path, total);
	skill_window_put(c, s, text, line, WINDOW, top);
	buf_putc(&c->out, '\n');
	skill_state_save(s);
}

void skill_goto_line(struct skill_call *c)
{
	struct buf text = BUF_INIT(SKILL_FILE_MAX + 2);
	struct skill_state s;
	uint64_t total;
	int64_t line;

	if (skill_window_load_open(c, &s, &text)) {
		total = skill_window_count_lines(buf_view(&text), skill_cut_line);
		if (!skill_window_parse_int(c->args[0], &line) || line < 1 ||
			(uint64_t)line > total)
			skill_set_error(c,
				"Line number must be between 1 and %" PRIu64 ".", total);
		else
			skill_window_show(c, &s, &text, total, line, false);
	}
	buf_free(&text);
}

static void skill_window_scroll(struct skill_call *c, int64_t by)
{
	struct buf text = BUF_INIT(SKILL_FILE_MAX + 2);
	struct skill_state s;

	if (skill_window_load_open(c, &s, &text)) {
		uint64_t total =
			skill_window_count_lines(buf_view(&text), skill_cut_line);
		uint64_t line = skill_window_clamp((int64_t)s.line + by, total);

		skill_window_show(c, &s, &text, total, (int64_t)line, true);
	}
	buf_free(&text);
}

void skill_scroll_down(struct skill_call *c)
{
	skill_window_scroll(c, WINDOW);
}

void skill_scroll_up(struct skill_call *c)
{
	skill_window_scroll(c, -WINDOW);
}
