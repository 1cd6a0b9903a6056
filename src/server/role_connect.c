#include "server/roles.h"

#include "base/clock.h"
#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/pause.h"
#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 2000, CHUNK = 65536 };

/* A direction. Bytes that were read and not yet written are bytes[at..n). */
struct flow {
	int from, to;
	bool ended; /* from has reached its end */
	size_t at, n;
	char bytes[CHUNK];
};

/* Connects. A server that is about to start does not listen yet, so this retries. */
static int role_connect_open(uint16_t port)
{
	uint64_t deadline = clock_ms() + WAIT_MS;

	for (;;) {
		int fd = fd_connect_tcp("127.0.0.1", port);
		struct pollfd w = {.fd = fd, .events = POLLOUT};
		int r = fd < 0 ? fd : 0;

		if (!r && poll(&w, 1, WAIT_MS) <= 0)
			r = -ETIMEDOUT;
		if (!r)
			r = fd_connect_result(fd);
		if (!r)
			return fd;
		fd_close(&fd);
		if (r != -ECONNREFUSED || clock_ms() >= deadline)
			return r;
		/* The kernel reports no event when a port gets a listener. */
		pause_until(deadline);
	}
}

/* The events to poll for, on the reading or the writing end of f. */
static short role_connect_get_events(const struct flow *f, bool reading)
{
	if (reading)
		return !f->ended && f->at == f->n ? POLLIN : 0;
	return f->at < f->n ? POLLOUT : 0;
}

static ssize_t role_connect_send(int fd, const char *p, size_t n)
{
	ssize_t put = send(fd, p, n, MSG_NOSIGNAL);

	return put < 0 && errno == ENOTSOCK ? write(fd, p, n) : put;
}

/*
 * If the writing end fails, bytes are discarded: the other direction may still be used.
 */
static void role_connect_copy_flow(struct flow *f)
{
	ssize_t n;

	if (f->at == f->n && !f->ended) {
		n = read(f->from, f->bytes, sizeof(f->bytes));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		f->ended = n <= 0;
		f->at = 0;
		f->n = n > 0 ? (size_t)n : 0;
	}
	if (f->at == f->n)
		return;
	n = role_connect_send(f->to, f->bytes + f->at, f->n - f->at);
	if (n >= 0)
		f->at += (size_t)n;
	else if (errno != EAGAIN && errno != EINTR)
		f->at = f->n;
}

static void role_connect_copy_both(int fd)
{
	static struct flow up, down;
	bool told = false;

	up.from = STDIN_FILENO;
	down.to = STDOUT_FILENO;
	up.to = down.from = fd;
	while (!(down.ended && down.at == down.n)) {
		short socket_events = (short)(role_connect_get_events(&up, false) |
			role_connect_get_events(&down, true));
		struct pollfd w[3] = {
			{.fd = role_connect_get_events(&up, true) ? STDIN_FILENO : -1,
				.events = POLLIN},
			{.fd = socket_events ? fd : -1, .events = socket_events},
			{.fd = STDOUT_FILENO,
				.events = role_connect_get_events(&down, false)},
		};

		if (poll(w, 3, -1) < 0 && errno != EINTR)
			return;
		/* The reader of stdout has closed it. */
		if (w[2].revents & POLLERR)
			return;
		role_connect_copy_flow(&up);
		role_connect_copy_flow(&down);
		if (up.ended && up.at == up.n && !told) {
			shutdown(fd, SHUT_WR);
			told = true;
		}
	}
}

int role_connect(uint16_t port)
{
	int fd = role_connect_open(port);
	int r = fd < 0 ? fd : fd_set_nonblocking(STDIN_FILENO);

	if (!r)
		r = fd_set_nonblocking(STDOUT_FILENO);
	if (fd < 0 || r) {
		log_error("cannot connect to port %u: %s", port, err_text(r));
		fd_close(&fd);
		return EXIT_ENVIRONMENT;
	}
	role_connect_copy_both(fd);
	fd_close(&fd);
	return EXIT_DONE;
}
