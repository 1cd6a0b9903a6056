/* The sandboxes of the reference backend: names, and the link of each that dialled in. */
#ifndef INJECT_CONTROL_HUB_H
#define INJECT_CONTROL_HUB_H

#include "inject/control/listen.h"
#include "inject/control/listen_proof.h"
#include "inject/names/listen_token.h"

#include "base/jw.h"
#include "base/list.h"
#include "limits.h"
#include "net/ws_conn.h"

/* The identity of a sandbox that dialled in; empty and 0: not given. */
struct hub_peer {
	char sandbox[CONNECT_ID_MAX + 1]; /* the id stored in the sandbox */
	char epoch[CONNECT_ID_MAX + 1];   /* the id of its process */
	uint64_t boot;
};

/* A name under which a sandbox has dialled in. */
struct hub_entry {
	struct list node;
	char id[CONNECT_ID_MAX + 1];
	struct hub_peer peer;
	struct link *link; /* NULL: not connected */
};

/* A connection that a sandbox has made. */
struct link {
	struct list node; /* all links of the hub */
	struct hub *hub;
	struct ws_conn *ws; /* NULL once it has ended */
	struct hub_entry
		*entry; /* NULL: no hello was received, or another link took over */
	char name[CONNECT_ID_MAX + 1]; /* in the token; empty: there is none */
	struct link_proof proof;
	struct list relays; /* newest first */
	unsigned relays_n;
	uint32_t last_id; /* of a channel */
	struct later later;
};

struct hub {
	struct loop *loop;
	struct hub_conf conf;
	struct listen_tokens tokens; /* where conf.secret is not empty */
	struct server *server;
	struct list entries; /* oldest first */
	unsigned entries_n;
	struct list links; /* newest first */
	unsigned links_n;
	struct list relays; /* newest first */
	unsigned relays_n;
	struct buf text; /* the frame that is being written */
};

/*
 * Write a text frame: the caller writes members between the two calls; one frame at a
 * time. id 0: the frame has no id.
 */
void listen_begin_frame(struct link *l, struct jw *w, const char *type, uint32_t id);
void listen_send_frame(struct link *l, struct jw *w);

#endif
