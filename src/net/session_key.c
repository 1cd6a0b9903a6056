#include "net/session_key.h"

#include "net/resp.h"
#include "net/ws_hand.h"

#define HEADER "x-session-api-key"
#define AUTHORIZATION "authorization"
#define SCHEME "bearer"
#define PROTOCOLS "sec-websocket-protocol"
#define PROTOCOL_PREFIX "od.key."

static bool session_key_has_scheme(struct str value)
{
	const struct str scheme = STR(SCHEME);

	return value.n > scheme.n && str_eq_nocase(str_make(value.p, scheme.n), scheme) &&
		value.p[scheme.n] == ' ';
}

int session_key_find(const struct request *rq, struct str *key)
{
	struct str value;
	int r = request_header(rq, STR(HEADER), key);

	if (r != 1)
		return r;
	r = request_header(rq, STR(AUTHORIZATION), &value);
	if (r == 0 && !session_key_has_scheme(value))
		r = 1;
	if (r == 0)
		*key = str_trim(str_skip(value, sizeof(SCHEME)), " ");
	else if (ws_hand_find_offer(rq, STR(PROTOCOL_PREFIX), key))
		r = 0;
	return r;
}

/* Appends the subprotocols that are no keys. If none is left, appends no header. */
static void session_key_strip_protocols(struct buf *out, struct str name, struct str list)
{
	struct buf rest = BUF_INIT(HTTP_HEAD_MAX);

	while (list.n) {
		struct str one = str_trim(str_cut(&list, ','), " \t");

		if (!one.n || str_starts(one, STR(PROTOCOL_PREFIX)))
			continue;
		if (rest.n)
			buf_puts(&rest, ", ");
		buf_str(&rest, one);
	}
	if (rest.err)
		out->err = rest.err;
	else if (rest.n)
		resp_field(out, name, buf_view(&rest));
	buf_free(&rest);
}

void session_key_strip_field(struct buf *out, struct str name, struct str value)
{
	if (str_eq_nocase(name, STR(HEADER)))
		return;
	/* Strips every bearer token, also after a blank other than a space. */
	if (str_eq_nocase(name, STR(AUTHORIZATION)) && value.n >= sizeof(SCHEME) - 1 &&
		str_eq_nocase(str_make(value.p, sizeof(SCHEME) - 1), STR(SCHEME)))
		return;
	if (str_eq_nocase(name, STR(PROTOCOLS)))
		session_key_strip_protocols(out, name, value);
	else
		resp_field(out, name, value);
}
