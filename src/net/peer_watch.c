/* Reports the end of a connection to objects that depend on its peer after the reply. */
#include "net/conn.h"
#include "net/peer_probe.h"

static void peer_watch_link(struct peer_watch *w, struct peer_watch **at)
{
	w->at = at;
	w->next = *at;
	if (w->next)
		w->next->at = &w->next;
	*at = w;
}

void request_watch_peer(struct request *rq, struct peer_watch *w)
{
	struct conn *c = container_of(rq, struct exchange, rq)->conn;

	peer_probe_begin(c->transport.fd);
	peer_watch_link(w, &c->watches);
	conn_requeue(c);
}

void request_unwatch_peer(struct peer_watch *w)
{
	if (!w->at)
		return;
	*w->at = w->next;
	if (w->next)
		w->next->at = w->at;
	w->at = NULL;
}

void conn_notify_watches(struct conn *c)
{
	while (c->watches) {
		struct peer_watch *w = c->watches;

		request_unwatch_peer(w);
		w->fn(w);
	}
}
