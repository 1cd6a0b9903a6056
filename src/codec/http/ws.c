#include "codec/http/ws.h"

#include "base/b64.h"
#include "base/utf8.h"
#include "limits.h"

#include <assert.h>
#include <bearssl_hash.h>

enum {
	FIN = 0x80,
	RESERVED = 0x70,
	OP = 0x0f,
	CONTROL = 0x08, /* set in the op of control frames */
	MASKED = 0x80,
	LEN = 0x7f,
	LEN_16 = 126,
	LEN_64 = 127,
	KEY = 24, /* 16 bytes in base64 */
};

static void ws_enter_state(struct ws *w, enum ws_state to)
{
	static const bool legal[WS_STATES][WS_STATES] = {
		[WS_HEAD] = {[WS_DATA] = true, [WS_CONTROL] = true, [WS_ENDED] = true},
		[WS_DATA] = {[WS_HEAD] = true, [WS_ENDED] = true},
		[WS_CONTROL] = {[WS_HEAD] = true, [WS_ENDED] = true},
	};

	assert(legal[w->state][to]);
	w->state = to;
	w->n = 0;
}

void ws_init(struct ws *w, bool server, uint64_t max)
{
	*w = (struct ws){.state = WS_HEAD, .server = server, .max = max};
}

static int ws_fail(struct ws *w, unsigned code, int err)
{
	w->code = code;
	ws_enter_state(w, WS_ENDED);
	return err;
}

static int ws_fail_protocol(struct ws *w)
{
	return ws_fail(w, WS_PROTOCOL, ERR_SYNTAX);
}

/* --- The head ----------------------------------------------------------------- */

/* The size of the whole head, as far as the bytes received so far determine it. */
static size_t ws_get_head_size(const struct ws *w)
{
	unsigned len = w->n > 1 ? (unsigned char)w->head[1] : 0;
	size_t n = 2;

	if ((len & LEN) == LEN_16)
		n += 2;
	else if ((len & LEN) == LEN_64)
		n += 8;
	return len & MASKED ? n + 4 : n;
}

/* Checks the first two bytes at once, before more bytes are received. */
static bool ws_is_head_legal(const struct ws *w)
{
	unsigned first = (unsigned char)w->head[0];
	unsigned second = (unsigned char)w->head[1];
	unsigned op = first & OP;

	if ((first & RESERVED) || !(second & MASKED) == w->server)
		return false;
	switch (op) {
	case WS_CONTINUATION:
		return w->message != WS_CONTINUATION;
	case WS_TEXT:
	case WS_BINARY:
		return w->message == WS_CONTINUATION;
	case WS_CLOSE:
	case WS_PING:
	case WS_PONG:
		return (first & FIN) && (second & LEN) <= WS_CONTROL_MAX;
	default:
		return false;
	}
}

/* The length must have the shortest form (5.2). */
static bool ws_read_length(const struct ws *w, uint64_t *length)
{
	unsigned len = (unsigned char)w->head[1] & LEN;
	size_t n = len == LEN_16 ? 2 : len == LEN_64 ? 8 : 0;
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)w->head[2 + i];
	*length = n ? v : len;
	if (n == 2)
		return v >= LEN_16;
	return n == 0 || (v > UINT16_MAX && v >> 63 == 0);
}

static int ws_begin_frame(struct ws *w)
{
	size_t n = ws_get_head_size(w);

	w->fin = (unsigned char)w->head[0] & FIN;
	w->op = (unsigned char)w->head[0] & OP;
	w->mask_at = 0;
	memset(w->mask, 0, sizeof(w->mask));
	if (w->server)
		memcpy(w->mask, w->head + n - 4, 4);
	if (!ws_read_length(w, &w->left))
		return ws_fail_protocol(w);
	if (w->op & CONTROL) {
		ws_enter_state(w, WS_CONTROL);
		return 1;
	}
	if (w->op != WS_CONTINUATION) {
		w->message = w->op;
		w->size = 0;
		w->fragments = 0;
	}
	/* A frame may carry a single byte and costs far more than that. */
	if (++w->fragments > WS_FRAGMENTS_MAX)
		return ws_fail(w, WS_POLICY, ERR_LIMIT);
	if (w->left > w->max - w->size)
		return ws_fail(w, WS_TOO_BIG, ERR_LIMIT);
	w->size += w->left;
	ws_enter_state(w, WS_DATA);
	return 1;
}

/* Returns 1 or an error: a head is no event. */
static int ws_read_head(struct ws *w, char **in, size_t *n)
{
	while (*n) {
		w->head[w->n++] = *(*in)++;
		--*n;
		if (w->n == 2 && !ws_is_head_legal(w))
			return ws_fail_protocol(w);
		if (w->n >= 2 && w->n == ws_get_head_size(w))
			return ws_begin_frame(w);
	}
	return 1;
}

/* --- The payload -------------------------------------------------------------- */

static void ws_expect_byte(struct ws *w, uint8_t left, uint8_t lo, uint8_t hi)
{
	w->utf8_left = left;
	w->utf8_lo = lo;
	w->utf8_hi = hi;
}

/* Takes the first byte of a multi-byte character: sets what may follow it (RFC 3629). */
static bool ws_begin_char(struct ws *w, unsigned char c)
{
	if (c < 0xc2 || c > 0xf4)
		return false;
	if (c < 0xe0)
		ws_expect_byte(w, 1, 0x80, 0xbf);
	else if (c < 0xf0)
		ws_expect_byte(w, 2, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf);
	else
		ws_expect_byte(w, 3, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf);
	return true;
}

/* A text is refused as soon as it cannot become valid UTF-8 (8.1). */
static bool ws_check_text(struct ws *w, struct str s)
{
	while (s.n) {
		unsigned char c = (unsigned char)*s.p;

		if (!w->utf8_left) {
			s = str_skip(s, utf8_prefix(s));
			if (!s.n)
				break;
			if (!ws_begin_char(w, (unsigned char)*s.p))
				return false;
		} else if (c < w->utf8_lo || c > w->utf8_hi) {
			return false;
		} else {
			ws_expect_byte(w, (uint8_t)(w->utf8_left - 1), 0x80, 0xbf);
		}
		s = str_skip(s, 1);
	}
	return true;
}

/* Takes a piece of the payload, unmasked. */
static struct str ws_read_piece(struct ws *w, char **in, size_t *n)
{
	size_t take = *n < w->left ? *n : (size_t)w->left;
	struct str piece = str_make(*in, take);

	if (w->server)
		ws_mask(*in, take, w->mask, w->mask_at);
	w->mask_at = (uint8_t)((w->mask_at + take) & 3);
	w->left -= take;
	*in += take;
	*n -= take;
	return piece;
}

static int ws_read_data(struct ws *w, char **in, size_t *n, struct ws_event *e)
{
	struct str piece = ws_read_piece(w, in, n);
	bool last = w->fin && w->left == 0;
	uint8_t op = w->message;

	if (op == WS_TEXT && (!ws_check_text(w, piece) || (last && w->utf8_left)))
		return ws_fail(w, WS_BAD_TEXT, ERR_UTF8);
	if (w->left == 0)
		ws_enter_state(w, WS_HEAD);
	if (last)
		w->message = WS_CONTINUATION;
	/* An empty frame is no event unless it ends the message. */
	if (!piece.n && !last)
		return 1;
	*e = (struct ws_event){.op = op, .last = last, .data = piece};
	return 0;
}

/* Codes that may stand in a close frame (7.4). */
static bool ws_is_code(unsigned code)
{
	if (code >= 3000)
		return code <= 4999;
	return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 &&
		code != 1006;
}

static int ws_read_close(struct ws *w, struct ws_event *e)
{
	struct str data = e->data;

	e->code = WS_NO_CODE;
	if (data.n == 0)
		return 0;
	if (data.n == 1)
		return ws_fail_protocol(w);
	e->code = (unsigned)(unsigned char)data.p[0] << 8 | (unsigned char)data.p[1];
	e->data = str_skip(data, 2);
	if (!ws_is_code(e->code))
		return ws_fail_protocol(w);
	return utf8_is_valid(e->data) ? 0 : ws_fail(w, WS_BAD_TEXT, ERR_UTF8);
}

static int ws_read_control(struct ws *w, char **in, size_t *n, struct ws_event *e)
{
	struct str piece = ws_read_piece(w, in, n);
	int r = 0;

	memcpy(w->control + w->n, piece.p, piece.n);
	w->n = (uint8_t)(w->n + piece.n);
	if (w->left)
		return 1;
	*e = (struct ws_event){
		.op = w->op, .last = true, .data = str_make(w->control, w->n)};
	if (w->op == WS_CLOSE)
		r = ws_read_close(w, e);
	if (!r)
		ws_enter_state(w, w->op == WS_CLOSE ? WS_ENDED : WS_HEAD);
	return r;
}

int ws_next(struct ws *w, char **in, size_t *n, struct ws_event *e)
{
	int r = 1;

	while (r == 1) {
		/* An empty payload is complete without another byte. */
		bool whole = w->state != WS_HEAD && w->left == 0;

		if (w->state == WS_ENDED || (*n == 0 && !whole))
			return 1;
		if (w->state == WS_HEAD)
			r = ws_read_head(w, in, n);
		else if (w->state == WS_DATA)
			r = ws_read_data(w, in, n, e);
		else
			r = ws_read_control(w, in, n, e);
	}
	return r;
}

/* --- Sending ------------------------------------------------------------------ */

size_t ws_write_head(uint8_t out[WS_HEAD_MAX], enum ws_op op, bool fin, uint64_t n,
	const uint8_t key[4])
{
	unsigned masked = key ? MASKED : 0;
	size_t bytes = n < LEN_16 ? 0 : n <= UINT16_MAX ? 2 : 8;
	unsigned len = bytes == 0 ? (unsigned)n : bytes == 2 ? LEN_16 : LEN_64;

	out[0] = (uint8_t)((fin ? FIN : 0U) | (unsigned)op);
	out[1] = (uint8_t)(masked | len);
	for (size_t i = 0; i < bytes; i++)
		out[2 + i] = (uint8_t)(n >> (8 * (bytes - 1 - i)));
	if (!key)
		return 2 + bytes;
	memcpy(out + 2 + bytes, key, 4);
	return 2 + bytes + 4;
}

void ws_mask(char *p, size_t n, const uint8_t key[4], uint64_t offset)
{
	uint8_t turned[8];
	uint64_t wide, word;
	size_t i = 0;

	for (size_t k = 0; k < sizeof(turned); k++)
		turned[k] = key[(offset + k) & 3];
	memcpy(&wide, turned, sizeof(wide));
	for (; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		word ^= wide;
		memcpy(p + i, &word, sizeof(word));
	}
	for (; i < n; i++)
		p[i] = (char)((unsigned char)p[i] ^ turned[i & 7]);
}

size_t ws_write_close(char out[WS_CONTROL_MAX], unsigned code, struct str reason)
{
	if (reason.n > WS_CONTROL_MAX - 2) {
		reason.n = WS_CONTROL_MAX - 2;
		reason.n -= utf8_unfinished_length(reason);
	}
	out[0] = (char)(code >> 8);
	out[1] = (char)code;
	memcpy(out + 2, reason.p, reason.n);
	return 2 + reason.n;
}

/* --- The handshake ------------------------------------------------------------ */

bool ws_is_key(struct str key)
{
	struct buf bytes = BUF_INIT(KEY);
	bool is = key.n == KEY && b64_decode(&bytes, key) == 0 && bytes.n == 16;

	buf_free(&bytes);
	return is;
}

void ws_write_accept(struct buf *out, struct str key)
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	char digest[br_sha1_SIZE];
	br_sha1_context sha1;

	br_sha1_init(&sha1);
	br_sha1_update(&sha1, key.p, key.n);
	br_sha1_update(&sha1, guid, sizeof(guid) - 1);
	br_sha1_out(&sha1, digest);
	b64_encode(out, str_make(digest, sizeof(digest)));
}

void ws_copy_reason(char out[WS_CONTROL_MAX + 1], struct str reason)
{
	size_t n = reason.n < WS_CONTROL_MAX ? reason.n : WS_CONTROL_MAX;

	for (size_t i = 0; i < n; i++)
		out[i] = reason.p[i] >= ' ' && reason.p[i] <= '~' ? reason.p[i] : '?';
	out[n] = '\0';
}

bool ws_is_idle(const struct ws *w)
{
	return w->state == WS_HEAD && !w->n && w->message == WS_CONTINUATION;
}
