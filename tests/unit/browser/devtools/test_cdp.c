/* Messages of a browser, told apart; and asking one that is this test. */
#include "browser/devtools/cdp.h"

#include "base/clock.h"
#include "base/fd.h"
#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct buf seen = BUF_INIT(65536);

/* --- Telling apart ---------------------------------------------------------------- */

static void feed(struct cdp_pipe *p, struct str bytes)
{
	struct str message;
	int r;

	if (cdp_pipe_put(p, bytes) < 0)
		buf_putc(&seen, '?');
	while ((r = cdp_pipe_next(p, &message)) <= 0)
		buf_fmt(&seen, "%s<%.*s>", r ? "!" : "", STR_ARG(message));
}

static void check_splits(void)
{
	const struct str in = STR("{}\0\0{\"a\":\"\\ud83d\\ude00\"}\0rest");
	const struct str want = STR("<{}><><{\"a\":\"\\ud83d\\ude00\"}>");
	struct cdp_pipe p;
	size_t bad = 0;

	for (size_t at = 0; at <= in.n; at++) {
		buf_reset(&seen);
		cdp_pipe_init(&p);
		feed(&p, str_make(in.p, at));
		feed(&p, str_skip(in, at));
		bad += !str_eq(buf_view(&seen), want);
		cdp_pipe_free(&p);
	}
	is_int(bad, 0, "the same, cut anywhere");
	buf_reset(&seen);
	cdp_pipe_init(&p);
	for (size_t at = 0; at < in.n; at++)
		feed(&p, str_make(in.p + at, 1));
	ok(str_eq(buf_view(&seen), want), "byte by byte");
	cdp_pipe_free(&p);
}

static void check_surrogates(void)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{"\"\\ud83d\"", "<\"\\ufffd\">"},
		{"\"\\ude00x\\u0041\"", "<\"\\ufffdx\\u0041\">"},
		{"\"\\ud83d\\ud83d\\ude00\"", "<\"\\ufffd\\ud83d\\ude00\">"},
		{"\"\\\\ud83d\"", "<\"\\\\ud83d\">"},
		{"\"\\ud83\"", "<\"\\ud83\">"},
		{"\"\\", "<\"\\>"},
	};
	struct cdp_pipe p;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&seen);
		cdp_pipe_init(&p);
		feed(&p, str_make(rows[i].in, strlen(rows[i].in) + 1));
		is_view(buf_view(&seen), rows[i].want, "%s", rows[i].in);
		cdp_pipe_free(&p);
	}
}

/* Of one that is too long only the head is kept, and the next is told again. */
static void check_long(void)
{
	static char block[CDP_READ];
	struct cdp_pipe p;
	struct str message;
	size_t most = 0;
	int r = 1;

	memset(block, 'x', sizeof(block));
	cdp_pipe_init(&p);
	for (size_t n = 0; n < CDP_MESSAGE_MAX + 20 * sizeof(block); n += sizeof(block)) {
		if (cdp_pipe_put(&p, str_make(block, sizeof(block))) < 0)
			break;
		r = cdp_pipe_next(&p, &message);
		if (r <= 0)
			break;
		most = p.in.n > most ? p.in.n : most;
	}
	is_int(r, 1, "a message without an end");
	ok(most <= CDP_MESSAGE_MAX + 2 * sizeof(block) && p.in.n == CDP_HEAD,
		"is not kept");
	is_int(cdp_pipe_put(&p, str_make("y\0{}\0", 5)), 0, "its end, and another");
	is_int(cdp_pipe_next(&p, &message), ERR_LIMIT, "it was too long");
	is_int(message.n, CDP_HEAD, "...and this is its head");
	is_int(cdp_pipe_next(&p, &message), 0, "the other");
	is_view(message, "{}", "...as it came");
	cdp_pipe_free(&p);
}

/* --- Asking ----------------------------------------------------------------------- */

static int there = -1, back = -1; /* the browser's ends */
static struct cdp c;
static struct arena a;

static void begin(void)
{
	int to[2], from[2];

	if (fd_pipe(to) < 0 || fd_pipe(from) < 0)
		return;
	there = to[0];
	back = from[1];
	cdp_init(&c, from[0], to[1]);
	arena_init(&a, 1 << 20);
}

static void end(void)
{
	cdp_close(&c);
	fd_close(&there);
	fd_close(&back);
	arena_reset(&a);
}

static void answer(struct str s)
{
	if (fd_write_all(back, s.p, s.n) < 0 || fd_write_all(back, "", 1) < 0)
		buf_puts(&seen, "lost");
}

/* What it was asked, all that is there. */
static const char *heard(void)
{
	static char text[4096];
	ssize_t n = read(there, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = '\n';
	return text;
}

static void note(void *ctx, struct str session, struct str method, struct json_val params)
{
	(void)ctx;
	buf_fmt(&seen, "[%.*s %.*s %.*s]", STR_ARG(session), STR_ARG(method),
		STR_ARG(json_raw(params)));
}

static bool wants(struct str method)
{
	return str_starts(method, STR("Page."));
}

static uint64_t soon(unsigned ms)
{
	return clock_ms() + ms;
}

static void check_calls(void)
{
	struct json_val v = {NULL, -1};
	uint64_t one = 0, two = 0;

	begin();
	is_int(cdp_send(&c, STR("S"), "Page.x", STR("{\"a\":1}"), &one), 0,
		"one question");
	is_str(heard(),
		"{\"id\":1,\"method\":\"Page.x\",\"params\":{\"a\":1},\"sessionId\":"
		"\"S\"}",
		"...as it goes out");
	is_int(cdp_send(&c, STR(""), "B.y", STR(""), &two), 0, "another");
	is_str(heard(), "{\"id\":2,\"method\":\"B.y\",\"params\":{}}",
		"...for the browser itself");
	answer(STR("{\"id\":2,\"result\":{\"two\":2}}"));
	answer(STR("{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"no\\u0021\"},"
		   "\"sessionId\":\"S\"}"));
	answer(STR("{\"id\":77,\"result\":{}}"));
	answer(STR("nonsense"));
	is_int(cdp_wait(&c, one, soon(5000), &a, &v), ERR_REFUSED,
		"the first is refused");
	is_str(c.refusal, "no!", "...in the browser's words");
	is_int(c.refusal_code, -32000, "...and by its number");
	is_int(cdp_wait(&c, two, soon(5000), &a, &v), 0, "the second is there");
	is_view(json_raw(v), "{\"two\":2}", "...as it came");
	is_int(cdp_wait(&c, two, soon(5000), &a, &v), ERR_LIMIT, "an answer comes once");
	is_int(cdp_call(&c, STR(""), "B.z", STR(""), soon(20), NULL, NULL), -ETIMEDOUT,
		"no answer in time");
	answer(STR("{\"id\":3,\"result\":{}}"));
	is_int(cdp_pump(&c, 0), 0, "one that comes too late is dropped");
	for (size_t i = 0; i < CDP_PENDING_MAX; i++)
		if (cdp_send(&c, STR(""), "B.q", STR(""), &one) < 0)
			buf_puts(&seen, "early");
	is_int(cdp_send(&c, STR(""), "B.q", STR(""), &two), ERR_LIMIT,
		"too many questions");
	cdp_drop_reply(&c, one);
	is_int(cdp_send(&c, STR(""), "B.q", STR(""), &two), 0, "one was given up");
	end();
	is_int(cdp_wait(&c, two, soon(5000), NULL, NULL), ERR_CLOSED,
		"all fail at the end");
	is_int(cdp_send(&c, STR(""), "B.q", STR(""), &one), ERR_CLOSED,
		"...and what follows");
}

static void check_events(void)
{
	begin();
	buf_reset(&seen);
	c.on_event = note;
	c.has_handler = wants;
	answer(STR("{\"method\":\"Page.a\",\"params\":{\"x\":[1]},\"sessionId\":\"S\"}"));
	answer(STR("{\"method\":\"Other.b\",\"params\":{}}"));
	answer(STR("{\"method\":\"Page.c\",\"params\":{]}"));
	answer(STR("{\"method\":\"Page.d\"}"));
	is_int(cdp_pump(&c, 0), 0, "events");
	is_view(buf_view(&seen), "[S Page.a {\"x\":[1]}][ Page.d ]",
		"those that are wanted, and can be read");
	end();
}

static int wake(void *arg)
{
	int *fd = arg;
	char byte;

	return read(*fd, &byte, 1) == 1 && byte == 'x' ? -ECANCELED : 0;
}

static bool impatient(void *ctx, uint64_t silent_ms)
{
	(void)ctx;
	return silent_ms < 50;
}

static struct {
	uint64_t said; /* when it last did */
	bool counts;
} talk;

/* One that does not answer, and then says something else. */
static bool talks(void *ctx, uint64_t silent_ms)
{
	uint64_t now = clock_ms();

	(void)ctx;
	if (silent_ms < 50)
		return true;
	if (!talk.said) {
		answer(STR("{\"method\":\"Page.a\",\"params\":{}}"));
		talk.said = now;
		return true;
	}
	talk.counts = silent_ms <= now - talk.said;
	return false;
}

/* One that answers while it is looked at. */
static bool is_late(void *ctx, uint64_t silent_ms)
{
	(void)ctx;
	if (!silent_ms)
		return true;
	answer(STR("{\"id\":1,\"result\":{}}"));
	return false;
}

static void check_ends(void)
{
	uint64_t id = 0;
	int pair[2];

	begin();
	is_int(fd_pipe(pair), 0, "somebody else");
	c.wake_fd = pair[0];
	c.on_wake = wake;
	c.wake_arg = &pair[0];
	is_int(fd_write_all(pair[1], "-x", 2), 0, "who says something");
	is_int(cdp_call(&c, STR(""), "B.q", STR(""), soon(5000), NULL, NULL), -ECANCELED,
		"ends what is waited for");
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	c.wake_fd = -1;
	is_int(cdp_send(&c, STR("S"), "B.q", STR(""), &id), 0, "a question for a page");
	cdp_fail_session(&c, STR("T"), -EPIPE);
	cdp_fail_session(&c, STR("S"), -EPIPE);
	is_int(cdp_wait(&c, id, soon(5000), NULL, NULL), -EPIPE, "the page has ended");
	c.on_silence = impatient;
	is_int(cdp_call(&c, STR(""), "B.q", STR(""), soon(20000), NULL, NULL), ERR_CLOSED,
		"one that never answers is given up");
	ok(strstr(heard(), "Browser.getVersion"),
		"...after it was asked whether it lives");
	is_int(cdp_pump(&c, 0), ERR_CLOSED, "...for good");
	end();
	begin();
	c.on_silence = talks;
	is_int(cdp_call(&c, STR(""), "B.q", STR(""), soon(20000), NULL, NULL), ERR_CLOSED,
		"one that says other things");
	ok(talk.counts, "...is silent since the last of them");
	end();
	begin();
	c.on_silence = is_late;
	is_int(cdp_call(&c, STR(""), "B.q", STR(""), soon(20000), NULL, NULL), 0,
		"one that answers at the last moment is heard");
	end();
	begin();
	fd_close(&back);
	is_int(cdp_call(&c, STR(""), "B.q", STR(""), soon(5000), NULL, NULL), ERR_CLOSED,
		"one that has ended");
	end();
}

/* A browser that does not read while it speaks does not hold us up. */
static void check_stall(void)
{
	struct buf big = BUF_INIT(4 << 20);
	uint64_t id = 0;

	begin();
	buf_puts(&big, "{\"a\":\"");
	while (big.n < 1 << 20)
		buf_puts(&big, "0123456789abcdef");
	buf_puts(&big, "\"}");
	is_int(cdp_send(&c, STR(""), "B.big", buf_view(&big), &id), 0,
		"more than a pipe holds");
	ok(c.queue.n > 0, "...waits");
	answer(STR("{\"id\":1,\"result\":{}}"));
	is_int(cdp_wait(&c, id, soon(5000), NULL, NULL), 0, "...while it is listened to");
	for (int i = 0; i < 1000 && c.queue.n; i++) {
		while (*heard())
			;
		if (cdp_poll(&c, 0) < 0)
			break;
	}
	is_int(c.queue.n, 0, "...and goes out at last");
	buf_free(&big);
	end();
}

/* --- By a WebSocket --------------------------------------------------------------- */

static void put_frame(struct buf *out, enum ws_op op, bool fin, struct str data)
{
	uint8_t head[WS_HEAD_MAX];
	size_t n = ws_write_head(head, op, fin, data.n, NULL);

	buf_put(out, (char *)head, n);
	buf_str(out, data);
}

/* The messages that have come to the other end, one on each line. */
static const char *heard_frames(int fd)
{
	static char text[4096], room[4096];
	struct buf out = BUF_INIT(sizeof(text));
	struct ws_event e;
	struct ws w;
	ssize_t got = read(fd, room, sizeof(room));
	size_t n = got > 0 ? (size_t)got : 0;
	char *p = room;

	ws_init(&w, true, sizeof(room));
	while (ws_next(&w, &p, &n, &e) == 0)
		buf_fmt(&out, "%d %.*s\n", e.op, STR_ARG(e.data));
	snprintf(text, sizeof(text), "%.*s", STR_ARG(buf_view(&out)));
	buf_free(&out);
	return text;
}

static void check_frames(void)
{
	struct buf in = BUF_INIT(4096);
	struct json_val v;
	uint64_t id = 0;
	size_t bad = 0, all;
	int pair[2];

	put_frame(&in, WS_TEXT, false, STR("{\"id\":1,\"res"));
	put_frame(&in, WS_PING, true, STR("there?"));
	put_frame(&in, WS_CONTINUATION, true, STR("ult\":{\"x\":1}}"));
	put_frame(&in, WS_TEXT, true, STR("{\"method\":\"Page.a\",\"params\":1}"));
	all = in.n;
	for (size_t at = 0; at <= all; at++) {
		if (fd_socketpair(SOCK_STREAM, pair) < 0)
			break;
		buf_reset(&seen);
		arena_init(&a, 1 << 20);
		cdp_init_socket(&c, pair[0]);
		c.on_event = note;
		c.has_handler = wants;
		bad += cdp_send(&c, STR(""), "B.q", STR(""), &id) != 0;
		bad += strcmp(heard_frames(pair[1]),
			       "1 {\"id\":1,\"method\":\"B.q\",\"params\":{}}\n") != 0;
		bad += fd_write_all(pair[1], in.p, at) < 0;
		bad += cdp_pump(&c, 0) != 0;
		bad += fd_write_all(pair[1], in.p + at, all - at) < 0;
		bad += cdp_wait(&c, id, soon(5000), &a, &v) != 0;
		bad += !str_eq(json_raw(v), STR("{\"x\":1}"));
		bad += cdp_pump(&c, 0) != 0;
		bad += !str_eq(buf_view(&seen), STR("[ Page.a 1]"));
		bad += strcmp(heard_frames(pair[1]), "10 there?\n") != 0;
		cdp_close(&c);
		fd_close(&pair[1]);
		arena_reset(&a);
	}
	is_int(bad, 0, "messages in frames, cut anywhere, and a ping");
	buf_free(&in);
}

/* What ends it, and that it does. */
static void check_frames_end(void)
{
	static const struct {
		const char *name;
		struct str in;
	} rows[] = {
		{"a goodbye", STR("\x88\x02\x03\xe8")},
		{"a masked frame",
			STR("\x81\x81"
			    "abcd"
			    "x")},
		{"bits that nobody has agreed on", STR("\xf1\x01x")},
		{"text that is none", STR("\x81\x01\xff")},
		{"a message within a message", STR("\x01\x01x\x01\x01x")},
	};
	int pair[2];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (fd_socketpair(SOCK_STREAM, pair) < 0)
			break;
		cdp_init_socket(&c, pair[0]);
		ok(fd_write_all(pair[1], rows[i].in.p, rows[i].in.n) >= 0 &&
				cdp_call(&c, STR(""), "B.q", STR(""), soon(5000), NULL,
					NULL) == ERR_CLOSED,
			"%s", rows[i].name);
		ok(c.in == -1 && c.out == -1, "...is the end");
		cdp_close(&c);
		fd_close(&pair[1]);
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	check_splits();
	check_surrogates();
	check_long();
	check_calls();
	check_events();
	check_ends();
	check_stall();
	check_frames();
	check_frames_end();
	buf_free(&seen);
	return done_testing();
}
