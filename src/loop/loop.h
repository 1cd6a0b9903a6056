/*
 * The event loop: level-triggered epoll, a heap of absolute deadlines, signals.
 *
 * One thread. A callback uses at most 64 KiB or about 1 ms, then returns.
 * Objects that own a struct io are freed by loop_free_later, after the batch of
 * events in which they died. What is added inside a batch gets none of its events:
 * they are about what the io or the fd was before.
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

/* A deadline; embedded in its owner. Zeroed is a valid, unarmed timer. */
struct timer {
	uint64_t at; /* monotonic ms */
	size_t slot; /* heap position plus one; 0: not armed */
	timer_fn *fn;
};

/* A death to come; embedded in the object that dies. */
struct later {
	struct later *next;
	later_fn *fn;
};

/* The object of the given type whose member ptr points to. */
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

struct loop *loop_new(int *err) MUST_USE;
/*
 * Runs what loop_free_later left, closes the loop's own fds, never the io's. Signals
 * that it delivered are ignored from here on: one that comes late changes nothing.
 * Children can be waited for as ever.
 */
void loop_del(struct loop *l);

/* Runs until loop_stop, or returns -errno if waiting itself fails. */
int loop_run(struct loop *l) MUST_USE;
/* Ends loop_run after the present batch; called before it, makes it return at once. */
void loop_stop(struct loop *l);
/*
 * Looks for events without sleeping for the next us microseconds, counted from now; 0
 * ends that. For what is expected so soon that to wake a processor up would take as
 * long. Whoever else can run on this processor comes first.
 */
void loop_stay_awake(struct loop *l, unsigned us);
/* The time at which the present batch was woken, monotonic ms. */
uint64_t loop_now(const struct loop *l);
/* The number of the present batch of events: another one for each wake-up. */
uint64_t loop_batch(const struct loop *l);

/* Starts watching fd. io stays the caller's and must not move. */
int loop_add(struct loop *l, struct io *io, int fd, uint32_t events, io_fn *fn) MUST_USE;
/* Changes the interest; cheap when nothing changes. */
void loop_want(struct loop *l, struct io *io, uint32_t events);
/* Stops watching and sets io->fd to -1; the fd itself stays open. */
void loop_remove(struct loop *l, struct io *io);
/* The same, and closes the fd; legal where io watches nothing. */
void loop_close(struct loop *l, struct io *io);

/* Arms or re-arms t to fire once, ms from now. -ENOMEM leaves it as it was. */
int timer_set(struct loop *l, struct timer *t, uint64_t ms, timer_fn *fn) MUST_USE;
void timer_cancel(struct loop *l, struct timer *t);

/*
 * Delivers signo through a self-pipe to fn, outside of signal context. One
 * handler per signal. Signals coalesce: a handler must look for all its causes.
 */
int loop_signal(struct loop *l, int signo, signal_fn *fn, void *arg) MUST_USE;

/* Lets signo do nothing; children get its default back. */
void loop_ignore(int signo);

/*
 * Calls fn(d) after the present batch of events, or at once outside one; fn
 * frees the object that d is a part of. Once per object.
 */
void loop_free_later(struct loop *l, struct later *d, later_fn *fn);

#endif
