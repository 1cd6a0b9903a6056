/* The bytes behind the head of a request that is relayed: how many are part of it. */
#include "inject/control/relay_input.h"

#include "net/conn.h"
#include "tests/tap.h"

#include <stdlib.h>

#define POST "POST / HTTP/1.1\r\nhost: x\r\n"
#define GET "GET / HTTP/1.1\r\nhost: x\r\n"
#define NEXT "GET /next HTTP/1.1\r\nx-session-api-key: k\r\n\r\n"
#define UPGRADE GET "upgrade: WebSocket\r\nconnection: upgrade\r\n"

static struct relay_input make_input(const char *head)
{
	struct exchange x = {.in = {.p = (char *)(uintptr_t)head, .n = strlen(head)}};
	struct relay_input in;

	http_request_init(&x.http);
	if (http_request_parse(&x.http, str_c(head)))
		ok(false, "the head is in order");
	x.rq.method = http_text(head, x.http.method);
	relay_input_init(&in, &x.rq);
	return in;
}

/* How many bytes are taken when they come in two pieces, each in its own allocation. */
static ssize_t take_split(const char *head, struct str bytes, size_t at)
{
	struct relay_input in = make_input(head);
	struct str pieces[] = {str_make(bytes.p, at), str_skip(bytes, at)};
	ssize_t all = 0, n = 0;

	for (size_t i = 0; i < ARRAY_LEN(pieces) && n >= 0; i++) {
		char *copy = malloc(pieces[i].n ? pieces[i].n : 1);

		memcpy(copy, pieces[i].p, pieces[i].n);
		n = relay_input_take(&in, str_make(copy, pieces[i].n));
		all += n;
		free(copy);
	}
	return n < 0 ? n : all;
}

static void check_bodies(void)
{
	static const struct {
		const char *name, *head, *bytes;
		ssize_t taken;
	} rows[] = {
		{"a request without a body takes nothing", GET "\r\n", NEXT, 0},
		{"a body of length 0 takes nothing", POST "content-length: 0\r\n\r\n",
			NEXT, 0},
		{"a body takes its length", POST "content-length: 5\r\n\r\n",
			"hello" NEXT, 5},
		{"chunks are taken to their end",
			POST "transfer-encoding: chunked\r\n\r\n",
			"5\r\nhello\r\n0\r\n\r\n" NEXT, 15},
		{"a trailer is part of the body",
			POST "transfer-encoding: chunked\r\n\r\n",
			"0\r\na: b\r\n\r\n" NEXT, 11},
		{"an upgrade with a body is a body", UPGRADE "content-length: 2\r\n\r\n",
			"hi" NEXT, 2},
		{"another upgrade takes nothing",
			GET "upgrade: h2c\r\nconnection: upgrade\r\n\r\n", NEXT, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str bytes = str_c(rows[i].bytes);
		bool same = true;

		for (size_t at = 0; at <= bytes.n; at++)
			same &= take_split(rows[i].head, bytes, at) == rows[i].taken;
		ok(same, "%s", rows[i].name);
	}
	ok(take_split(POST "transfer-encoding: chunked\r\n\r\n", STR("zz\r\n"), 1) < 0,
		"malformed chunks are an error");
}

static enum relay_input_state read_answer(const char *answer, size_t at)
{
	struct relay_input in = make_input(UPGRADE "\r\n");
	struct str all = str_c(answer);

	relay_input_read_answer(&in, 0, str_make(all.p, at));
	relay_input_read_answer(&in, at, str_skip(all, at));
	return in.state;
}

static void check_upgrade(void)
{
	static const struct {
		const char *name, *answer;
		enum relay_input_state state;
	} rows[] = {
		{"101 opens the tunnel", "HTTP/1.1 101 Switching Protocols\r\n",
			RELAY_INPUT_TUNNEL},
		{"another status does not", "HTTP/1.1 400 Bad Request\r\n",
			RELAY_INPUT_DONE},
		{"a status that begins like it does not", "HTTP/1.1 1010\r\n",
			RELAY_INPUT_DONE},
		{"half a status line decides nothing", "HTTP/1.1 101",
			RELAY_INPUT_UPGRADE},
	};
	struct relay_input in = make_input(GET "\r\n");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool same = true;

		for (size_t at = 0; at <= strlen(rows[i].answer); at++)
			same &= read_answer(rows[i].answer, at) == rows[i].state;
		ok(same, "%s", rows[i].name);
	}
	relay_input_read_answer(&in, 0, STR("HTTP/1.1 101 X\r\n"));
	is_int(in.state, RELAY_INPUT_DONE, "a request for no WebSocket opens no tunnel");
	in = make_input(UPGRADE "\r\n");
	relay_input_read_answer(&in, 0, STR("HTTP/1.1 101 X\r\n"));
	is_int(relay_input_take(&in, STR(NEXT)), sizeof(NEXT) - 1,
		"all bytes go through an open tunnel");
}

int main(void)
{
	check_bodies();
	check_upgrade();
	return done_testing();
}
