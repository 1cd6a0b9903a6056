/* The mutual proof of a session key; the expected values are from Python's hmac. */
#include "net/proof.h"

#include "tests/tap.h"

static uint8_t verifier[SHA256_LEN];
static struct proof_nonces nonces;

static const char *compute_hex(enum proof_role role, struct str name)
{
	static char hex[SHA256_HEX + 1];
	uint8_t proof[SHA256_LEN];

	proof_compute(verifier, role, &nonces, name, proof);
	hex_encode(proof, sizeof(proof), hex);
	return hex;
}

static void check_values(void)
{
	is_str(compute_hex(PROOF_SANDBOX, STR("box-7")),
		"587a0813fb5556999013fb0bb674205dbf8207c629c553f89c9e8a8f6569e8cf",
		"the sandbox's proof agrees with another implementation");
	is_str(compute_hex(PROOF_BACKEND, STR("box-7")),
		"7581a819069892a16221b432fbf2e6db8cb6550086cfa7abd5d1700dec2e2cc1",
		"the backend's proof agrees with another implementation");
}

static bool is_valid(const uint8_t *proof, enum proof_role role, struct str name)
{
	return proof_is_valid(proof, verifier, role, &nonces, name);
}

/* Whether the proof is refused once this bit of the input is different. */
static bool is_refused_with(const uint8_t *proof, uint8_t *byte, unsigned bit)
{
	bool refused;

	*byte ^= (uint8_t)(1U << bit);
	refused = !is_valid(proof, PROOF_SANDBOX, STR("box-7"));
	*byte ^= (uint8_t)(1U << bit);
	return refused;
}

static void check_bits(void)
{
	uint8_t proof[SHA256_LEN];
	bool all = true;

	proof_compute(verifier, PROOF_SANDBOX, &nonces, STR("box-7"), proof);
	ok(is_valid(proof, PROOF_SANDBOX, STR("box-7")), "a proof is valid");
	ok(!is_valid(proof, PROOF_BACKEND, STR("box-7")),
		"the proof of one role is refused as that of the other");
	ok(!is_valid(proof, PROOF_SANDBOX, STR("box-")) &&
			!is_valid(proof, PROOF_SANDBOX, STR("box-77")) &&
			!is_valid(proof, PROOF_SANDBOX, STR("")),
		"the proof for one name is refused for others");
	for (unsigned bit = 0; bit < 8; bit++) {
		for (size_t i = 0; i < sizeof(proof); i++)
			all &= is_refused_with(proof, &proof[i], bit);
		for (size_t i = 0; i < sizeof(verifier); i++)
			all &= is_refused_with(proof, &verifier[i], bit);
		for (size_t i = 0; i < PROOF_NONCE; i++)
			all &= is_refused_with(proof, &nonces.sandbox[i], bit) &&
				is_refused_with(proof, &nonces.backend[i], bit);
	}
	ok(all, "every bit of the proof, the key and both nonces counts");
}

int main(void)
{
	sha256_compute(STR("a-session-key"), verifier);
	for (uint8_t i = 0; i < PROOF_NONCE; i++) {
		nonces.sandbox[i] = i;
		nonces.backend[i] = (uint8_t)(PROOF_NONCE + i);
	}
	check_values();
	check_bits();
	return done_testing();
}
