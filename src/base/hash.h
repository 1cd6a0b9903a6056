/* SHA-256, HMAC, constant-time comparison and random bytes. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/str.h"

#include <bearssl_hash.h>

enum { SHA256_LEN = 32, SHA256_HEX = 64 };

struct sha256 {
	br_sha256_context ctx;
};

/* FIPS 180-4. Init, any number of updates, then one final. */
void sha256_init(struct sha256 *h);
void sha256_update(struct sha256 *h, const void *p, size_t n);
void sha256_final(const struct sha256 *h, uint8_t out[SHA256_LEN]);
void sha256_compute(struct str s, uint8_t out[SHA256_LEN]);

/*
 * HMAC-SHA-256 (RFC 2104) of many texts with one key: begin gives a hash that is to be
 * updated with a text, end takes it.
 */
struct hmac_key {
	struct sha256 inner, outer;
};

void hmac_key_init(struct hmac_key *k, struct str key);
void hmac_begin(const struct hmac_key *k, struct sha256 *h);
void hmac_end(const struct hmac_key *k, const struct sha256 *h, uint8_t out[SHA256_LEN]);

/* Lower-case hexadecimal of n bytes; out has room for 2 * n + 1. */
void hex_encode(const uint8_t *p, size_t n, char *out);
/* Exactly 2 * n hexadecimal digits of either case; ERR_SYNTAX otherwise. */
int hex_decode(struct str hex, uint8_t *out, size_t n) MUST_USE;

/* Takes the same time wherever a and b differ. */
bool hash_equal(const uint8_t *a, const uint8_t *b, size_t n);

/*
 * n bytes from the kernel's generator: getrandom, or /dev/urandom where that
 * call is missing or refused. -errno when neither works.
 */
int random_bytes(void *p, size_t n) MUST_USE;

#endif
