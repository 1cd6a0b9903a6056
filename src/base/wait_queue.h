/*
 * Callbacks for waiters that want to be called at each change of an object. A waiter is
 * embedded in its owner and zeroed except fn; a zeroed wait_queue has no waiters.
 *
 * During a wake, fn may add and remove waiters, its own and others. A waiter that is
 * removed is not called any more. A waiter that is added at the front is called by the
 * next wake, one that is added at the end perhaps by this one. All waiters stay in the
 * queue, so that fn can iterate over them. fn must not free the queue.
 */
#ifndef BASE_WAIT_QUEUE_H
#define BASE_WAIT_QUEUE_H

#include "base/list.h"

struct waiter {
	struct list node;
	void (*fn)(struct waiter *w);
};

struct wait_queue {
	struct list waiters;
	struct waiter *next; /* the waiter to be called next, during a wake */
};

/* Add a waiter: it is called after, or before, those that wait already. */
void wait_queue_append(struct wait_queue *q, struct waiter *w);
void wait_queue_prepend(struct wait_queue *q, struct waiter *w);
/* No effect on a waiter that is in no queue. */
void wait_queue_remove(struct wait_queue *q, struct waiter *w);
bool wait_queue_is_empty(const struct wait_queue *q);
/* Calls all waiters in order. */
void wait_queue_wake_all(struct wait_queue *q);

#endif
