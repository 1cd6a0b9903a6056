/*
 * Mutual proof of a session key between a sandbox and a backend. Neither side sends the
 * key: both compute HMAC-SHA-256 with the key's SHA-256, the verifier, over the name of
 * the sandbox and a fresh nonce of each side. An engine without I/O.
 */
#ifndef NET_PROOF_H
#define NET_PROOF_H

#include "base/hash.h"

enum { PROOF_NONCE = 16, PROOF_NONCE_HEX = 2 * PROOF_NONCE };

/* The role is part of the message: a proof that is sent back to its author is invalid. */
enum proof_role { PROOF_SANDBOX, PROOF_BACKEND, PROOF_ROLES };

struct proof_nonces {
	uint8_t sandbox[PROOF_NONCE], backend[PROOF_NONCE];
};

/*
 * The message is: a label of the role with its NUL, the sandbox's nonce, the backend's
 * nonce, the name. All fields but the last have a fixed size.
 */
void proof_compute(const uint8_t verifier[SHA256_LEN], enum proof_role role,
	const struct proof_nonces *nonces, struct str name, uint8_t out[SHA256_LEN]);

/* Compares in constant time. */
bool proof_is_valid(const uint8_t proof[SHA256_LEN], const uint8_t verifier[SHA256_LEN],
	enum proof_role role, const struct proof_nonces *nonces,
	struct str name) MUST_USE;

#endif
