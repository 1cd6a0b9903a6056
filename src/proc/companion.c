#include "proc/companion.h"

#include "base/fd.h"
#include "proc/spawn.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Copies of the maker's descriptors would keep its files and pipes open. */
static _Noreturn void companion_run(int sock, companion_fn *fn, const void *arg)
{
	if (dup2(sock, 0) == 0 && dup2(sock, 1) == 1) {
		spawn_close_from(3);
		fn(0, arg);
	}
	_exit(0);
}

int companion_begin(struct companion *c, companion_fn *fn, const void *arg)
{
	int pair[2];
	int r = fd_socketpair(SOCK_SEQPACKET, pair);

	*c = (struct companion){.pid = -1, .sock = -1};
	if (r)
		return r;
	r = fd_set_blocking(pair[0]);
	if (!r)
		r = fd_set_blocking(pair[1]);
	if (!r) {
		c->pid = fork();
		r = c->pid < 0 ? -errno : 0;
	}
	if (c->pid == 0)
		companion_run(pair[1], fn, arg);
	fd_close(&pair[1]);
	if (r)
		fd_close(&pair[0]);
	c->sock = pair[0];
	return r;
}

void companion_end(struct companion *c)
{
	if (c->sock < 0)
		return;
	fd_close(&c->sock);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
