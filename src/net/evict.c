/*
 * Chooses the connection that is closed for a new one. Each connection that may be closed
 * is in one of a few queues, so that accepting does not visit all connections.
 */
#include "net/conn.h"

#define STATE(state) (1u << (state))

static enum evict_queue evict_choose_queue(const struct conn *c)
{
	const unsigned idle = STATE(C_IDLE) | STATE(C_LINGER);
	/* A peer that does not read its reply could stay for HTTP_STALL_MS. */
	const unsigned part = STATE(C_HEAD) | STATE(C_BODY) | STATE(C_SEND);
	unsigned state = STATE(c->state);

	if (c->state == C_DELAY)
		return EVICT_NEW;
	if (!(state & (idle | part)) || !list_is_empty(&c->watches))
		return EVICT_NONE;
	if (c->rank == RANK_NEW)
		return EVICT_NEW;
	if (c->rank == RANK_TRUSTED)
		return state & idle ? EVICT_TRUSTED : EVICT_NONE;
	return state & idle ? EVICT_IDLE : EVICT_PART;
}

static void evict_remove(struct conn_queue *q, struct conn *c)
{
	*(c->queue_prev ? &c->queue_prev->queue_next : &q->first) = c->queue_next;
	*(c->queue_next ? &c->queue_next->queue_prev : &q->last) = c->queue_prev;
	q->n--;
}

static void evict_append(struct conn_queue *q, struct conn *c)
{
	c->queue_prev = q->last;
	c->queue_next = NULL;
	*(q->last ? &q->last->queue_next : &q->first) = c;
	q->last = c;
	q->n++;
}

void conn_requeue(struct conn *c)
{
	struct server *s = c->server;

	if (c->queue != EVICT_NONE)
		evict_remove(&s->queues[c->queue], c);
	c->queue = evict_choose_queue(c);
	c->queued = loop_now(s->loop);
	if (c->queue != EVICT_NONE)
		evict_append(&s->queues[c->queue], c);
}

/* The oldest connection of a queue, if its peer has had young_ms to send. */
static struct conn *evict_find_overdue(const struct server *s, enum evict_queue queue)
{
	struct conn *c = s->queues[queue].first;

	return c && loop_now(s->loop) - c->queued >= s->conf.young_ms ? c : NULL;
}

/*
 * Peers that have not completed a request are closed first, except for young connections.
 * A flood of such peers takes at most half of the connections from idle trusted peers;
 * beyond that the flood replaces its own connections, oldest first.
 */
struct conn *server_find_victim(const struct server *s)
{
	const struct conn_queue *q = s->queues;
	struct conn *c = evict_find_overdue(s, EVICT_NEW);

	if (!c)
		c = q[EVICT_IDLE].first;
	if (!c)
		c = evict_find_overdue(s, EVICT_PART);
	if (!c && q[EVICT_NEW].n + q[EVICT_PART].n <= s->conns_n / 2)
		c = q[EVICT_TRUSTED].first;
	if (!c)
		c = q[EVICT_NEW].first;
	return c ? c : q[EVICT_PART].first;
}
