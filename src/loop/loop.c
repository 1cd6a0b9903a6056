#include "loop/loop.h"

#include "base/clock.h"
#include "base/fd.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BATCH = 64,
	SIGNALS = 32,
};

struct handler {
	signal_fn *fn;
	void *arg;
};

struct loop {
	int ep;
	bool stop;
	bool in_batch;
	uint64_t batch; /* the number of the present batch, or of the last one */
	uint64_t now;
	uint64_t awake_until; /* us; 0: may sleep */

	struct timer *first; /* the root of the timers' heap */

	struct later *later;

	struct io signal_io;
	struct handler handlers[SIGNALS];
};

/* The only globals: a signal handler cannot find its loop in another way. */
static int signal_pipe[2] = {-1, -1};
static volatile sig_atomic_t signal_came[SIGNALS];

static void loop_on_signal(int signo)
{
	int saved = errno;

	signal_came[signo] = 1;
	/*
	 * If the pipe is full, it already holds a wake-up, which is all that the byte
	 * means.
	 */
	if (write(signal_pipe[1], "", 1) < 0)
		errno = saved;
	errno = saved;
}

static void loop_dispatch_signals(struct io *io, uint32_t events)
{
	struct loop *l = container_of(io, struct loop, signal_io);
	char wakeups[64];

	(void)events;
	while (read(io->fd, wakeups, sizeof(wakeups)) > 0)
		;
	for (int s = 1; s < SIGNALS; s++) {
		if (!signal_came[s])
			continue;
		/*
		 * Cleared before the handler runs: a signal that arrives later causes
		 * another wake-up.
		 */
		signal_came[s] = 0;
		if (l->handlers[s].fn)
			l->handlers[s].fn(l->handlers[s].arg, s);
	}
}

struct loop *loop_new(int *err)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l) {
		*err = -ENOMEM;
		return NULL;
	}
	l->signal_io.fd = -1;
	l->now = clock_ms();
	l->ep = epoll_create1(EPOLL_CLOEXEC);
	if (l->ep < 0) {
		*err = -errno;
		free(l);
		return NULL;
	}
	return l;
}

static void loop_run_deferred(struct loop *l)
{
	while (l->later) {
		struct later *d = l->later;

		l->later = d->next;
		d->fn(d);
	}
}

void loop_del(struct loop *l)
{
	if (!l)
		return;
	loop_run_deferred(l);
	for (int s = 1; s < SIGNALS; s++)
		if (l->handlers[s].fn)
			signal(s, s == SIGCHLD ? SIG_DFL : SIG_IGN);
	if (l->signal_io.fd >= 0) {
		fd_close(&signal_pipe[0]);
		fd_close(&signal_pipe[1]);
	}
	fd_close(&l->ep);
	free(l);
}

uint64_t loop_now(const struct loop *l)
{
	return l->now;
}

uint64_t loop_batch(const struct loop *l)
{
	return l->batch;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

int loop_add(struct loop *l, struct io *io, int fd, uint32_t events, io_fn *fn)
{
	struct epoll_event e = {.events = events, .data.ptr = io};

	if (epoll_ctl(l->ep, EPOLL_CTL_ADD, fd, &e) < 0)
		return -errno;
	*io = (struct io){.fd = fd, .events = events, .fn = fn, .batch = l->batch};
	return 0;
}

void loop_set_events(struct loop *l, struct io *io, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = io};
	int r;

	if (io->fd < 0 || io->events == events)
		return;
	io->events = events;
	/* EPOLL_CTL_MOD for a registered fd allocates no memory and cannot fail. */
	r = epoll_ctl(l->ep, EPOLL_CTL_MOD, io->fd, &e);
	assert(r == 0);
}

void loop_remove(struct loop *l, struct io *io)
{
	if (io->fd < 0)
		return;
	epoll_ctl(l->ep, EPOLL_CTL_DEL, io->fd, NULL);
	io->fd = -1;
}

void loop_close(struct loop *l, struct io *io)
{
	int fd = io->fd;

	loop_remove(l, io);
	fd_close(&fd);
}

/*
 * The timers form a pairing heap: a tree in which no child is due before its parent.
 * timer_set takes constant time, timer_cancel logarithmic time (amortized). The links are
 * in the timers, so that nothing allocates memory; nothing recurses.
 */

/* Makes t the value of *link, which is the heap's root or a link of another timer. */
static void loop_heap_link(struct timer **link, struct timer *t)
{
	*link = t;
	if (t)
		t->link = link;
}

/* Joins two trees without siblings; either can be NULL. */
static struct timer *loop_heap_meld(struct timer *a, struct timer *b)
{
	if (!a || !b)
		return a ? a : b;
	if (b->at < a->at) {
		struct timer *later = a;

		a = b;
		b = later;
	}
	loop_heap_link(&b->next, a->child);
	loop_heap_link(&a->child, b);
	a->next = NULL;
	return a;
}

/* Joins siblings: in pairs from left to right, then the pairs from right to left. */
static struct timer *loop_heap_meld_all(struct timer *siblings)
{
	struct timer *pairs = NULL, *root = NULL;

	while (siblings) {
		struct timer *a = siblings, *b = a->next, *pair;

		siblings = b ? b->next : NULL;
		pair = loop_heap_meld(a, b);
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs) {
		struct timer *pair = pairs;

		pairs = pair->next;
		pair->next = NULL;
		root = loop_heap_meld(root, pair);
	}
	return root;
}

void timer_set(struct loop *l, struct timer *t, uint64_t ms, timer_fn *fn)
{
	timer_cancel(l, t);
	*t = (struct timer){.at = clock_ms() + ms, .fn = fn};
	loop_heap_link(&l->first, loop_heap_meld(l->first, t));
}

void timer_cancel(struct loop *l, struct timer *t)
{
	struct timer *children;

	if (!t->link)
		return;
	children = loop_heap_meld_all(t->child);
	loop_heap_link(t->link, t->next);
	t->link = NULL;
	loop_heap_link(&l->first, loop_heap_meld(l->first, children));
}

bool timer_is_armed(const struct timer *t)
{
	return t->link != NULL;
}

static void loop_run_timers(struct loop *l)
{
	/* Timers that callbacks set for a later millisecond wait for the next batch. */
	uint64_t now = l->now;

	while (l->first && l->first->at <= now) {
		struct timer *t = l->first;

		timer_cancel(l, t);
		t->fn(t);
	}
}

static int loop_compute_timeout(const struct loop *l)
{
	uint64_t now = clock_ms();

	if (!l->first)
		return -1;
	if (l->first->at <= now)
		return 0;
	return l->first->at - now > 60000 ? 60000 : (int)(l->first->at - now);
}

void loop_busy_poll(struct loop *l, unsigned us)
{
	l->awake_until = us ? clock_us() + us : 0;
}

static int loop_wait_events(struct loop *l, struct epoll_event *batch)
{
	while (l->awake_until && loop_compute_timeout(l) != 0) {
		int n = epoll_wait(l->ep, batch, BATCH, 0);

		if (n != 0)
			return n;
		sched_yield();
		if (clock_us() >= l->awake_until)
			l->awake_until = 0;
	}
	return epoll_wait(l->ep, batch, BATCH, loop_compute_timeout(l));
}

int loop_run(struct loop *l)
{
	struct epoll_event batch[BATCH];

	while (!l->stop) {
		int n = loop_wait_events(l, batch);

		if (n < 0 && errno != EINTR)
			return -errno;
		l->now = clock_ms();
		l->in_batch = true;
		l->batch++;
		for (int i = 0; i < n; i++) {
			struct io *io = batch[i].data.ptr;

			/*
			 * An earlier callback may have removed the io, and added it
			 * again.
			 */
			if (io->fd >= 0 && io->batch != l->batch)
				io->fn(io, batch[i].events);
		}
		loop_run_timers(l);
		l->in_batch = false;
		loop_run_deferred(l);
	}
	l->stop = false;
	return 0;
}

int loop_handle_signal(struct loop *l, int signo, signal_fn *fn, void *arg)
{
	struct sigaction sa = {.sa_handler = loop_on_signal, .sa_flags = SA_RESTART};
	int r;

	assert(signo > 0 && signo < SIGNALS);
	if (l->signal_io.fd < 0) {
		r = fd_pipe(signal_pipe);
		if (r < 0)
			return r;
		r = loop_add(
			l, &l->signal_io, signal_pipe[0], EPOLLIN, loop_dispatch_signals);
		if (r < 0)
			return r;
	}
	l->handlers[signo] = (struct handler){.fn = fn, .arg = arg};
	sigfillset(&sa.sa_mask);
	return sigaction(signo, &sa, NULL) < 0 ? -errno : 0;
}

void loop_ignore_signal(int signo)
{
	signal(signo, SIG_IGN);
}

void loop_defer_free(struct loop *l, struct later *d, later_fn *fn)
{
	if (!l->in_batch) {
		fn(d);
		return;
	}
	*d = (struct later){.next = l->later, .fn = fn};
	l->later = d;
}
