/*
 * The output for the user: results on stdout, errors and progress on stderr. Control
 * bytes from an image, an engine or a sandbox are escaped here.
 */
#ifndef INJECT_CONSOLE_OUT_H
#define INJECT_CONSOLE_OUT_H

#include "base/buf.h"
#include "base/exit.h"

/*
 * Besides the codes of base/exit.h: a command exceeded its --timeout, as in timeout(1).
 */
enum { EXIT_TIMEOUT = 124 };

/*
 * Errors whose message was printed already; each is FAIL_BASE less its exit code, outside
 * of the ranges of errno and enum err.
 */
enum fail {
	FAIL_BASE = -5000,
	FAIL_USAGE = FAIL_BASE - EXIT_USAGE,
	FAIL_BUG = FAIL_BASE - EXIT_BUG,
	FAIL_ENVIRONMENT = FAIL_BASE - EXIT_ENVIRONMENT,
};

/*
 * Appends s with every control byte, every C1 control and every byte that is not UTF-8
 * written as \xNN. With lines, newlines and tabs stay.
 */
void out_clean(struct buf *b, struct str s, bool lines);

/*
 * Prints a line "od-runtime: cause" and, if next is not NULL, a line with the next step.
 */
int out_fail(const char *next, const char *fmt, ...) PRINTF(2, 3);
int out_fail_usage(const char *next, const char *fmt, ...) PRINTF(2, 3);

/* Sets the command that out_help_hint names; name is borrowed. */
void out_set_command(const char *name);
/* The next step that names the help of the command, or of od-runtime. */
const char *out_help_hint(void);

/* Prints a line on stderr, for people. */
void out_note(const char *fmt, ...) PRINTF(1, 2);

/*
 * Progress: a line on stderr that the next one replaces, shown only on a terminal.
 * out_step_end erases it, as does every other output.
 */
void out_step(const char *fmt, ...) PRINTF(1, 2);
void out_step_end(void);

/*
 * Writes text of another program to fd 1 or 2: unchanged to a file or pipe, cleaned to a
 * terminal. -errno if the write fails.
 */
int out_write_text(int fd, struct str s) MUST_USE;
/* Writes the content of a buf to stdout, unchanged. 0, the buf's error or -errno. */
int out_write_buf(const struct buf *b) MUST_USE;
/* As out_write_buf, with a line feed; frees b. */
int out_write_line(struct buf *b) MUST_USE;

/* Appends a column of a table: the text, "-" if it is empty, and blanks up to width. */
void out_put_column(struct buf *line, struct str text, size_t width);
/* Appends seconds in the largest unit of which there are two: 90s, 5m, 3h, 2d. */
void out_put_age(struct buf *line, int64_t seconds);

/* The exit code for r, which is 0 or negative; may print. */
int out_exit_code(int r);

#endif
