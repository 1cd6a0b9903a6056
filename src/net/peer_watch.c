/* Reports the end of a connection to objects that depend on its peer after the reply. */
#include "net/conn.h"
#include "net/peer_probe.h"

void request_watch_peer(struct request *rq, struct peer_watch *w)
{
	struct conn *c = container_of(rq, struct exchange, rq)->conn;

	peer_probe_begin(c->transport.fd);
	list_prepend(&c->watches, &w->node);
	conn_requeue(c);
}

void request_unwatch_peer(struct peer_watch *w)
{
	list_remove(&w->node);
}

void conn_notify_watches(struct conn *c)
{
	struct peer_watch *w;

	while ((w = LIST_FIRST(&c->watches, struct peer_watch, node))) {
		request_unwatch_peer(w);
		w->fn(w);
	}
}
