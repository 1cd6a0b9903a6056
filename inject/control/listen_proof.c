#include "inject/control/listen_proof.h"

#include "inject/control/relay.h"

const struct http_fault listen_proof_pending = {504,
	"The sandbox did not prove in time that it has this session key. Try again."};

static const struct http_fault no_random = {
	503, "The system of the backend returned no random bytes. Try again."};
static const struct http_fault no_proof = {502,
	"The sandbox cannot prove that it has the session key, so the key is not sent to "
	"it. Start it with a session key, update its od-runtime-client, or send no key."};
static const struct http_fault wrong_key = {
	403, "Invalid API Key: the sandbox did not prove that it has this session key."};

void listen_proof_read_nonce(struct link *l, struct str hex)
{
	if (hex_decode(hex, l->proof.nonces.sandbox, PROOF_NONCE) == 0)
		l->proof.step = LINK_PROOF_OFFERED;
}

static const struct http_fault *listen_proof_request(struct link *l)
{
	char hex[PROOF_NONCE_HEX + 1];
	struct jw w;

	if (random_bytes(l->proof.nonces.backend, PROOF_NONCE))
		return &no_random;
	l->proof.step = LINK_PROOF_REQUESTED;
	hex_encode(l->proof.nonces.backend, PROOF_NONCE, hex);
	listen_begin_frame(l, &w, "prove", 0);
	jw_key(&w, "nonce");
	jw_cstr(&w, hex);
	listen_send_frame(l, &w);
	return &listen_proof_pending;
}

void listen_proof_receive(struct link *l, struct str hex)
{
	if (l->proof.step != LINK_PROOF_REQUESTED ||
		hex_decode(hex, l->proof.proof, SHA256_LEN)) {
		ws_conn_close(l->ws, WS_POLICY,
			STR("a proof is malformed or was not requested"));
		return;
	}
	l->proof.step = LINK_PROOF_RECEIVED;
	relays_check_proof(l);
}

/* From now on the sandbox accepts authorized channels on this link. */
static void listen_proof_send(struct link *l)
{
	uint8_t proof[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	struct jw w;

	proof_compute(l->proof.verifier, PROOF_BACKEND, &l->proof.nonces,
		str_c(l->entry->id), proof);
	hex_encode(proof, sizeof(proof), hex);
	listen_begin_frame(l, &w, "proof", 0);
	jw_key(&w, "proof");
	jw_cstr(&w, hex);
	listen_send_frame(l, &w);
}

static const struct http_fault *listen_proof_verify(
	struct link *l, const uint8_t verifier[SHA256_LEN])
{
	struct link_proof *p = &l->proof;

	if (!proof_is_valid(
		    p->proof, verifier, PROOF_SANDBOX, &p->nonces, str_c(l->entry->id)))
		return &wrong_key;
	memcpy(p->verifier, verifier, sizeof(p->verifier));
	p->step = LINK_PROOF_VALID;
	listen_proof_send(l);
	return NULL;
}

const struct http_fault *listen_proof_check(
	struct link *l, const uint8_t verifier[SHA256_LEN])
{
	switch (l->proof.step) {
	case LINK_PROOF_NONE:
		return &no_proof;
	case LINK_PROOF_OFFERED:
		return listen_proof_request(l);
	case LINK_PROOF_REQUESTED:
		return &listen_proof_pending;
	case LINK_PROOF_RECEIVED:
		return listen_proof_verify(l, verifier);
	case LINK_PROOF_VALID:
		break;
	}
	return hash_equal(l->proof.verifier, verifier, SHA256_LEN) ? NULL : &wrong_key;
}
