/* The inside of the reference backend. */
#ifndef INJECT_LISTEN_PRIVATE_H
#define INJECT_LISTEN_PRIVATE_H

#include "inject/listen.h"
#include "inject/listen_token.h"

#include "base/jw.h"
#include "limits.h"
#include "net/channel_frame.h"
#include "net/proof.h"
#include "net/server.h"
#include "net/ws_conn.h"

/* Who has dialled in; empty and 0: it did not say. */
struct guest {
	char sandbox[CONNECT_ID_MAX + 1]; /* by its memory */
	char epoch[CONNECT_ID_MAX + 1];   /* of its process */
	uint64_t boot;
};

/* A sandbox that has dialled in once. */
struct place {
	struct place *next;
	char id[CONNECT_ID_MAX + 1];
	struct guest guest;
	struct link *link; /* NULL: it is away */
};

/* How far the mutual proof of a link has come; in this order. */
enum link_proof_step {
	LINK_PROOF_NONE, /* the sandbox offers none */
	LINK_PROOF_OFFERED,
	LINK_PROOF_ASKED,
	LINK_PROOF_RECEIVED, /* no client has shown a key that agrees with it */
	LINK_PROOF_VALID,
};

struct link_proof {
	enum link_proof_step step;
	struct proof_nonces nonces;
	uint8_t proof[SHA256_LEN];
	uint8_t verifier[SHA256_LEN]; /* of LINK_PROOF_VALID */
};

/* A connection that a sandbox has made. */
struct link {
	struct link **at, *next; /* among all */
	struct hub *hub;
	struct ws_conn *ws;  /* NULL at its end */
	struct place *place; /* NULL: it has not said hello yet, or another took over */
	char name[CONNECT_ID_MAX + 1]; /* in the token; empty: there is none */
	struct link_proof proof;
	struct relay *relays;
	unsigned relays_n;
	uint32_t last_id; /* of a channel */
	struct later later;
};

/* A request for a sandbox: a connection of a client, and a channel. */
struct relay;

struct hub {
	struct loop *loop;
	struct hub_conf conf;
	struct listen_tokens tokens; /* where conf.secret is not empty */
	struct server *server;
	struct place *places;
	unsigned places_n;
	struct link *links;
	unsigned links_n;
	struct relay *relays;
	unsigned relays_n;
	struct buf text; /* a frame that is being written */
};

/* Text frames: members are written between the two; only one at a time. id 0: none. */
void link_say(struct link *l, struct jw *w, const char *type, uint32_t id);
void link_said(struct link *l, struct jw *w);

/* The frames "hello" and "proof" of the sandbox. */
void link_proof_take_nonce(struct link *l, struct str hex);
void link_proof_take(struct link *l, struct str hex);
/*
 * Whether the sandbox has proved that it knows the key with this verifier. NULL: yes; or
 * why not, among which link_proof_pending: its proof is on its way.
 */
const struct http_fault *link_proof_check(
	struct link *l, const uint8_t verifier[SHA256_LEN]);
extern const struct http_fault link_proof_pending;

/*
 * Takes the client's connection over, with what of its request is not read. verifier is
 * that of the key in the request, NULL for none: the sandbox gets the request once it
 * has proved that key.
 */
void relay_new(
	struct link *l, struct request *rq, struct str target, const uint8_t *verifier);
/* The proof of the sandbox has come: requests that wait for it go on, or are refused. */
void relays_check_proof(struct link *l);
/* The relay of a channel; NULL. */
struct relay *relay_find(const struct link *l, uint32_t id);
void relay_output(struct relay *r, const struct channel_frame *f);
void relay_acked(struct relay *r, uint64_t bytes);
/* There will be no more from the sandbox. */
void relay_closed(struct relay *r);
/* The link can take more. */
void relays_go_on(struct link *l);
/* The link is lost: who has no answer yet is told. */
void relays_lost(struct link *l);
/* All of a hub, at once. */
void relays_end(struct hub *h);

#endif
