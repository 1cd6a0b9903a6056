/*
 * What the user sees: results on stdout, errors and progress on stderr. Bytes
 * that come from an image, an engine or a sandbox are made harmless here.
 */
#ifndef INJECT_OUT_H
#define INJECT_OUT_H

#include "base/buf.h"
#include "base/exit.h"

/* Beside those of base/exit.h: a command outlived its --timeout, as timeout(1). */
enum { EXIT_TIMEOUT = 124 };

/*
 * Errors whose words the user has seen already; each is FAIL_BASE less its exit
 * code, outside of the ranges of errno and enum err.
 */
enum fail {
	FAIL_BASE = -5000,
	FAIL_USAGE = FAIL_BASE - EXIT_USAGE,
	FAIL_BUG = FAIL_BASE - EXIT_BUG,
	FAIL_ENVIRONMENT = FAIL_BASE - EXIT_ENVIRONMENT,
};

/*
 * Appends s with every control byte, every C1 control and every byte that is no
 * UTF-8 written as \xNN. With lines, newlines and tabs stay.
 */
void out_clean(struct buf *b, struct str s, bool lines);

/* Prints one line "od-runtime: cause" and, unless NULL, one with the next step. */
int out_fail(const char *next, const char *fmt, ...) PRINTF(2, 3);
int out_fail_usage(const char *next, const char *fmt, ...) PRINTF(2, 3);

/* Names the command that out_help is about; name is kept. */
void out_set_command(const char *name);
/* The next step that leads to the help of the command, or to that of od-runtime. */
const char *out_help(void);

/* One line on stderr, for people. */
void out_note(const char *fmt, ...) PRINTF(1, 2);

/*
 * Progress: a line on stderr that the next one replaces, shown only on a
 * terminal. out_step_end takes it away; every other output does so too.
 */
void out_step(const char *fmt, ...) PRINTF(1, 2);
void out_step_end(void);

/*
 * Text of others to fd 1 or 2: as it is for programs, cleaned on a terminal.
 * -errno when the descriptor does not take it.
 */
int out_text(int fd, struct str s) MUST_USE;
/* What a buf of ours holds, to stdout as it is. 0, the buf's error or -errno. */
int out_buf(const struct buf *b) MUST_USE;
/* The same as a line of its own; frees b. */
int out_line_take(struct buf *b) MUST_USE;

/* Parts of tables. A column has the text, "-" if it is empty, and blanks up to width. */
void out_put_column(struct buf *line, struct str text, size_t width);
/* Seconds in their largest unit of which there are two: 90s, 5m, 3h, 2d. */
void out_put_age(struct buf *line, int64_t seconds);

/* The exit code that stands for r, which is 0 or negative; may print. */
int out_exit_code(int r);

#endif
