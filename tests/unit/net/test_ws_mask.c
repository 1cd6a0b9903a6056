/*
 * The masking keys of a WebSocket client (RFC 6455, 5.3): each frame has a fresh random
 * key, so that earlier frames do not predict it.
 */
#include "tests/support/ws_peer.h"

enum {
	FRAMES = 20000,
	BATCH = 1000,    /* frames on their way at once, so that the queue never fills */
	FRAME_BYTES = 7, /* two of the head, the key, one of the payload */
	REPEATS_MAX = 3, /* 0.05 are expected; 4 have a chance of 1 in 4 million */
	BITS_SPREAD = 424, /* six standard deviations of the number of set bits */
};

static uint32_t keys[FRAMES];

static void send_batch(size_t first)
{
	size_t sent = 0;

	buf_reset(&got);
	while (sent < BATCH && ws_conn_send(conn, WS_BINARY, STR("x"), STR("")))
		sent++;
	is_int(sent, BATCH, "a batch is queued");
	if (!ok(wait_for((size_t)BATCH * FRAME_BYTES), "the peer receives it"))
		return;
	for (size_t i = 0; i < BATCH; i++) {
		const char *frame = got.p + i * FRAME_BYTES;

		memcpy(&keys[first + i], frame + 2, sizeof(keys[0]));
		if (frame[6] != ('x' ^ frame[2]))
			ok(false, "frame %zu is masked with the key that it carries", i);
	}
}

static int compare_keys(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void check_bits(void)
{
	for (unsigned bit = 0; bit < 32; bit++) {
		int set = 0;

		for (size_t i = 0; i < FRAMES; i++)
			set += keys[i] >> bit & 1u ? 1 : 0;
		ok(abs(set - FRAMES / 2) < BITS_SPREAD,
			"bit %u is set in half of the keys (%d)", bit, set);
	}
}

static void check_repeats(void)
{
	size_t repeats = 0;

	qsort(keys, FRAMES, sizeof(keys[0]), compare_keys);
	for (size_t i = 1; i < FRAMES; i++)
		repeats += keys[i] == keys[i - 1];
	ok(repeats <= REPEATS_MAX, "%zu of %d keys repeat", repeats, FRAMES);
}

int main(void)
{
	ws_peer_begin();
	up(false);
	for (size_t i = 0; i < FRAMES; i += BATCH)
		send_batch(i);
	check_bits();
	check_repeats();
	down();
	return ws_peer_end();
}
