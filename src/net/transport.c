#include "net/transport.h"

#include "base/fd.h"

#include <errno.h>
#include <sys/socket.h>

static ssize_t plain_recv(struct transport *t, void *p, size_t n)
{
	ssize_t got;

	do
		got = recv(t->fd, p, n, 0);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static ssize_t plain_send(struct transport *t, const struct iovec *v, int v_n)
{
	struct msghdr m = {
		.msg_iov = (struct iovec *)(uintptr_t)v,
		.msg_iovlen = (unsigned)v_n,
	};
	ssize_t put;

	do
		put = sendmsg(t->fd, &m, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR);
	return put < 0 ? -errno : put;
}

static void plain_end(struct transport *t)
{
	shutdown(t->fd, SHUT_WR);
}

static void plain_close(struct transport *t)
{
	fd_close(&t->fd);
}

static const struct transport_ops plain_ops = {
	.recv = plain_recv,
	.send = plain_send,
	.end = plain_end,
	.close = plain_close,
};

void transport_plain(struct transport *t, int fd)
{
	*t = (struct transport){.ops = &plain_ops, .fd = fd};
}
