/*
 * WebSocket connections in both roles against a peer of bytes: the list of cases
 * follows the sections of the Autobahn test suite.
 */
#include "tests/support/ws_cases.h"
#include "tests/support/ws_peer.h"

#include <poll.h>

/* --- The list ------------------------------------------------------------------- */

static void run_row(const struct row *row, bool as_server, size_t step)
{
	struct buf in = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
	const char *role = as_server ? "server" : "client";
	bool closes = false;
	size_t masks = 0;

	for (const struct in *f = row->in; f < row->in + 8 && f->first; f++)
		frame(&in, as_server, f->first, f->payload);
	for (const struct in *f = row->out; f < row->out + 4 && f->first; f++) {
		frame(&want, false, f->first, f->payload);
		closes = closes || f->first == CLOSE;
		masks += as_server ? 0 : 4;
	}
	up(as_server);
	say_chopped(buf_view(&in), step);
	if (closes) {
		/* A client waits for the server to close the connection. */
		while (!as_server && got.n < want.n + masks && !late && !peer_closed)
			turn();
		if (!as_server)
			fd_close(&peer);
		while (conn && !late && !(as_server && peer_closed))
			turn();
		if (as_server)
			fd_close(&peer);
		while (conn && !late)
			turn();
		ok(!conn && ended_why, "%s as %s ends", row->name, role);
	} else {
		wait_for(want.n + masks);
		ok(conn, "%s as %s goes on", row->name, role);
	}
	if (!as_server)
		unmask_got();
	is_mem(got.p, got.n, want.p, want.n, "%s as %s, by %zu", row->name, role, step);
	ok(!late, "in time");
	down();
	buf_free(&in);
	buf_free(&want);
}

/* --- 9 and 10: large ones ------------------------------------------------------- */

static void large(bool as_server, unsigned op, size_t n, size_t piece, size_t step)
{
	const char *role = as_server ? "server" : "client";
	struct buf in = BUF_INIT(4 * BIG), want = BUF_INIT(4 * BIG);
	char *text = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)('a' + i % 23);
	for (size_t at = 0; at < n || at == 0; at += piece) {
		size_t here = n - at < piece ? n - at : piece;

		frame(&in, as_server, (at ? 0U : op) | (at + here == n ? 0x80U : 0U),
			str_make(text + at, here));
	}
	frame(&want, false, 0x80 | op, str_make(text, n));
	up(as_server);
	if (step)
		say_chopped(buf_view(&in), step);
	else
		say(buf_view(&in));
	wait_for(want.n + (as_server ? 0 : 4));
	if (!as_server)
		unmask_got();
	ok(got.n == want.n && !memcmp(got.p, want.p, got.n),
		"9 %zu bytes in pieces of %zu, by %zu, as %s", n, piece, step, role);
	is_int(messages_n, 1, "are one message");
	down();
	free(text);
	buf_free(&in);
	buf_free(&want);
}

static void test_large(bool as_server)
{
	conf.message_max = BIG;
	conf.queue_max = BIG + 1024;
	for (size_t n = 65534; n < 65538; n++)
		large(as_server, WS_BINARY, n, n, 0);
	large(as_server, WS_TEXT, 65536, 65536, 997);
	large(as_server, WS_TEXT, 256 << 10, 256 << 10, 0);
	large(as_server, WS_TEXT, 4 << 20, 4 << 20, 0);
	large(as_server, WS_BINARY, 4 << 20, 64 << 10, 0);
	large(as_server, WS_TEXT, 1 << 20, 1024, 0);
	large(as_server, WS_BINARY, BIG, BIG, 0);
	large(as_server, WS_TEXT, 65536, 1300, 0); /* 10.1.1 */
	conf.message_max = conf.queue_max = 0;
}

static void test_too_large(void)
{
	static const char head[] = "\x82\xff\0\0\0\0\0\x10\0\x01\1\2\3\4";
	static const char want[] = "\x88\x1a\x03\xf1the message is too large";

	up(true);
	say(str_make(head, sizeof(head) - 1));
	wait_for(sizeof(want) - 1);
	is_mem(got.p, got.n, want, sizeof(want) - 1, "too large a message is 1009");
	fd_close(&peer);
	while (conn && !late)
		turn();
	is_int(ended_code, WS_TOO_BIG, "as the layer above is told");
	down();
}

/* --- Floods --------------------------------------------------------------------- */

/* n frames are one more than is allowed. */
static void flooded(
	bool as_server, unsigned first, unsigned next, size_t n, const char *why)
{
	struct buf in = BUF_INIT(1 << 20);

	up(as_server);
	for (size_t i = 0; i < n; i++)
		frame(&in, as_server, i ? next : first, STR("x"));
	say(buf_view(&in));
	/* A client waits for the server to close the connection. */
	while (conn && !peer_closed && !late &&
		(as_server || str_find(buf_view(&got), STR("\x88")) == got.n))
		turn();
	fd_close(&peer);
	while (conn && !late)
		turn();
	is_int(ended_code, WS_POLICY, "%s as %s: 1008", why,
		as_server ? "server" : "client");
	is_str(ended_why, why, "the reason is given");
	down();
	buf_free(&in);
}

static void test_floods(bool as_server)
{
	struct buf in = BUF_INIT(1 << 20);

	flooded(as_server, 0x02, 0x00, WS_FRAGMENTS_MAX + 1,
		"the message has too many fragments");
	flooded(as_server, 0x89, 0x89, WS_CONTROLS + 1, "too many pings");
	flooded(as_server, 0x8a, 0x8a, WS_CONTROLS + 1, "too many pings");

	up(as_server);
	for (size_t i = 0; i < WS_FRAGMENTS_MAX; i++)
		frame(&in, as_server,
			(i ? 0U : 2U) | (i == WS_FRAGMENTS_MAX - 1 ? 0x80U : 0U),
			STR("x"));
	for (size_t i = 0; i < WS_CONTROLS; i++)
		frame(&in, as_server, 0x89, STR(""));
	say(buf_view(&in));
	wait_for(4 + WS_FRAGMENTS_MAX + (size_t)WS_CONTROLS * 2 +
		(as_server ? 0 : 4 * (WS_CONTROLS + 1)));
	is_int(messages_n, 1, "1,024 fragments are a message");
	ok(conn && !late, "100 pings at once are answered");
	down();
	buf_free(&in);
}

/* --- The handshake -------------------------------------------------------------- */

static const struct {
	const char *ask;
	const char *status;
} asked[] = {
	{ASK, "HTTP/1.1 101 "},
	{"GET /x HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 426 "},
	{"GET /x HTTP/1.1\r\n" ASK_FIELDS ASK_VERSION "\r\n", "HTTP/1.1 400 "},
	{"GET /x HTTP/1.1\r\n" ASK_FIELDS ASK_KEY "\r\n", "HTTP/1.1 426 "},
	{"GET /x HTTP/1.1\r\n" ASK_FIELDS ASK_KEY "Sec-WebSocket-Version: 8\r\n\r\n",
		"HTTP/1.1 426 "},
	{"GET /x HTTP/1.1\r\n" ASK_FIELDS ASK_KEY ASK_KEY ASK_VERSION "\r\n",
		"HTTP/1.1 400 "},
	{"GET /x HTTP/1.1\r\n" ASK_FIELDS ASK_VERSION
	 "Sec-WebSocket-Key: c2hvcnQ=\r\n\r\n",
		"HTTP/1.1 400 "},
	{"GET /x HTTP/1.0\r\n" ASK_FIELDS ASK_KEY ASK_VERSION "\r\n", "HTTP/1.1 400 "},
	{"POST /x HTTP/1.1\r\n" ASK_FIELDS ASK_KEY ASK_VERSION "\r\n", "HTTP/1.1 400 "},
	{"GET /x HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n" ASK_KEY ASK_VERSION
	 "\r\n",
		"HTTP/1.1 400 "},
	{"GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n" ASK_KEY ASK_VERSION
	 "\r\n",
		"HTTP/1.1 426 "},
};

static void test_asked(void)
{
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		open_server(str_c(asked[i].ask));
		wait_for(13);
		ok(got.n >= 13 && str_starts(buf_view(&got), str_c(asked[i].status)),
			"asked %zu: %s", i, asked[i].status);
		down();
	}
	open_server(STR(ASK));
	wait_for(sizeof(AGREED) - 1);
	is_mem(got.p, got.n, AGREED, sizeof(AGREED) - 1, "the answer of RFC 6455, 1.3");
	down();
}

/* Frames may come in one piece with the handshake, and it in many. */
static void test_early(void)
{
	static const char ping[] = "\x89\x81\1\2\3\4p";
	struct buf all = BUF_INIT(4096);

	buf_puts(&all, ASK);
	buf_put(&all, ping, sizeof(ping) - 1);
	for (size_t step = 1; step < all.n; step += 61) {
		open_server(STR(""));
		say_chopped(buf_view(&all), step);
		wait_for(sizeof(AGREED) - 1 + 3);
		ok(got.n > 3 && !memcmp(got.p + got.n - 3, "\x8a\x01q", 3),
			"a ping behind the handshake, by %zu", step);
		down();
	}
	buf_free(&all);
	open_client(STR("A: b\r\n"));
	answer_client(SERVER_HEAD "\r\n\x81\x02hi");
	wait_for(8);
	unmask_got();
	is_mem(got.p, got.n, "\x81\x02hi", 4, "a message behind the answer");
	down();
}

static void test_refused_client(void)
{
	static const struct {
		const char *head, *why;
	} all[] = {
		{"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n",
			"the server refused the WebSocket (status 401 or 403): "
			"check the token"},
		{"HTTP/1.1 101 Hi\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n"
		 "Sec-WebSocket-Accept: @\r\n\r\n",
			"the server did not upgrade the connection to a WebSocket"},
		{"HTTP/1.1 101 Hi\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: @"
		 "\r\n\r\n",
			"the server did not upgrade the connection to a WebSocket"},
		{"HTTP/1.1 101 Hi\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		 "Sec-WebSocket-Accept: x@\r\n\r\n",
			"the server's Sec-WebSocket-Accept does not match the request"},
		{"HTTP/1.1 101 Hi\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		 "\r\n",
			"the server's answer is not that of a WebSocket server"},
		{SERVER_HEAD "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
			"the server requires an extension of WebSocket"},
		{"nonsense\r\n\r\n", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		open_client(STR(""));
		answer_client(all[i].head);
		while (conn && !late)
			turn();
		ok(!conn && ended_code == WS_LOST && !opened_n, "answer %zu is refused",
			i);
		if (all[i].why)
			is_str(ended_why, all[i].why, "and why is told");
		down();
	}
}

/* --- Life and death ------------------------------------------------------------- */

static void test_close(bool as_server)
{
	static const char bye[] = "\x88\x05\x03\xe9"
				  "bye";

	up(as_server);
	ws_conn_close(conn, WS_GOING_AWAY, STR("bye"));
	ok(!ws_conn_send(conn, WS_TEXT, STR("no"), STR("")), "nothing more is sent");
	wait_for(sizeof(bye) - 1 + (as_server ? 0 : 4));
	if (!as_server)
		unmask_got();
	is_mem(got.p, got.n, bye, sizeof(bye) - 1, "we say goodbye");
	frame(&to_say, as_server, T, STR("late"));
	frame(&to_say, as_server, CLOSE, STR("\x03\xe9"));
	while (as_server && !peer_closed && !late)
		turn();
	ok(!as_server || peer_closed, "the server closes first");
	if (!as_server)
		for (int i = 0; i < 5; i++)
			turn();
	fd_close(&peer);
	while (conn && !late)
		turn();
	is_int(ended_code, WS_GOING_AWAY, "the code comes back");
	is_int(messages_n, 0, "what comes behind goodbye is not heard");
	down();
}

/* A peer that answers each ping: more pongs would be too many. */
static void test_answered(void)
{
	unsigned answered = 0;

	up(false);
	while (beats_n < 3 * conf.dead_ms / conf.beat_ms && conn && !late) {
		if (answered != beats_n)
			frame(&to_say, false, PONG, STR(""));
		answered = beats_n;
		turn();
	}
	ok(conn && !late, "a peer that answers each ping is not dead");
	down();
}

static void test_deadlines(void)
{
	conf.close_ms = 20;
	up(true);
	ws_conn_close(conn, WS_NORMAL, STR(""));
	while (conn && !late)
		turn();
	ok(!late, "a peer that does not close is left");
	down();
	conf.close_ms = 0;

	conf.beat_ms = 5;
	conf.dead_ms = 60;
	up(true);
	while (conn && !late)
		turn();
	is_str(ended_why, "the peer did not answer a ping in time",
		"a silent peer is dead");
	is_int(beats_n, conf.dead_ms / conf.beat_ms, "after so many pings");
	ok(got.n >= 4 && !memcmp(got.p, "\x89\0\x89\0", 4), "that it was sent");
	down();
	test_answered();
	up(true);
	/* As a container that is paused: the peer was not asked meanwhile. */
	poll(NULL, 0, (int)conf.dead_ms + 20);
	while (beats_n == 0 && conn && !late)
		turn();
	ok(conn, "the time for which this process is stopped is no silence of the peer");
	down();
	conf.beat_ms = conf.dead_ms = 0;

	conf.open_ms = 20;
	open_client(STR(""));
	while (conn && !late)
		turn();
	is_str(ended_why, "the server did not answer in time", "a silent server");
	down();
	conf.open_ms = 0;
}

static void test_lost(void)
{
	up(true);
	fd_close(&peer);
	while (conn && !late)
		turn();
	is_int(ended_code, WS_LOST, "an end without a close");
	down();
	up(true);
	deletes = true;
	frame(&to_say, true, T, STR("a"));
	frame(&to_say, true, T, STR("b"));
	while (conn && !late)
		turn();
	is_int(messages_n, 1, "one that is deleted tells nothing more");
	ok(!ended_why, "not even its end");
	down();
}

/* A writer is told when it may go on, and what it writes stays bounded. */
static void test_room(void)
{
	size_t total = 3 << 20, most = 0;

	up(true);
	flood = total;
	on_room(NULL);
	while (got.n < total && conn && !late) {
		if (ws_conn_queued(conn) > most)
			most = ws_conn_queued(conn);
		turn();
	}
	ok(conn && room_n > 10, "room is told of (%u times)", room_n);
	ok(most <= 65536 + 4200, "no more is queued than asked for (%zu)", most);
	down();
	up(true);
	for (int i = 0; i < 1000 && conn; i++)
		(void)ws_conn_send(conn, WS_BINARY, STR(X125 X125), STR(X125 X125));
	conf.queue_max = 1000;
	down();
	up(true);
	for (int i = 0; i < 20; i++)
		(void)ws_conn_send(conn, WS_BINARY, STR(X125), STR(""));
	while (conn && !late)
		turn();
	is_str(ended_why, "the peer reads too slowly: the queue of frames is full",
		"it has an end");
	down();
	conf.queue_max = 0;
}

/* Messages of one peer that are expensive do not hold up all others. */
static void test_turn(void)
{
	enum { MESSAGES = 60 };
	unsigned first;

	up(true);
	work_us = 2000; /* longer than a turn of the peer, and than one of the test */
	for (int i = 0; i < MESSAGES; i++)
		frame(&to_say, true, B, STR(X125));
	while (messages_n == 0 && conn && !late)
		turn();
	first = messages_n;
	work_us = 0;
	ok(first < MESSAGES / 2, "a turn ends before all messages that have come (%u)",
		first);
	while (messages_n < MESSAGES && conn && !late)
		turn();
	is_int(messages_n, MESSAGES, "the other ones come in later turns");
	down();
}

int main(void)
{
	ws_peer_begin();
	for (int role = 0; role < 2; role++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			run_row(&rows[i], role, 1 << 20);
			if (rows[i].in[0].payload.n < 8)
				run_row(&rows[i], role, 1);
		}
		test_large(role);
		test_close(role);
	}
	test_floods(true);
	test_floods(false);
	test_too_large();
	test_asked();
	test_early();
	test_refused_client();
	test_deadlines();
	test_lost();
	test_room();
	test_turn();
	return ws_peer_end();
}
