#include "net/server.h"

#include "base/fd.h"
#include "base/log.h"
#include "net/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
	SPARE_FD_MIN = 3, /* never one of the standard streams */
	WARN_MS = 60000,  /* one line a minute about the same trouble */
};

static unsigned pick(unsigned given, unsigned otherwise)
{
	return given ? given : otherwise;
}

static struct server_conf complete(const struct server_conf *given)
{
	struct server_conf c = *given;

	c.conns_max = pick(c.conns_max, HTTP_CONNS_MAX);
	c.head_ms = pick(c.head_ms, HTTP_HEAD_MS);
	c.idle_ms = pick(c.idle_ms, HTTP_IDLE_MS);
	c.body_ms = pick(c.body_ms, HTTP_BODY_MS);
	c.body_rate = pick(c.body_rate, HTTP_BODY_RATE);
	c.stall_ms = pick(c.stall_ms, HTTP_STALL_MS);
	c.wait_ms = pick(c.wait_ms, HTTP_WAIT_MS);
	c.linger_ms = pick(c.linger_ms, HTTP_LINGER_MS);
	c.young_ms = pick(c.young_ms, HTTP_YOUNG_MS);
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
	s->conf = complete(conf);
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

unsigned server_conns(const struct server *s)
{
	return s->conns_n;
}

static void drained(struct server *s)
{
	if (s->conf.ops->drained)
		s->conf.ops->drained(s->conf.arg);
}

void server_conn_ended(struct server *s)
{
	if (--s->conns_n)
		return;
	exchange_free_spares(s);
	if (s->stopping)
		drained(s);
}

static void close_listeners(struct server *s)
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
	close_listeners(s);
	for (struct conn *c = s->first; c; c = next) {
		next = c->next;
		if (c->state == C_IDLE || (c->state == C_HEAD && !c->x))
			conn_drop(c);
	}
	s->stopping = true;
	if (s->conns_n == 0)
		drained(s);
}

void server_del(struct server *s)
{
	if (!s)
		return;
	close_listeners(s);
	s->stopping = false; /* nobody is told of the end that he has ordered */
	while (s->first)
		conn_drop(s->first);
	exchange_free_spares(s);
	free(s);
}

static void want_accepts(struct server *s, uint32_t events)
{
	for (unsigned i = 0; i < s->listeners_n; i++)
		loop_want(s->loop, &s->listeners[i].io, events);
}

static void on_pause_end(struct timer *t)
{
	struct server *s = container_of(t, struct server, pause);

	if (s->spare_fd < 0 && s->listeners_n)
		s->spare_fd = fd_dup(s->listeners[0].fd, SPARE_FD_MIN);
	want_accepts(s, EPOLLIN);
}

/* New peers wait in the backlog for a moment instead of spinning the loop. */
static void pause_accepts(struct server *s)
{
	if (timer_set(s->loop, &s->pause, HTTP_PAUSE_MS, on_pause_end) == 0)
		want_accepts(s, 0);
}

/* Whether c may be closed so that another peer gets its place. */
static bool is_cheap(const struct conn *c)
{
	if (c->rank == RANK_TRUSTED)
		return c->state == C_IDLE;
	return c->state == C_IDLE || c->state == C_HEAD || c->state == C_BODY ||
		c->state == C_LINGER;
}

/*
 * Closes the oldest connection of those with the least to lose. 0; 1 when each of
 * them is too young to tell a slow peer from a good one; ERR_LIMIT when there is none.
 */
static int make_room(struct server *s)
{
	struct conn *worst = NULL;

	for (struct conn *c = s->first; c; c = c->next)
		if (is_cheap(c) && (!worst || c->rank < worst->rank))
			worst = c;
	if (!worst)
		return ERR_LIMIT;
	if (loop_now(s->loop) - worst->born < s->conf.young_ms)
		return 1;
	conn_drop(worst);
	return 0;
}

/* Tells the peer of fd why, as far as it goes without waiting, and closes fd. */
static void turn_away(int fd)
{
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\n"
				   "content-type: application/json\r\n"
				   "content-length: 34\r\nconnection: close\r\n\r\n"
				   "{\"detail\":\"Too many connections.\"}";
	struct iovec v = {
		.iov_base = (void *)(uintptr_t)busy, .iov_len = sizeof(busy) - 1};
	struct transport t;
	char unread[4096];

	transport_plain(&t, fd);
	transport_send(&t, &v, 1);
	/* Closing with unread input would take the words back. */
	transport_recv(&t, unread, sizeof(unread));
	transport_close(&t);
}

void server_warn(struct server *s, enum trouble what, const char *why)
{
	static const char *const words[TROUBLES] = {
		[TROUBLE_FULL] = "connections are turned away",
		[TROUBLE_TLS] = "a TLS connection failed",
	};
	uint64_t now = loop_now(s->loop);

	if (s->warned[what] && now - s->warned[what] < WARN_MS)
		return;
	s->warned[what] = now;
	log_warn("%s: %s", words[what], why);
}

/* The process has no fd left: the spare one serves to accept and refuse. */
static void refuse_one(struct listener *l, int err)
{
	struct server *s = l->server;
	int fd;

	server_warn(s, TROUBLE_FULL,
		err == ERR_LIMIT ? "all are busy" : "out of file descriptors");
	fd_close(&s->spare_fd);
	fd = fd_accept(l->fd);
	/* Words would have to wait for a handshake. */
	if (fd >= 0 && l->tls)
		fd_close(&fd);
	else if (fd >= 0)
		turn_away(fd);
	s->spare_fd = fd_dup(l->fd, SPARE_FD_MIN);
	if (s->spare_fd < 0)
		pause_accepts(s);
}

/* Somebody waits who cannot be accepted. 0: now he can; 1: not in this wake-up. */
static int on_full(struct listener *l, int err)
{
	int r = make_room(l->server);

	if (r > 0)
		pause_accepts(l->server);
	else if (r < 0)
		refuse_one(l, err);
	return r != 0;
}

static int accept_one(struct listener *l)
{
	struct server *s = l->server;
	int fd = s->conns_n < s->conf.conns_max ? fd_accept(l->fd) : ERR_LIMIT;

	return fd < 0 ? fd : conn_open(s, fd, l->tls);
}

int server_take(struct server *s, int fd, bool authorized)
{
	int r;

	if (s->conns_n >= s->conf.conns_max || s->stopping) {
		fd_close(&fd);
		return ERR_LIMIT;
	}
	r = conn_open(s, fd, NULL);
	if (!r)
		s->last->authorized = authorized;
	return r;
}

static void on_listener(struct io *io, uint32_t events)
{
	struct listener *l = container_of(io, struct listener, io);

	(void)events;
	for (int i = 0; i < HTTP_ACCEPTS; i++) {
		int r = accept_one(l);

		if (r == 0)
			continue;
		/*
		 * That somebody waits is sure for the first only: accept looks for an
		 * fd before it looks for a peer.
		 */
		if (r == ERR_LIMIT || r == -EMFILE || r == -ENFILE) {
			if (i > 0 || on_full(l, r))
				return;
			continue;
		}
		/* Out of memory, or a listener that is broken and stays readable. */
		if (r != -EAGAIN)
			pause_accepts(l->server);
		return;
	}
}

int server_listen(struct server *s, int fd, const struct tls_credentials *tls)
{
	struct listener *l = &s->listeners[s->listeners_n];
	int r;

	if (s->listeners_n == HTTP_LISTENERS_MAX || s->stopping)
		return ERR_LIMIT;
	r = loop_add(s->loop, &l->io, fd, EPOLLIN, on_listener);
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
