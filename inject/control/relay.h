/* A client's request for a sandbox: the client's connection and a channel of a link. */
#ifndef INJECT_CONTROL_RELAY_H
#define INJECT_CONTROL_RELAY_H

#include "codec/channel_frame.h"
#include "inject/control/hub.h"

struct relay;

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
