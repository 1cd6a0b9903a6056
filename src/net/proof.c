#include "net/proof.h"

static const struct {
	const char *label;
	size_t n; /* size of label, with the NUL */
} labels[PROOF_ROLES] = {
	[PROOF_SANDBOX] = {"od-runtime sandbox proof",
		sizeof("od-runtime sandbox proof")},
	[PROOF_BACKEND] = {"od-runtime backend proof",
		sizeof("od-runtime backend proof")},
};

void proof_compute(const uint8_t verifier[SHA256_LEN], enum proof_role role,
	const struct proof_nonces *nonces, struct str name, uint8_t out[SHA256_LEN])
{
	struct hmac_key key;
	struct sha256 h;

	hmac_key_init(&key, str_make((const char *)verifier, SHA256_LEN));
	hmac_begin(&key, &h);
	sha256_update(&h, labels[role].label, labels[role].n);
	sha256_update(&h, nonces->sandbox, sizeof(nonces->sandbox));
	sha256_update(&h, nonces->backend, sizeof(nonces->backend));
	sha256_update(&h, name.p, name.n);
	hmac_end(&key, &h, out);
}

bool proof_is_valid(const uint8_t proof[SHA256_LEN], const uint8_t verifier[SHA256_LEN],
	enum proof_role role, const struct proof_nonces *nonces, struct str name)
{
	uint8_t want[SHA256_LEN];

	proof_compute(verifier, role, nonces, name, want);
	return hash_equal(want, proof, sizeof(want));
}
