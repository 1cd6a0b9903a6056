#include "loop/loop.h"

#include "base/clock.h"
#include "base/fd.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct loop *loop;

static void begin(void)
{
	int err = 0;

	loop = loop_new(&err);
	if (!loop) {
		printf("Bail out! no loop: %s\n", err_text(err));
		exit(1);
	}
}

static void run(void)
{
	is_int(loop_run(loop), 0, "the loop ran");
}

static void on_last(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

static void run_for(uint64_t ms)
{
	struct timer last = {0};

	timer_set(loop, &last, ms, on_last);
	run();
}

/* Events. */

struct end {
	struct io io;
	struct later later;
	int fd;
	int calls;
	uint32_t events;
};

static struct end a, b, extra;
static int other; /* the far end of extra */
static int freed_n, freed_early;

static void pairs(int *far_a, int *far_b)
{
	int one[2], two[2];

	if (fd_socketpair(SOCK_STREAM, one) || fd_socketpair(SOCK_STREAM, two))
		abort();
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	memset(&extra, 0, sizeof(extra));
	a.fd = one[0];
	b.fd = two[0];
	extra.fd = -1;
	extra.io.fd = -1;
	*far_a = one[1];
	*far_b = two[1];
}

static void watch(struct end *e, uint32_t events, io_fn *fn)
{
	if (loop_add(loop, &e->io, e->fd, events, fn))
		abort();
}

static void poke(int fd)
{
	if (write(fd, "x", 1) != 1)
		abort();
}

static void note(struct io *io, uint32_t events)
{
	struct end *e = container_of(io, struct end, io);

	e->calls++;
	e->events = events;
}

static void finish(int far_a, int far_b)
{
	loop_remove(loop, &a.io);
	loop_remove(loop, &b.io);
	loop_remove(loop, &extra.io);
	fd_close(&a.fd);
	fd_close(&b.fd);
	fd_close(&extra.fd);
	fd_close(&far_a);
	fd_close(&far_b);
	loop_del(loop);
}

static void test_interest(void)
{
	int far_a, far_b;

	begin();
	pairs(&far_a, &far_b);
	watch(&a, EPOLLIN, note);
	watch(&b, EPOLLIN, note);
	run_for(0);
	is_int(a.calls + b.calls, 0, "nothing to report");
	poke(far_a);
	run_for(0);
	ok(a.calls > 0 && a.events == EPOLLIN && !b.calls,
		"input is reported to its owner");
	a.calls = 0;
	loop_set_events(loop, &a.io, 0);
	run_for(0);
	is_int(a.calls, 0, "not when it is not wanted");
	loop_set_events(loop, &a.io, EPOLLIN | EPOLLOUT);
	loop_set_events(loop, &a.io, EPOLLIN | EPOLLOUT);
	run_for(0);
	ok(a.calls > 0 && a.events == (EPOLLIN | EPOLLOUT), "both are");
	loop_set_events(loop, &b.io, 0);
	fd_close(&far_b);
	run_for(0);
	ok(b.events & EPOLLHUP, "a hang-up comes unasked");
	a.calls = 0;
	loop_remove(loop, &a.io);
	loop_remove(loop, &a.io);
	loop_set_events(loop, &a.io, EPOLLIN);
	is_int(a.io.fd, -1, "removed");
	run_for(0);
	is_int(a.calls, 0, "nothing comes after a removal");
	is_int(loop_add(loop, &a.io, -1, EPOLLIN, note), -EBADF, "a bad fd");
	is_int(a.io.fd, -1, "leaves the io as it was");
	finish(far_a, far_b);
}

static void test_close(void)
{
	struct io io = {.fd = -1};
	int pair[2], fd;

	begin();
	if (fd_pipe(pair) < 0)
		exit(1);
	fd = pair[0];
	is_int(loop_add(loop, &io, fd, EPOLLIN, NULL), 0, "an end of a pipe");
	loop_close(loop, &io);
	is_int(io.fd, -1, "is not watched");
	ok(fcntl(fd, F_GETFD) < 0 && errno == EBADF, "and closed");
	loop_close(loop, &io);
	is_int(io.fd, -1, "what watches nothing may be closed");
	loop_del(loop);
	fd_close(&pair[1]);
}

/* Whoever comes first in the batch removes the other. */
static void remove_other(struct io *io, uint32_t events)
{
	note(io, events);
	loop_remove(loop, io == &a.io ? &b.io : &a.io);
	loop_stop(loop);
}

static void test_removal_in_batch(void)
{
	int far_a, far_b;

	begin();
	pairs(&far_a, &far_b);
	watch(&a, EPOLLIN, remove_other);
	watch(&b, EPOLLIN, remove_other);
	poke(far_a);
	poke(far_b);
	run();
	is_int(a.calls + b.calls, 1, "the removed one is not called in the same batch");
	finish(far_a, far_b);
}

static void on_extra(struct io *io, uint32_t events)
{
	note(io, events);
	loop_stop(loop);
}

/* Closes the other's fd, and a new owner gets its number within the batch. */
static void replace_other(struct io *io, uint32_t events)
{
	struct end *dead = io == &a.io ? &b : &a;
	int number = dead->fd, pair[2];

	note(io, events);
	loop_remove(loop, io);
	loop_remove(loop, &dead->io);
	fd_close(&dead->fd);
	if (fd_socketpair(SOCK_STREAM, pair))
		abort();
	ok(pair[0] == number || pair[1] == number, "the fd is used again");
	extra.fd = pair[0] == number ? pair[0] : pair[1];
	other = pair[0] == number ? pair[1] : pair[0];
	watch(&extra, EPOLLIN, on_extra);
}

/* The other's io gets another fd, with nothing to read, within the batch. */
static void refill_other(struct io *io, uint32_t events)
{
	struct end *again = io == &a.io ? &b : &a;
	int pair[2];

	note(io, events);
	loop_remove(loop, io);
	loop_remove(loop, &again->io);
	fd_close(&again->fd);
	if (fd_socketpair(SOCK_STREAM, pair))
		abort();
	again->fd = pair[0];
	other = pair[1];
	watch(again, EPOLLIN, on_extra);
}

static void test_io_reuse(void)
{
	int far_a, far_b;

	begin();
	pairs(&far_a, &far_b);
	watch(&a, EPOLLIN, refill_other);
	watch(&b, EPOLLIN, refill_other);
	poke(far_a);
	poke(far_b);
	run_for(0);
	is_int(a.calls + b.calls, 1, "an io with another fd does not get the old event");
	poke(other);
	run();
	is_int(a.calls + b.calls, 2, "but the new one's");
	fd_close(&other);
	finish(far_a, far_b);
}

static void test_fd_reuse(void)
{
	int far_a, far_b;

	begin();
	pairs(&far_a, &far_b);
	watch(&a, EPOLLIN, replace_other);
	watch(&b, EPOLLIN, replace_other);
	poke(far_a);
	poke(far_b);
	run_for(0);
	is_int(a.calls + b.calls, 1, "one was called");
	is_int(extra.calls, 0, "the new owner does not get the old event");
	poke(other);
	run();
	is_int(extra.calls, 1, "but its own");
	fd_close(&other);
	finish(far_a, far_b);
}

/* Death. */

static void on_free(struct later *l)
{
	struct end *e = container_of(l, struct end, later);

	freed_n++;
	/* Poisoned: an event that still comes for it would be seen. */
	e->io.fn = NULL;
}

static void kill_both(struct io *io, uint32_t events)
{
	note(io, events);
	loop_remove(loop, &a.io);
	loop_remove(loop, &b.io);
	loop_defer_free(loop, &a.later, on_free);
	loop_defer_free(loop, &b.later, on_free);
	freed_early = freed_n;
	loop_stop(loop);
}

static void test_free_later(void)
{
	int far_a, far_b;

	begin();
	pairs(&far_a, &far_b);
	freed_n = 0;
	watch(&a, EPOLLIN, kill_both);
	watch(&b, EPOLLIN, kill_both);
	poke(far_a);
	poke(far_b);
	run();
	is_int(a.calls + b.calls, 1, "the batch went on without the dead");
	is_int(freed_early, 0, "they were there to its end");
	is_int(freed_n, 2, "and freed then");
	loop_defer_free(loop, &extra.later, on_free);
	is_int(freed_n, 3, "outside of a batch at once");
	finish(far_a, far_b);
}

static void free_in_timer(struct timer *t)
{
	(void)t;
	loop_defer_free(loop, &a.later, on_free);
	freed_early = freed_n;
	loop_stop(loop);
}

static void test_free_in_timer(void)
{
	struct timer t = {0};

	begin();
	freed_n = 0;
	timer_set(loop, &t, 0, free_in_timer);
	run();
	is_int(freed_early, 0, "timers are part of the batch");
	is_int(freed_n, 1, "freed after it");
	loop_del(loop);
	loop_del(NULL);
}

/* Signals and stopping. */

static int got_usr1, got_usr2;

static void on_signal(void *arg, int signo)
{
	*(int *)arg += 1;
	if (signo == SIGUSR2)
		loop_stop(loop);
}

static void test_signals(void)
{
	for (int round = 0; round < 2; round++) {
		begin();
		got_usr1 = got_usr2 = 0;
		is_int(loop_handle_signal(loop, SIGUSR1, on_signal, &got_usr1), 0,
			"one signal");
		is_int(loop_handle_signal(loop, SIGUSR2, on_signal, &got_usr2), 0,
			"another");
		for (int i = 0; i < 100; i++)
			raise(SIGUSR1);
		is_int(got_usr1, 0, "nothing runs in signal context");
		raise(SIGUSR2);
		run();
		ok(got_usr1 >= 1 && got_usr1 <= 100, "signals may coalesce, not vanish");
		is_int(got_usr2, 1, "each finds its handler");
		loop_del(loop);
		raise(SIGUSR1);
		ok(true, "one that comes late does nothing");
	}
}

/* More signals than the pipe holds: the handler does not block, and none is lost. */
static void test_signal_flood(void)
{
	begin();
	got_usr1 = got_usr2 = 0;
	if (loop_handle_signal(loop, SIGUSR1, on_signal, &got_usr1) ||
		loop_handle_signal(loop, SIGUSR2, on_signal, &got_usr2))
		abort();
	for (int i = 0; i < 70000; i++)
		raise(SIGUSR1);
	raise(SIGUSR2);
	run();
	ok(got_usr1 >= 1, "what filled the pipe is there");
	is_int(got_usr2, 1, "and what found it full");
	loop_del(loop);
}

static void test_stop(void)
{
	struct timer t = {0};

	begin();
	loop_stop(loop);
	run();
	ok(true, "a stop before the run ends it at once");
	timer_set(loop, &t, 0, on_last);
	run();
	ok(!timer_is_armed(&t), "and counts once");
	loop_del(loop);
}

/* How often this process has slept while the loop waited for 20 deadlines. */
static long naps(void)
{
	struct rusage before, after;

	if (getrusage(RUSAGE_SELF, &before) < 0)
		abort();
	for (int i = 0; i < 20; i++)
		run_for(1);
	if (getrusage(RUSAGE_SELF, &after) < 0)
		abort();
	return after.ru_nvcsw - before.ru_nvcsw;
}

static void test_awake(void)
{
	int far_a, far_b;

	begin();
	pairs(&far_a, &far_b);
	watch(&a, EPOLLIN, note);
	loop_busy_poll(loop, 3600u * 1000 * 1000);
	ok(naps() < 10, "awake, it does not sleep");
	poke(far_a);
	run_for(0);
	ok(a.calls > 0, "and sees events");
	loop_set_events(loop, &a.io, 0);
	loop_busy_poll(loop, 1);
	ok(naps() >= 10, "then it sleeps again");
	finish(far_a, far_b);
}

int main(void)
{
	test_awake();
	test_interest();
	test_close();
	test_removal_in_batch();
	test_io_reuse();
	test_fd_reuse();
	test_free_later();
	test_free_in_timer();
	test_signals();
	test_signal_flood();
	test_stop();
	return done_testing();
}
