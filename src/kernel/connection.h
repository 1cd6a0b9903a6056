/*
 * The endpoints of a kernel: a private folder with its connection file and, if the
 * kernel supports them, unix sockets; otherwise TCP ports of the loopback.
 */
#ifndef KERNEL_CONNECTION_H
#define KERNEL_CONNECTION_H

#include "base/hash.h"
#include "proc/spawn.h"

enum { KERNEL_FOLDER_MAX = 104 }; /* bytes; the path of a Unix socket has 107 at most */

/*
 * stdin is not connected: cells run without it, so that a kernel never requests input.
 * The kernel listens there all the same.
 */
enum connection_channel {
	CONNECTION_SHELL,
	CONNECTION_IOPUB,
	CONNECTION_CONTROL,
	CONNECTION_HEARTBEAT,
	CONNECTION_CHANNELS, /* number of connected channels */
	CONNECTION_STDIN = CONNECTION_CHANNELS,
	CONNECTION_PORTS,
};

struct connection {
	int dir; /* the folder; -1: none */
	char folder[KERNEL_FOLDER_MAX];
	char file[KERNEL_FOLDER_MAX];
	bool by_ipc;
	uint16_t ports[CONNECTION_PORTS]; /* TCP ports, or numbers of sockets */
	char key[SHA256_HEX + 1];
};

/*
 * Creates the folder in tmp (an absolute path) and the file in it. Only owner can
 * access them (NULL: only this process's user). -ENAMETOOLONG if a socket path there is
 * too long; -errno. After an error nothing is left.
 */
int connection_make(struct connection *c, const char *tmp, bool by_ipc,
	const struct spawn_user *owner, const char *kernel) MUST_USE;

/*
 * Starts to connect: returns an fd, for which fd_connect_result gives the result once it
 * has POLLOUT; -ENOENT or -ECONNREFUSED if the kernel does not listen yet; -errno.
 */
int connection_open(const struct connection *c, enum connection_channel ch) MUST_USE;

/* Removes the folder with the connection file and the kernel's sockets. */
void connection_remove(struct connection *c);

#endif
