/*
 * The sandbox's side of the mutual proof on a stream that it has opened (net/proof.h).
 * Its hello has a nonce. The backend sends "prove", the sandbox "proof", and then the
 * backend "proof". Each step is done at most once per stream.
 */
#include "server/stream/stream_private.h"

#include "base/log.h"

void stream_proof_offer(struct stream *s)
{
	if (!s->all->api->box->config->has_key)
		return;
	if (random_bytes(s->proof.nonces.sandbox, PROOF_NONCE))
		log_warn("stream: the system returns no random bytes for a proof");
	else
		s->proof.step = STREAM_PROOF_OFFERED;
}

void stream_proof_put_nonce(const struct stream *s, struct jw *w)
{
	char hex[PROOF_NONCE_HEX + 1];

	if (s->proof.step != STREAM_PROOF_OFFERED)
		return;
	hex_encode(s->proof.nonces.sandbox, PROOF_NONCE, hex);
	jw_key(w, "nonce");
	jw_cstr(w, hex);
}

void stream_proof_answer(struct stream *s, const struct stream_request *ask)
{
	const uint8_t *verifier = s->all->api->box->config->key;
	uint8_t proof[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	struct jw w;

	if (s->proof.step != STREAM_PROOF_OFFERED ||
		hex_decode(ask->nonce, s->proof.nonces.backend, PROOF_NONCE)) {
		stream_send_error(s, 0, "error",
			"A proof requires a nonce of 16 bytes, and can be requested "
			"once, on a stream whose hello has a nonce.");
		return;
	}
	s->proof.step = STREAM_PROOF_ANSWERED;
	proof_compute(verifier, PROOF_SANDBOX, &s->proof.nonces,
		str_c(stream_get_sandbox_name(s)), proof);
	hex_encode(proof, sizeof(proof), hex);
	stream_begin_text(s, &w, "proof");
	jw_key(&w, "proof");
	jw_cstr(&w, hex);
	stream_end_text(s, &w);
}

void stream_proof_check(struct stream *s, const struct stream_request *ask)
{
	const uint8_t *verifier = s->all->api->box->config->key;
	uint8_t proof[SHA256_LEN];

	if (s->proof.step != STREAM_PROOF_ANSWERED) {
		stream_send_error(
			s, 0, "error", "No proof was requested on this stream.");
		return;
	}
	if (hex_decode(ask->proof, proof, sizeof(proof)) == 0 &&
		proof_is_valid(proof, verifier, PROOF_BACKEND, &s->proof.nonces,
			str_c(stream_get_sandbox_name(s)))) {
		s->proof.step = STREAM_PROOF_DONE;
		s->trusted = true;
		return;
	}
	s->proof.step = STREAM_PROOF_NONE;
	ws_conn_close(s->ws, WS_POLICY, STR("the backend's proof is wrong"));
}
