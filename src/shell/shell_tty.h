/*
 * The terminal of a shell: the master of a pty. If the system has no ptys, it is our end
 * of a socket, which takes lines of any length, and has neither modes nor keys.
 *
 * The functions that take pid get the process of the shell, 0 for none.
 */
#ifndef SHELL_SHELL_TTY_H
#define SHELL_SHELL_TTY_H

#include "base/buf.h"
#include "loop/loop.h"

#include <sys/types.h>

enum { TTY_LINE_MAX = 4094 }; /* without the newline: the kernel drops the rest */

struct shell_tty {
	struct loop *loop;
	io_fn *ready; /* the terminal has output, or takes more input */
	int fd;       /* -1: none */
	struct io io;
	int no_pty;       /* -errno for which it is a socket; 0: a pty */
	bool poor;        /* gVisor's: no /dev/tty, and no key erases its line */
	struct buf typed; /* input that the terminal has not taken yet */
};

void shell_tty_init(struct shell_tty *t, struct loop *l, io_fn *ready);
/*
 * Opens the terminal; *other is the end of the child, and belongs to the caller. *why
 * names the step that fails.
 */
int shell_tty_open(struct shell_tty *t, int *other, const char **why) MUST_USE;
/* Watches the terminal unless it is watched already. */
int shell_tty_watch(struct shell_tty *t) MUST_USE;
/* Closes it: any process that still reads from it gets a hang-up. */
void shell_tty_close(struct shell_tty *t);

/* Whether /dev/tty leads to the terminal. */
bool shell_tty_is_reachable(const struct shell_tty *t);
/*
 * Whether the Enter key is a carriage return now, because a program takes every key
 * itself.
 */
bool shell_tty_is_raw(const struct shell_tty *t);
/* Whether the terminal makes a signal of key: C, Z or backslash. */
bool shell_tty_has_signal(const struct shell_tty *t, char key);
/* Whether the signal of key has to be sent by this process. */
bool shell_tty_needs_signal(const struct shell_tty *t, char key);
/*
 * The foreground process group, or -errno. If the terminal does not report it, this is a
 * guess: the group of the newest process that the shell has started.
 */
pid_t shell_tty_get_foreground(const struct shell_tty *t, pid_t pid) MUST_USE;
/* True while only the shell itself can read what is typed now. */
bool shell_tty_is_foreground(const struct shell_tty *t, pid_t pid);

/* Adds bytes to the input that shell_tty_flush writes. Results as of shell_type. */
int shell_tty_queue(struct shell_tty *t, struct str bytes) MUST_USE;
/*
 * Writes as much of the input as the terminal takes now. waits: nothing is written yet.
 */
int shell_tty_flush(struct shell_tty *t, bool waits) MUST_USE;
/* Drops the input that the terminal has not taken yet. */
void shell_tty_drop_input(struct shell_tty *t);
/*
 * Writes a whole line, which is short, while the terminal's queue is empty; -errno if the
 * terminal takes less.
 */
int shell_tty_type_line(struct shell_tty *t, struct str line) MUST_USE;

#endif
