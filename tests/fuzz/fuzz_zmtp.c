/*
 * ZMTP: what is handed out, and what is sent, is the same whether the bytes come at
 * once or cut in two.
 */
#include "codec/zmtp.h"

#include <assert.h>
#include <stdlib.h>

enum { SEEN_MAX = 1 << 20 };

/* The fuzzer shall not spend its time on guessing these. */
static const char greeting[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\1NULL";
static const char *const readies[] = {
	[ZMTP_DEALER] = "\4\x1c\5READY\x0bSocket-Type\0\0\0\6ROUTER",
	[ZMTP_SUB] = "\4\x19\5READY\x0bSocket-Type\0\0\0\3PUB",
	[ZMTP_REQ] = "\4\x19\5READY\x0bSocket-Type\0\0\0\3REP",
};

static void feed(struct zmtp *z, struct str in, struct buf *seen)
{
	struct zmtp_message m;
	enum zmtp_step step;

	if (z->state == ZMTP_S_FAILED)
		return;
	while ((step = zmtp_next(z, &in, &m)) != ZMTP_MORE) {
		buf_fmt(seen, "<%d>", (int)step);
		if (step == ZMTP_FAILED) {
			buf_fmt(seen, "%s:", z->reason);
			buf_str(seen, z->peer_reason);
			break;
		}
		if (step == ZMTP_READY)
			continue;
		buf_fmt(seen, "%llu,%zu:", (unsigned long long)m.bytes, m.parts_n);
		for (size_t i = 0; i < m.parts_n; i++)
			buf_str(seen, m.parts[i]);
	}
}

static void run(
	enum zmtp_type type, bool greeted, struct str in, size_t at, struct buf *seen)
{
	struct zmtp z;

	zmtp_init(&z, type, STR("id"));
	if (greeted) {
		feed(&z, str_make(greeting, sizeof(greeting)), seen);
		feed(&z, str_make(readies[type], (size_t)readies[type][1] + 2), seen);
	}
	feed(&z, str_make(in.p, at), seen);
	feed(&z, str_skip(in, at), seen);
	buf_str(seen, buf_view(&z.out));
	zmtp_free(&z);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf once = BUF_INIT(SEEN_MAX), cut = BUF_INIT(SEEN_MAX);
	size_t body = n > 2 ? n - 2 : 0;
	char *exact;

	if (n < 2 || n > 65536)
		return 0;
	exact = malloc(body + !body);
	assert(exact);
	if (body)
		memcpy(exact, p + 2, body);
	run(p[0] % 3, p[0] & 4, str_make(exact, body), body, &once);
	run(p[0] % 3, p[0] & 4, str_make(exact, body), p[1] * body / 256, &cut);
	assert(str_eq(buf_view(&once), buf_view(&cut)));
	free(exact);
	buf_free(&once);
	buf_free(&cut);
	return 0;
}
