/* The inside of the reference backend. */
#ifndef INJECT_CONTROL_LISTEN_PRIVATE_H
#define INJECT_CONTROL_LISTEN_PRIVATE_H

#include "inject/control/listen.h"
#include "inject/names/listen_token.h"

#include "base/jw.h"
#include "base/list.h"
#include "codec/channel_frame.h"
#include "limits.h"
#include "net/proof.h"
#include "net/server.h"
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

/* The progress of the mutual proof of a link, in this order. */
enum link_proof_step {
	LINK_PROOF_NONE, /* the sandbox offers no proof */
	LINK_PROOF_OFFERED,
	LINK_PROOF_REQUESTED,
	LINK_PROOF_RECEIVED, /* no client has sent a key that agrees with it */
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

/* A client's request for a sandbox: the client's connection and a channel. */
struct relay;

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

/* Handle the nonce of the frame "hello" and the frame "proof" of the sandbox. */
void listen_proof_read_nonce(struct link *l, struct str hex);
void listen_proof_receive(struct link *l, struct str hex);
/*
 * Whether the sandbox has proved possession of the key with this verifier. NULL: yes; or
 * the reason why not. The reason listen_proof_pending means that the proof was requested.
 */
const struct http_fault *listen_proof_check(
	struct link *l, const uint8_t verifier[SHA256_LEN]);
extern const struct http_fault listen_proof_pending;

/*
 * Takes over the client's connection, with the unread part of its request. verifier is
 * that of the key in the request; NULL: no key. With a verifier the sandbox receives the
 * request after it has proved possession of the key.
 */
void relay_new(
	struct link *l, struct request *rq, struct str target, const uint8_t *verifier);
/* The proof of the sandbox has arrived: waiting requests continue or are refused. */
void relays_check_proof(struct link *l);
/* The relay of a channel; NULL: there is none. */
struct relay *relay_find(const struct link *l, uint32_t id);
void relay_on_output(struct relay *r, const struct channel_frame *f);
void relay_on_ack(struct relay *r, uint64_t bytes);
/* Handles the end of a channel: the sandbox sends no more. */
void relay_on_close(struct relay *r);
/* Continues all relays: the link has space again. */
void relays_resume(struct link *l);
/*
 * Handles the loss of the link: clients without an answer receive 502 or 503, and the
 * connections of the others are reset.
 */
void relays_fail(struct link *l);
/* Frees all relays of a hub at once. */
void relays_free(struct hub *h);

#endif
