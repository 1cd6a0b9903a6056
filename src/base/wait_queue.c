#include "base/wait_queue.h"

void wait_queue_append(struct wait_queue *q, struct waiter *w)
{
	list_append(&q->waiters, &w->node);
}

void wait_queue_prepend(struct wait_queue *q, struct waiter *w)
{
	list_prepend(&q->waiters, &w->node);
}

void wait_queue_remove(struct wait_queue *q, struct waiter *w)
{
	if (q->next == w)
		q->next = LIST_NEXT(w, struct waiter, node);
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

		q->next = LIST_NEXT(w, struct waiter, node);
		w->fn(w);
	}
}
