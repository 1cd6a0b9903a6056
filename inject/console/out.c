#include "inject/console/out.h"

#include "base/fd.h"
#include "base/utf8.h"
#include "inject/console/stop.h"
#include "limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { STEP_COLUMNS = 79 };
/* Bytes of an error line: its begin, its end, which has the reason, and " ... ". */
enum { ERROR_BEGIN = 660, ERROR_END = 300 };

static bool step_shown;

static bool out_is_printable(uint32_t c, bool lines)
{
	if (c == '\n' || c == '\t')
		return lines;
	return c >= 0x20 && (c < 0x7f || c > 0x9f);
}

void out_clean(struct buf *b, struct str s, bool lines)
{
	while (s.n) {
		struct str rest = s;
		uint32_t c = utf8_next(&rest);
		size_t n = s.n - rest.n;
		bool valid = utf8_is_valid(str_make(s.p, n));

		if (valid && out_is_printable(c, lines))
			buf_put(b, s.p, n);
		else
			for (size_t i = 0; i < n; i++)
				buf_fmt(b, "\\x%02x", (unsigned char)s.p[i]);
		s = rest;
	}
}

/* Writes to stderr; a failed write of a message is ignored. */
static void out_write_stderr(struct str s)
{
	if (fd_write_all(STDERR_FILENO, s.p, s.n) < 0)
		return;
}

/* Appends text cleaned, without the middle of a long text: peers choose its length. */
static void out_clean_bounded(struct buf *b, struct str text)
{
	struct buf clean = BUF_INIT(INJECT_TEXT_MAX);
	struct str all, end;

	out_clean(&clean, text, false);
	all = end = buf_view(&clean);
	if (all.n > ERROR_BEGIN + ERROR_END) {
		all.n = utf8_prefix(str_make(all.p, ERROR_BEGIN));
		end = str_skip(end, end.n - ERROR_END);
		while (end.n && ((unsigned char)*end.p & 0xC0) == 0x80)
			end = str_skip(end, 1);
	} else {
		end.n = 0;
	}
	buf_str(b, all);
	if (end.n)
		buf_puts(b, " ... ");
	buf_str(b, end);
	buf_free(&clean);
}

static void PRINTF(3, 0)
	out_line_list(const char *head, bool bounded, const char *fmt, va_list ap)
{
	char text[2048];
	struct buf b = BUF_INIT(INJECT_TEXT_MAX);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	size_t len = n < 0 ? 0 : (size_t)n;

	if (len > sizeof(text) - 1)
		len = sizeof(text) - 1;
	out_step_end();
	buf_puts(&b, head);
	if (bounded)
		out_clean_bounded(&b, str_make(text, len));
	else
		out_clean(&b, str_make(text, len), false);
	buf_putc(&b, '\n');
	out_write_stderr(buf_view(&b));
	buf_free(&b);
}

static void out_print_next(const char *next)
{
	if (!next)
		return;
	out_write_stderr(STR("  next: "));
	out_write_stderr(str_c(next));
	out_write_stderr(STR("\n"));
}

int out_fail(const char *next, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	out_line_list("od-runtime: ", true, fmt, ap);
	va_end(ap);
	out_print_next(next);
	return FAIL_ENVIRONMENT;
}

int out_fail_usage(const char *next, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	out_line_list("od-runtime: ", true, fmt, ap);
	va_end(ap);
	out_print_next(next);
	return FAIL_USAGE;
}

static const char *out_command;

void out_set_command(const char *name)
{
	out_command = name;
}

const char *out_help_hint(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "od-runtime %s%s", out_command ? "help " : "--help",
		out_command ? out_command : "");
	return text;
}

void out_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	out_line_list("", false, fmt, ap);
	va_end(ap);
}

void out_step(const char *fmt, ...)
{
	char text[1024];
	struct buf b = BUF_INIT(INJECT_TEXT_MAX);
	va_list ap;
	int n;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_puts(&b, "\r\x1b[K");
	if (n > 0)
		out_clean(&b, str_trim(str_c(text), " \t\r\n"), false);
	/*
	 * A line that wraps cannot be erased; a text has at most as many columns as
	 * bytes.
	 */
	if (b.n > STEP_COLUMNS)
		b.n = utf8_prefix(str_make(b.p, STEP_COLUMNS));
	out_write_stderr(buf_view(&b));
	buf_free(&b);
	step_shown = true;
}

void out_step_end(void)
{
	if (step_shown)
		out_write_stderr(STR("\r\x1b[K"));
	step_shown = false;
}

int out_write_text(int fd, struct str s)
{
	struct buf b = BUF_INIT(4 * (size_t)INJECT_REPLY_MAX);
	int r;

	out_step_end();
	if (!isatty(fd))
		return fd_write_all(fd, s.p, s.n);
	out_clean(&b, s, true);
	r = b.err ? b.err : fd_write_all(fd, b.p, b.n);
	buf_free(&b);
	return r;
}

int out_write_buf(const struct buf *b)
{
	return b->err ? b->err : out_write_text(STDOUT_FILENO, buf_view(b));
}

int out_write_line(struct buf *b)
{
	int r;

	buf_putc(b, '\n');
	r = out_write_buf(b);
	buf_free(b);
	return r;
}

int out_exit_code(int r)
{
	switch (r) {
	case 0:
		return 0;
	case FAIL_USAGE:
	case FAIL_BUG:
	case FAIL_ENVIRONMENT:
		return FAIL_BASE - r;
	case -EINTR:
		if (stop_get_signal()) {
			out_step_end();
			return 128 + stop_get_signal();
		}
		break;
	case -ENOMEM:
		out_fail(
			"free memory on this machine, then try again", "%s", err_text(r));
		return EXIT_ENVIRONMENT;
	case -EPIPE:
	case -ENOSPC:
	case -EIO:
		out_fail(
			"check the program or the file that receives the standard output",
			"%s", err_text(r));
		return EXIT_ENVIRONMENT;
	default:
		break;
	}
	out_fail("this is a bug of od-runtime: please report it with the command line",
		"unexpected error %d: %s", r, err_text(r));
	return EXIT_BUG;
}

void out_put_column(struct buf *line, struct str text, size_t width)
{
	size_t from = line->n;

	out_clean(line, text.n ? text : STR("-"), false);
	buf_putc(line, ' ');
	while (line->n < from + width && !line->err)
		buf_putc(line, ' ');
}

void out_put_age(struct buf *line, int64_t seconds)
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	size_t i = 0;

	seconds = seconds < 0 ? 0 : seconds;
	while (i + 1 < ARRAY_LEN(units) && seconds < 2 * units[i].seconds)
		i++;
	buf_fmt(line, "%lld%c", (long long)(seconds / units[i].seconds), units[i].unit);
}
