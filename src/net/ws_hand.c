#include "net/ws_hand.h"

#include "base/b64.h"
#include "base/hash.h"
#include "codec/http/request_head.h"
#include "codec/http/ws.h"
#include "net/resp.h"

#include <stdio.h>

/* Whether a comma-separated list holds the token. any_case: case does not matter. */
static bool ws_hand_list_has(struct str list, struct str token, bool any_case)
{
	while (list.n) {
		struct str one = str_trim(str_cut(&list, ','), " \t");

		if (any_case ? str_eq_nocase(one, token) : str_eq(one, token))
			return true;
	}
	return false;
}

bool ws_hand_field_has(const struct request *rq, struct str name, struct str token)
{
	struct str list;

	return request_header(rq, name, &list) == 0 &&
		ws_hand_list_has(list, token, true);
}

const struct http_fault *ws_hand_check(const struct request *rq, struct str *key)
{
	static const struct http_fault wrong = {
		400, "The opening handshake of a WebSocket is malformed."};
	static const struct http_fault none = {426,
		"This route is a WebSocket. Send Connection: Upgrade and Upgrade: "
		"websocket."};
	static const struct http_fault version = {
		426, "Only version 13 of WebSocket is supported."};
	struct str v;

	if (!ws_hand_field_has(rq, STR("upgrade"), STR("websocket")))
		return &none;
	if (!str_eq(rq->method, STR("GET")) || request_is_http10(rq) ||
		!ws_hand_field_has(rq, STR("connection"), STR("upgrade")))
		return &wrong;
	if (request_header(rq, STR("sec-websocket-version"), &v) || !str_eq(v, STR("13")))
		return &version;
	if (request_header(rq, STR("sec-websocket-key"), &v) || !ws_is_key(v))
		return &wrong;
	*key = v;
	return NULL;
}

bool ws_hand_has_offer(const struct request *rq, struct str protocol)
{
	struct str list;

	return request_header(rq, STR("sec-websocket-protocol"), &list) == 0 &&
		ws_hand_list_has(list, protocol, false);
}

bool ws_hand_find_offer(const struct request *rq, struct str prefix, struct str *rest)
{
	struct str list, one;

	if (request_header(rq, STR("sec-websocket-protocol"), &list))
		return false;
	while (list.n) {
		one = str_trim(str_cut(&list, ','), " \t");
		if (!str_starts(one, prefix))
			continue;
		*rest = str_skip(one, prefix.n);
		return true;
	}
	return false;
}

void ws_hand_answer(struct buf *out, struct str key, struct str protocol)
{
	resp_start(out, 101);
	resp_field(out, STR("upgrade"), STR("websocket"));
	resp_field(out, STR("connection"), STR("Upgrade"));
	buf_puts(out, "sec-websocket-accept: ");
	ws_write_accept(out, key);
	buf_puts(out, "\r\n");
	if (protocol.n)
		resp_field(out, STR("sec-websocket-protocol"), protocol);
	resp_end(out);
}

static int ws_hand_make_key(char key[WS_KEY_LEN])
{
	struct buf coded = BUF_INIT(WS_KEY_LEN);
	uint8_t bytes[16];
	int r = random_bytes(bytes, sizeof(bytes));

	if (r)
		return r;
	b64_encode(&coded, str_make((const char *)bytes, sizeof(bytes)));
	if (!coded.err)
		memcpy(key, coded.p, WS_KEY_LEN);
	r = coded.err;
	buf_free(&coded);
	return r;
}

int ws_hand_fields(char *out, size_t n, char key[WS_KEY_LEN])
{
	int r = ws_hand_make_key(key), put;

	if (r)
		return r;
	put = snprintf(out, n,
		"Upgrade: websocket\r\nConnection: Upgrade\r\n"
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %.*s\r\n",
		WS_KEY_LEN, key);
	return put < 0 || (size_t)put >= n ? ERR_LIMIT : 0;
}

int ws_hand_request(
	struct buf *out, const struct ws_hand_params *ask, char key[WS_KEY_LEN])
{
	const struct request_line line = {
		.method = "GET", .target = ask->target, .host = ask->host};
	char fields[256];
	int r = ws_hand_fields(fields, sizeof(fields), key);

	if (r)
		return r;
	request_head_begin(out, &line);
	buf_puts(out, fields);
	request_head_put_fields(out, ask->fields);
	buf_puts(out, "\r\n");
	return out->err;
}

const char *ws_hand_check_answer(
	const struct http_response *r, const char *p, const char key[WS_KEY_LEN])
{
	struct buf want = BUF_INIT(64);
	struct str v;
	bool same;

	if (r->status == 401 || r->status == 403)
		return "the server refused the WebSocket (status 401 or 403): check the "
		       "token";
	if (r->status != 101)
		return "the server refused the WebSocket";
	if (http_field_find(&r->head, p, STR("upgrade"), &v) ||
		!str_eq_nocase(v, STR("websocket")) ||
		http_field_find(&r->head, p, STR("connection"), &v) ||
		!ws_hand_list_has(v, STR("upgrade"), true))
		return "the server did not upgrade the connection to a WebSocket";
	/* The client has not offered any. */
	if (http_field_find(&r->head, p, STR("sec-websocket-extensions"), &v) != 1)
		return "the server requires an extension of WebSocket";
	if (http_field_find(&r->head, p, STR("sec-websocket-accept"), &v))
		return "the server's answer is not that of a WebSocket server";
	ws_write_accept(&want, str_make(key, WS_KEY_LEN));
	same = !want.err && str_eq(v, buf_view(&want));
	buf_free(&want);
	return same ? NULL
		    : "the server's Sec-WebSocket-Accept does not match the request";
}
