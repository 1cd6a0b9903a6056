#include "base/wait_queue.h"

void wait_queue_append(struct wait_queue *q, struct waiter *w)
{
	list_append(&q->waiters, &w->node);
}

void wait_queue_prepend(struct wait_queue *q, struct waiter *w)
{
	list_prepend(&q->waiters, &w->node);
}

static struct waiter *wait_queue_get_next(const struct wait_queue *q, struct waiter *w)
{
	return LIST_NEXT(&q->waiters, w, struct waiter, node);
}

void wait_queue_remove(struct wait_queue *q, struct waiter *w)
{
	if (q->next == w)
		q->next = wait_queue_get_next(q, w);
	list_remove(&w->node);
}

bool wait_queue_is_empty(const struct wait_queue *q)
{
	return list_is_empty(&q->waiters);
}

void wait_queue_wake_all(struct wait_queue *q)
{
	q->next = LIST_FIRST(&q->waiters, struct waiter, node);
	while (q->next) {
		struct waiter *w = q->next;

		q->next = wait_queue_get_next(q, w);
		w->fn(w);
	}
}
