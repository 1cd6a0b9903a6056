#include "net/transport.h"

#include "base/clock.h"
#include "base/fd.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* --- The bare socket ------------------------------------------------------------- */

static ssize_t transport_plain_recv(struct transport *t, void *p, size_t n)
{
	ssize_t got;

	do
		got = recv(t->fd, p, n, 0);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static ssize_t transport_plain_send(struct transport *t, const struct iovec *v, int v_n)
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

static int transport_plain_flush(struct transport *t)
{
	(void)t;
	return 0;
}

static bool transport_plain_pending(const struct transport *t)
{
	(void)t;
	return false;
}

static void transport_plain_end(struct transport *t)
{
	shutdown(t->fd, SHUT_WR);
}

static void transport_plain_close(struct transport *t)
{
	fd_close(&t->fd);
}

static const struct transport_ops plain_ops = {
	.recv = transport_plain_recv,
	.send = transport_plain_send,
	.flush = transport_plain_flush,
	.pending = transport_plain_pending,
	.end = transport_plain_end,
	.close = transport_plain_close,
};

void transport_plain(struct transport *t, int fd)
{
	*t = (struct transport){.ops = &plain_ops, .fd = fd};
}

int transport_get_plain_fd(const struct transport *t)
{
	return t->ops == &plain_ops ? t->fd : -1;
}

/* --- TLS ------------------------------------------------------------------------- */

enum secure_state {
	SECURE_OPEN,
	SECURE_ENDING, /* the machine is closed; some of its output is not sent */
	SECURE_ENDED,  /* our half of the socket is shut */
};

struct secure {
	struct tls tls;
	enum secure_state state;
};

static void transport_set_state(struct secure *s, enum secure_state next)
{
	assert(next == s->state + 1);
	s->state = next;
}

static int transport_secure_flush(struct transport *t)
{
	struct secure *s = t->side;
	struct str out;

	while ((out = tls_output(&s->tls)).n) {
		struct iovec v = {(void *)(uintptr_t)out.p, out.n};
		ssize_t n = transport_plain_send(t, &v, 1);

		if (n < 0)
			return n == -EAGAIN ? 1 : (int)n;
		tls_output_done(&s->tls, (size_t)n);
	}
	if (s->state == SECURE_ENDING) {
		transport_set_state(s, SECURE_ENDED);
		transport_plain_end(t);
	}
	return 0;
}

/* Whether recv bypasses the machine, which accepts no more bytes after an error. */
static bool transport_is_bypassed(const struct secure *s, int read)
{
	return read == ERR_TLS && s->state != SECURE_OPEN;
}

static bool transport_secure_pending(const struct transport *t)
{
	const struct secure *s = t->side;
	struct str data;
	int r = tls_read(&s->tls, &data);

	return r != TLS_WAIT && !transport_is_bypassed(s, r);
}

/* Each read counts as PULL_BYTES at least: a record may have only 5 bytes. */
enum { PULL_BYTES = 512 };

/*
 * Reads from the socket into the machine. The number of bytes; -errno; at the end of the
 * stream the result of tls_feed_end.
 */
static ssize_t transport_secure_pull(struct transport *t)
{
	struct secure *s = t->side;
	size_t room = 0;
	char *p = tls_input(&s->tls, &room);
	ssize_t n = p ? transport_plain_recv(t, p, room) : -EAGAIN;

	if (n > 0)
		tls_input_done(&s->tls, (size_t)n);
	return n ? n : tls_feed_end(&s->tls);
}

/* Returns a piece of data, after at most *budget bytes of records. */
static ssize_t transport_secure_piece(
	struct transport *t, void *p, size_t n, size_t *budget)
{
	struct secure *s = t->side;
	struct str data;
	ssize_t got;
	int r;

	for (;;) {
		/* The peer may wait for output of the machine. */
		r = transport_secure_flush(t);
		if (r)
			return r > 0 ? -EAGAIN : r;
		r = tls_read(&s->tls, &data);
		if (r != TLS_WAIT)
			break;
		got = *budget ? transport_secure_pull(t) : -EAGAIN;
		if (got <= 0)
			return got;
		if (got < PULL_BYTES)
			got = PULL_BYTES;
		*budget -= (size_t)got < *budget ? (size_t)got : *budget;
	}
	if (transport_is_bypassed(s, r))
		return transport_plain_recv(t, p, n);
	if (r)
		return r == TLS_END ? 0 : r;
	n = n < data.n ? n : data.n;
	memcpy(p, data.p, n);
	tls_read_done(&s->tls, n);
	return (ssize_t)n;
}

static ssize_t transport_secure_recv(struct transport *t, void *p, size_t n)
{
	size_t budget = HTTP_TURN_BYTES;
	size_t at = 0;
	ssize_t got = 1;

	while (at < n && got > 0) {
		got = transport_secure_piece(t, (char *)p + at, n - at, &budget);
		if (got > 0)
			at += (size_t)got;
	}
	return at ? (ssize_t)at : got;
}

/* As tls_write; if the machine is full, flushes it first. */
static int transport_secure_write(
	struct transport *t, const char *p, size_t n, size_t *taken)
{
	struct secure *s = t->side;
	int r = tls_write(&s->tls, p, n, taken);

	if (r != TLS_WAIT)
		return r;
	r = transport_secure_flush(t);
	if (r == 0)
		r = tls_write(&s->tls, p, n, taken);
	return r > 0 ? -EAGAIN : r;
}

static ssize_t transport_secure_send(struct transport *t, const struct iovec *v, int v_n)
{
	size_t all = 0;

	for (int i = 0; i < v_n; i++) {
		const char *p = v[i].iov_base;
		size_t taken;

		for (size_t at = 0; at < v[i].iov_len; at += taken, all += taken) {
			int r = transport_secure_write(
				t, p + at, v[i].iov_len - at, &taken);

			if (r)
				return all ? (ssize_t)all : r;
		}
	}
	return (ssize_t)all;
}

static void transport_secure_end(struct transport *t)
{
	struct secure *s = t->side;

	if (s->state == SECURE_OPEN) {
		transport_set_state(s, SECURE_ENDING);
		tls_close(&s->tls);
	}
	transport_secure_flush(t);
}

static void transport_secure_close(struct transport *t)
{
	struct secure *s = t->side;

	/* RFC 9112 9.8: close_notify is sent even if there was no data. */
	transport_secure_end(t);
	tls_free(&s->tls);
	free(s);
	t->side = NULL;
	transport_plain_close(t);
}

static const struct transport_ops secure_ops = {
	.recv = transport_secure_recv,
	.send = transport_secure_send,
	.flush = transport_secure_flush,
	.pending = transport_secure_pending,
	.end = transport_secure_end,
	.close = transport_secure_close,
};

static struct secure *transport_secure_new(void)
{
	return calloc(1, sizeof(struct secure));
}

/* Makes t a transport over s. r is the result of starting the machine of s. */
static int transport_secure_begin(struct transport *t, int fd, struct secure *s, int r)
{
	if (r) {
		free(s);
		return r;
	}
	*t = (struct transport){.ops = &secure_ops, .fd = fd, .side = s};
	return 0;
}

int transport_tls(struct transport *t, int fd, const struct tls_credentials *server)
{
	struct secure *s = transport_secure_new();

	return s ? transport_secure_begin(
			   t, fd, s, tls_accept(&s->tls, server, clock_unix_s()))
		 : -ENOMEM;
}

int transport_tls_client(
	struct transport *t, int fd, const struct tls_trust *c, struct str host)
{
	struct secure *s = transport_secure_new();

	if (!s)
		return -ENOMEM;
	return transport_secure_begin(
		t, fd, s, tls_connect(&s->tls, c, host, clock_unix_s()));
}

const char *transport_tls_error(const struct transport *t)
{
	const struct secure *s = t->side;

	return tls_error_text(&s->tls);
}
