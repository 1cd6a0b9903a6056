/* Files of "listen" and "token". */
#ifndef INJECT_NAMES_LISTEN_SECRET_H
#define INJECT_NAMES_LISTEN_SECRET_H

#include "base/buf.h"

/*
 * Reads a file into text, up to its maximum. origin is the option or operand that names
 * the file. Both functions return 0, or the exit code with the reason printed.
 */
int listen_file_read(const char *origin, const char *path, struct buf *text) MUST_USE;

/* Reads the secret of a backend, of LISTEN_SECRET_MIN bytes without outer blanks. */
int listen_secret_load(const char *origin, const char *path, struct buf *secret) MUST_USE;

#endif
