/*
 * The backend's side of the mutual proof (net/proof.h). Each link is asked for a proof
 * once, when the first request with a key arrives. Later keys are compared with that
 * proof: a client with a wrong key causes no work in the sandbox.
 */
#ifndef INJECT_CONTROL_LISTEN_PROOF_H
#define INJECT_CONTROL_LISTEN_PROOF_H

#include "net/proof.h"
#include "net/server.h"

struct link;

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

#endif
