/*
 * Where a kernel listens: a private folder with its connection file and, where it can,
 * unix sockets; else ports of the loopback.
 */
#ifndef KERNEL_CONNECTION_H
#define KERNEL_CONNECTION_H

#include "base/hash.h"
#include "limits.h"
#include "proc/spawn.h"

/*
 * No stdin: cells run without it, so that a kernel never asks for any. It listens there
 * all the same.
 */
enum connection_channel {
	CONNECTION_SHELL,
	CONNECTION_IOPUB,
	CONNECTION_CONTROL,
	CONNECTION_HEARTBEAT,
	CONNECTION_CHANNELS, /* those that are connected to */
	CONNECTION_STDIN = CONNECTION_CHANNELS,
	CONNECTION_PORTS,
};

struct connection {
	int dir; /* the folder; -1: there is none */
	char folder[KERNEL_FOLDER_MAX];
	char file[KERNEL_FOLDER_MAX];
	bool by_ipc;
	uint16_t ports[CONNECTION_PORTS]; /* or numbers of sockets */
	char key[SHA256_HEX + 1];
};

/*
 * Makes the folder in tmp (an absolute path) and the file in it, both for owner alone
 * (NULL: for us). -ENAMETOOLONG when a socket there would have no name; -errno. On
 * failure nothing is left.
 */
int connection_make(struct connection *c, const char *tmp, bool by_ipc,
	const struct spawn_user *owner, const char *kernel) MUST_USE;

/*
 * Begins to connect: an fd for which fd_connected tells the outcome once it has
 * POLLOUT; -ENOENT or -ECONNREFUSED while nobody listens; -errno.
 */
int connection_open(const struct connection *c, enum connection_channel ch) MUST_USE;

/* Removes the folder with what we and the kernel have put there. */
void connection_remove(struct connection *c);

#endif
