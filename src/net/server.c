#include "net/server.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "net/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

/* The limits of one wake-up, and the pause without accept. */
enum {
	HTTP_BATCH_US = 2000,  /* all connections of a wake-up; then each has one reply */
	HTTP_ACCEPTS = 64,     /* connections accepted in one wake-up */
	HTTP_ACCEPT_US = 1000, /* these, and the requests that come with them */
	HTTP_PAUSE_MS = 100,   /* without accept, while the system has no space */
};

enum {
	SPARE_FD_MIN = 3, /* not a standard stream */
	WARN_MS = 60000,  /* between two lines of the same kind */
};

static unsigned server_choose(unsigned given, unsigned otherwise)
{
	return given ? given : otherwise;
}

static struct server_conf server_fill_conf(const struct server_conf *given)
{
	struct server_conf c = *given;

	c.conns_max = server_choose(c.conns_max, HTTP_CONNS_MAX);
	c.head_ms = server_choose(c.head_ms, HTTP_HEAD_MS);
	c.idle_ms = server_choose(c.idle_ms, HTTP_IDLE_MS);
	c.body_ms = server_choose(c.body_ms, HTTP_BODY_MS);
	c.body_rate = server_choose(c.body_rate, HTTP_BODY_RATE);
	c.stall_ms = server_choose(c.stall_ms, HTTP_STALL_MS);
	c.wait_ms = server_choose(c.wait_ms, HTTP_WAIT_MS);
	c.linger_ms = server_choose(c.linger_ms, HTTP_LINGER_MS);
	c.young_ms = server_choose(c.young_ms, HTTP_YOUNG_MS);
	c.turn_us = server_choose(c.turn_us, HTTP_TURN_US);
	return c;
}

struct server *server_new(struct loop *l, const struct server_conf *conf, int *err)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s) {
		*err = -ENOMEM;
		return NULL;
	}
	s->loop = l;
	s->spare_fd = -1;
	s->conf = server_fill_conf(conf);
	s->ms[C_IDLE] = s->conf.idle_ms;
	s->ms[C_HEAD] = s->conf.head_ms;
	s->ms[C_BODY] =
		s->conf.body_ms < s->conf.stall_ms ? s->conf.body_ms : s->conf.stall_ms;
	s->ms[C_FULL] = s->conf.wait_ms;
	s->ms[C_WAIT] = s->conf.wait_ms;
	s->ms[C_SEND] = s->conf.stall_ms;
	s->ms[C_PART] = s->conf.stall_ms;
	s->ms[C_OWED] = s->conf.wait_ms;
	s->ms[C_LINGER] = s->conf.linger_ms;
	return s;
}

unsigned server_count_conns(const struct server *s)
{
	return s->conns_n;
}

struct turn conn_begin_turn(struct server *s)
{
	unsigned us = s->conf.turn_us;
	uint64_t now = clock_us(), until = now + us;

	if (s->batch != loop_batch(s->loop)) {
		s->batch = loop_batch(s->loop);
		s->batch_until = now + (us > HTTP_BATCH_US ? us : HTTP_BATCH_US);
	}
	if (until > s->batch_until)
		until = s->batch_until;
	return (struct turn){
		.bytes = HTTP_TURN_BYTES, .replies = HTTP_TURN_REPLIES, .until = until};
}

static void server_notify_drained(struct server *s)
{
	if (s->conf.ops->drained)
		s->conf.ops->drained(s->conf.arg);
}

void server_on_conn_end(struct server *s)
{
	if (--s->conns_n)
		return;
	exchange_free_spares(s);
	if (s->stopping)
		server_notify_drained(s);
}

static void server_close_listeners(struct server *s)
{
	for (unsigned i = 0; i < s->listeners_n; i++) {
		loop_remove(s->loop, &s->listeners[i].io);
		fd_close(&s->listeners[i].fd);
	}
	s->listeners_n = 0;
	timer_cancel(s->loop, &s->pause);
	fd_close(&s->spare_fd);
}

void server_stop(struct server *s)
{
	struct conn *next;

	if (s->stopping)
		return;
	server_close_listeners(s);
	for (struct conn *c = s->first; c; c = next) {
		next = c->next;
		if (c->state == C_IDLE || (c->state == C_HEAD && !c->x))
			conn_drop(c);
	}
	s->stopping = true;
	if (s->conns_n == 0)
		server_notify_drained(s);
}

void server_del(struct server *s)
{
	if (!s)
		return;
	server_close_listeners(s);
	s->stopping = false; /* drained is for server_stop only */
	while (s->first)
		conn_drop(s->first);
	exchange_free_spares(s);
	free(s);
}

static void server_watch_listeners(struct server *s, uint32_t events)
{
	for (unsigned i = 0; i < s->listeners_n; i++)
		loop_set_events(s->loop, &s->listeners[i].io, events);
}

static void server_on_pause_end(struct timer *t)
{
	struct server *s = container_of(t, struct server, pause);

	if (s->spare_fd < 0 && s->listeners_n)
		s->spare_fd = fd_dup(s->listeners[0].fd, SPARE_FD_MIN);
	server_watch_listeners(s, EPOLLIN);
}

/* New peers wait in the backlog for a moment, so that the loop does not spin. */
static void server_pause_accepts(struct server *s)
{
	timer_set(s->loop, &s->pause, HTTP_PAUSE_MS, server_on_pause_end);
	server_watch_listeners(s, 0);
}

/* Closes the connection whose end costs least. False if all are in use. */
static bool server_evict(struct server *s)
{
	struct conn *victim = server_find_victim(s);

	if (victim)
		conn_drop(victim);
	return victim;
}

/* Sends the reason to the peer of fd, without waiting, and closes fd. */
static void server_send_busy(int fd)
{
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\n"
				   "content-type: application/json\r\n"
				   "retry-after: 1\r\n"
				   "content-length: 34\r\nconnection: close\r\n\r\n"
				   "{\"detail\":\"Too many connections.\"}";
	struct iovec v = {
		.iov_base = (void *)(uintptr_t)busy, .iov_len = sizeof(busy) - 1};
	struct transport t;
	char unread[4096];

	transport_plain(&t, fd);
	transport_send(&t, &v, 1);
	/* Closing with unread input would discard the answer. */
	transport_recv(&t, unread, sizeof(unread));
	transport_close(&t);
}

void server_warn(struct server *s, enum trouble what, const char *why)
{
	static const char *const words[SERVER_WARNINGS] = {
		[SERVER_WARN_FULL] = "connections are refused",
		[SERVER_WARN_TLS] = "a TLS connection failed",
		[SERVER_WARN_KEY] =
			"requests with a wrong session key are answered with a delay",
	};
	uint64_t now = loop_now(s->loop);

	if (s->warned[what] && now - s->warned[what] < WARN_MS)
		return;
	s->warned[what] = now;
	log_warn("%s: %s", words[what], why);
}

/* A TLS peer receives no answer, because the answer would need a handshake. */
static void server_refuse(struct listener *l, int fd, const char *why)
{
	server_warn(l->server, SERVER_WARN_FULL, why);
	if (l->tls)
		fd_close(&fd);
	else
		server_send_busy(fd);
}

/* The process has no fd left: gives up the spare fd to accept and refuse a peer. */
static void server_refuse_next(struct listener *l)
{
	struct server *s = l->server;
	int fd;

	fd_close(&s->spare_fd);
	fd = fd_accept(l->fd);
	if (fd >= 0)
		server_refuse(l, fd, "the server has no free file descriptor");
	s->spare_fd = fd_dup(l->fd, SPARE_FD_MIN);
	if (s->spare_fd < 0)
		server_pause_accepts(s);
}

/* Whether a peer waits. accept reports a lack of fds even if no peer waits. */
static bool server_is_readable(const struct listener *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 && p.revents & POLLIN;
}

/*
 * 0: a connection was closed, so that accept can have its fd; 1: nothing is left to do.
 */
static int server_free_fd(struct listener *l)
{
	if (!server_is_readable(l))
		return 1;
	if (server_evict(l->server))
		return 0;
	server_refuse_next(l);
	return 1;
}

/* 0: a peer was accepted, or refused; or the -errno of accept. */
static int server_accept(struct listener *l)
{
	struct server *s = l->server;
	struct conn *c;
	int fd = fd_accept(l->fd), r;

	if (fd < 0)
		return fd;
	if (s->conns_n >= s->conf.conns_max && !server_evict(s)) {
		server_refuse(l, fd,
			"the maximum number of connections is reached, and all have a "
			"request");
		return 0;
	}
	r = conn_open(s, fd, l->tls, &c);
	/* A peer that waited to be accepted has usually sent its request by now. */
	if (r == 0)
		conn_start(c);
	return r;
}

int server_adopt(struct server *s, int fd, bool authorized)
{
	struct conn *c;
	int r;

	if (s->stopping || (s->conns_n >= s->conf.conns_max && !server_evict(s))) {
		fd_close(&fd);
		return ERR_LIMIT;
	}
	r = conn_open(s, fd, NULL, &c);
	if (!r)
		c->authorized = authorized;
	return r;
}

static void server_on_listener(struct io *io, uint32_t events)
{
	struct listener *l = container_of(io, struct listener, io);
	uint64_t until = clock_us() + HTTP_ACCEPT_US;
	int r = 0;

	(void)events;
	for (int i = 0; i < HTTP_ACCEPTS && r == 0 && l->fd >= 0; i++) {
		r = server_accept(l);
		if (r == -EMFILE || r == -ENFILE)
			r = server_free_fd(l);
		if (clock_us() >= until)
			return;
	}
	/* Out of memory, or the listener has failed and stays readable. */
	if (r < 0 && r != -EAGAIN)
		server_pause_accepts(l->server);
}

int server_listen(struct server *s, int fd, const struct tls_credentials *tls)
{
	struct listener *l = &s->listeners[s->listeners_n];
	int r;

	if (s->listeners_n == HTTP_LISTENERS_MAX || s->stopping)
		return ERR_LIMIT;
	r = loop_add(s->loop, &l->io, fd, EPOLLIN, server_on_listener);
	if (r)
		return r;
	l->fd = fd;
	l->server = s;
	l->tls = tls;
	s->listeners_n++;
	if (s->spare_fd < 0)
		s->spare_fd = fd_dup(fd, SPARE_FD_MIN);
	return 0;
}
