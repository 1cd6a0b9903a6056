/*
 * Commands are passed to a shell in a file: only a file takes any length and any bytes,
 * needs no descriptor in the shell, and works in every shell.
 */
#ifndef SHELL_HANDOVER_H
#define SHELL_HANDOVER_H

#include "base/str.h"
#include "proc/spawn.h"

enum { HANDOVER_PATH = 64 };

/*
 * Writes content and then end to a new file that only owner (NULL: this process's user)
 * can read, in the first folder of /dev/shm, /tmp, /run, /var/tmp that takes it. path
 * receives the name of the file, which needs no quoting; the caller removes the file.
 * Returns the -errno of the last folder tried.
 */
int handover_write(struct str content, const char *end, const struct spawn_user *owner,
	char path[HANDOVER_PATH]) MUST_USE;

#endif
