/*
 * Opening handshakes: a head is read as a request where its first byte is even, else as
 * an answer. Who is let in is answered in a way that a client takes; an answer that is
 * taken is the one to this key alone.
 */
#include "codec/http/ws.h"
#include "net/conn.h"
#include "net/ws_hand.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The example of RFC 6455 (1.2), and another. */
static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==";
static const char other[] = "AAAAAAAAAAAAAAAAAAAAAA==";

static const char *agrees(struct str head, const char *k, unsigned *status)
{
	struct http_response r;

	http_response_init(&r, false);
	if (http_response_parse(&r, head))
		return "no head";
	*status = r.status;
	return ws_hand_check_answer(&r, head.p, k);
}

static void check_answer(struct str k, struct str protocol)
{
	struct buf out = BUF_INIT(HTTP_HEAD_MAX + 512);
	struct http_response r;
	struct str said;

	ws_hand_answer(&out, k, protocol);
	assert(!out.err);
	http_response_init(&r, false);
	assert(http_response_parse(&r, buf_view(&out)) == 0 && r.head.n == out.n);
	assert(!ws_hand_check_answer(&r, out.p, k.p));
	assert(http_field_find(&r.head, out.p, STR("sec-websocket-protocol"), &said) ==
		!protocol.n);
	assert(!protocol.n || str_eq(said, protocol));
	buf_free(&out);
}

static void take_request(struct str head)
{
	struct exchange x = {.in = {.p = (char *)head.p, .n = head.n}};
	const struct http_fault *fault;
	struct str k, rest, whole = STR("");

	http_request_init(&x.http);
	if (http_request_parse(&x.http, head))
		return;
	x.rq.method = http_text(head.p, x.http.method);
	if (ws_hand_find_offer(&x.rq, STR("k."), &rest)) {
		whole = str_make(rest.p - 2, rest.n + 2);
		assert(str_starts(whole, STR("k.")) && ws_hand_has_offer(&x.rq, whole));
	} else {
		assert(!ws_hand_has_offer(&x.rq, STR("k.")));
	}
	fault = ws_hand_check(&x.rq, &k);
	if (fault) {
		assert(fault->status == 400 || fault->status == 426);
		return;
	}
	assert(str_eq(x.rq.method, STR("GET")) && x.http.head.minor == 1);
	assert(k.n == WS_KEY_LEN && ws_is_key(k));
	check_answer(k, STR(""));
	if (whole.n)
		check_answer(k, whole);
}

static void take_answer(struct str head)
{
	struct buf proof = BUF_INIT(64);
	unsigned status = 0;

	if (agrees(head, key, &status))
		return;
	assert(status == 101 && agrees(head, other, &status));
	ws_write_accept(&proof, STR(key));
	assert(str_find(head, buf_view(&proof)) < head.n);
	buf_free(&proof);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;

	if (!size--)
		return 0;
	copy = malloc(size ? size : 1);
	memcpy(copy, data + 1, size);
	if (data[0] & 1)
		take_answer(str_make(copy, size));
	else
		take_request(str_make(copy, size));
	free(copy);
	return 0;
}
