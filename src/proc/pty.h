/* Pseudo-terminals. */
#ifndef PROC_PTY_H
#define PROC_PTY_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Makes a pty of the given size. Echo is off, since a writer has its own input. *master
 * is NONBLOCK, *slave blocking; both belong to the caller. -errno when the system has no
 * ptys.
 */
int pty_open(uint16_t rows, uint16_t columns, int *master, int *slave) MUST_USE;

/*
 * The substitute for a pty where there is none: a pair of sockets. *ours is NONBLOCK,
 * *theirs blocking; both belong to the caller. To the functions below a socket is a
 * terminal without modes, foreground and keys. -errno.
 */
int pty_open_socket(int *ours, int *theirs) MUST_USE;

/*
 * Sets the modes in which a shell can read a line and keys raise signals, whatever modes
 * a program has left. Echo stays off.
 */
void pty_reset_modes(int master);

/* Sets the size of the terminal, which raises SIGWINCH for its programs. -errno. */
int pty_resize(int master, uint16_t rows, uint16_t columns) MUST_USE;

/* Turns echo on, for a person who types. */
void pty_set_echo(int master);

/* True while keys such as C-c raise signals (and a terminal would show them as ^C). */
bool pty_has_signals(int master);

/* The signal of key: C, Z or backslash. */
int pty_key_signal(char key);

/*
 * Raises the signal of key (C, Z or backslash) as the terminal would, and discards the
 * input that no program has read, which would delay it. -errno.
 */
int pty_raise(int master, char key) MUST_USE;

/* True while input reaches programs line by line (canonical mode). */
bool pty_is_canonical(int master);

/*
 * The foreground process group, or -errno. -ENOTTY: the terminal reports it only inside
 * its session, as gVisor's does; such a terminal may refuse to raise signals, too.
 */
pid_t pty_foreground(int master) MUST_USE;

#endif
