#include "net/session_key.h"

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
	else if (ws_hand_offered(rq, STR(PROTOCOL_PREFIX), key))
		r = 0;
	return r;
}
