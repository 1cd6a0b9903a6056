/*
 * The event loop: level-triggered epoll, a heap of absolute deadlines, signals.
 *
 * It has a single thread. A callback uses at most 64 KiB or about 1 ms, then returns.
 * Objects that own a struct io are freed by loop_defer_free, after the batch of events in
 * which they ended. An io added inside a batch gets none of the events of this batch:
 * they belong to an earlier use of the io or the fd.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct io;
struct timer;
struct later;
struct loop;

typedef void io_fn(struct io *io, uint32_t events);
typedef void timer_fn(struct timer *t);
typedef void signal_fn(void *arg, int signo);
typedef void later_fn(struct later *l);

/* Interest in one fd; embedded in its owner. events are EPOLLIN and the like. */
struct io {
	int fd; /* -1: not in the loop */
	uint32_t events;
	io_fn *fn;
	uint64_t batch; /* in which it was added */
};

/*
 * A deadline; embedded in its owner. Zeroed is a valid, unarmed timer. An armed timer is
 * a node of the loop's heap: it must not move, and is cancelled before its owner ends.
 */
struct timer {
	uint64_t at; /* monotonic ms */
	timer_fn *fn;
	struct timer *child; /* the first one */
	struct timer *next;  /* sibling */
	struct timer **link; /* the pointer to this timer; NULL: not armed */
};

/* A pending free; embedded in the object to be freed. */
struct later {
	struct later *next;
	later_fn *fn;
};

/* The object of the given type whose member ptr points to. */
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

struct loop *loop_new(int *err) MUST_USE;
/*
 * Runs the pending calls of loop_defer_free and closes the loop's own fds, never those of
 * an io. Signals that the loop delivered are ignored from here on, so that a late one has
 * no effect. Children can still be waited for.
 */
void loop_del(struct loop *l);

/* Runs until loop_stop, or returns -errno if waiting itself fails. */
int loop_run(struct loop *l) MUST_USE;
/* Ends loop_run after the present batch; called before it, makes it return at once. */
void loop_stop(struct loop *l);
/*
 * Polls for events without sleeping for the next us microseconds, counted from now; 0
 * ends that. For an event expected sooner than a sleeping processor would wake up.
 * Between polls, other runnable threads on this processor run first.
 */
void loop_busy_poll(struct loop *l, unsigned us);
/* The time of the wake-up of the present batch, monotonic ms. */
uint64_t loop_now(const struct loop *l);
/* The number of the present batch of events; each wake-up has a new number. */
uint64_t loop_batch(const struct loop *l);

/* Starts watching fd. io stays the caller's and must not move. */
int loop_add(struct loop *l, struct io *io, int fd, uint32_t events, io_fn *fn) MUST_USE;
/* Changes the interest; cheap when nothing changes. */
void loop_set_events(struct loop *l, struct io *io, uint32_t events);
/* Stops watching and sets io->fd to -1; the fd itself stays open. */
void loop_remove(struct loop *l, struct io *io);
/* As loop_remove, and closes the fd; legal when io watches nothing. */
void loop_close(struct loop *l, struct io *io);

/* Arms or re-arms t to fire once, ms from now. It allocates nothing and cannot fail. */
void timer_set(struct loop *l, struct timer *t, uint64_t ms, timer_fn *fn);
/* Legal when t is not armed. */
void timer_cancel(struct loop *l, struct timer *t);
bool timer_is_armed(const struct timer *t);

/*
 * Delivers signo through a self-pipe to fn, outside of signal context. A signal has one
 * handler. Signals coalesce: a handler must check all possible causes.
 */
int loop_handle_signal(struct loop *l, int signo, signal_fn *fn, void *arg) MUST_USE;

/* Ignores signo; children start with its default disposition. */
void loop_ignore_signal(int signo);

/*
 * Calls fn(d) after the present batch of events, or at once outside a batch; fn frees the
 * object that d is a part of. To be called once per object.
 */
void loop_defer_free(struct loop *l, struct later *d, later_fn *fn);

#endif
