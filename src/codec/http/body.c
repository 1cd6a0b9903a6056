#include "codec/http/body.h"

enum { SIZE_DIGITS = 8 };

void body_init(struct body *b, enum http_framing framing, uint64_t length)
{
	static const enum body_state first[] = {
		[HTTP_NO_BODY] = BODY_DONE,
		[HTTP_LENGTH] = BODY_DATA,
		[HTTP_CHUNKED] = BODY_SIZE,
		[HTTP_UNTIL_CLOSE] = BODY_DATA,
	};

	*b = (struct body){.state = first[framing], .framing = framing, .left = length};
	if (framing == HTTP_UNTIL_CLOSE)
		b->left = UINT64_MAX;
	if (framing == HTTP_LENGTH && length == 0)
		b->state = BODY_DONE;
}

static int body_parse_hex(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int body_set_state(struct body *b, enum body_state next)
{
	b->state = next;
	b->line_n = 0;
	return 0;
}

/* Accepts only the byte want, and then enters the state next. */
static int body_expect_byte(
	struct body *b, unsigned char c, char want, enum body_state next)
{
	return c == (unsigned char)want ? body_set_state(b, next) : ERR_SYNTAX;
}

static int body_on_data_cr(struct body *b, unsigned char c)
{
	return body_expect_byte(b, c, '\r', BODY_DATA_LF);
}

static int body_on_data_lf(struct body *b, unsigned char c)
{
	return body_expect_byte(b, c, '\n', BODY_SIZE);
}

static int body_on_size(struct body *b, unsigned char c)
{
	int digit = body_parse_hex(c);

	if (digit >= 0) {
		b->left = b->left << 4 | (unsigned)digit;
		return ++b->line_n > SIZE_DIGITS ? ERR_SYNTAX : 0;
	}
	if (b->line_n == 0)
		return ERR_SYNTAX;
	if (c == ';')
		return body_set_state(b, BODY_EXT);
	return body_expect_byte(b, c, '\r', BODY_SIZE_LF);
}

static int body_on_ext(struct body *b, unsigned char c)
{
	if (c == '\r')
		return body_set_state(b, BODY_SIZE_LF);
	if (!http_is_value_char(c) || ++b->line_n > HTTP_CHUNK_EXT_MAX)
		return ERR_SYNTAX;
	return 0;
}

static int body_on_size_lf(struct body *b, unsigned char c)
{
	return body_expect_byte(b, c, '\n', b->left ? BODY_DATA : BODY_LINE);
}

/* Trailer fields are checked like header fields, and discarded. */
static int body_count_trailer(struct body *b, enum body_state next)
{
	b->state = next;
	return ++b->trailer_n > HTTP_TRAILER_MAX ? ERR_LIMIT : 0;
}

static int body_on_line(struct body *b, unsigned char c)
{
	if (http_is_token_char(c))
		return body_count_trailer(b, BODY_NAME);
	return body_expect_byte(b, c, '\r', BODY_LAST_LF);
}

static int body_on_name(struct body *b, unsigned char c)
{
	if (c == ':')
		return body_count_trailer(b, BODY_VALUE);
	return http_is_token_char(c) ? body_count_trailer(b, BODY_NAME) : ERR_SYNTAX;
}

static int body_on_value(struct body *b, unsigned char c)
{
	if (c == '\r')
		return body_count_trailer(b, BODY_VALUE_LF);
	return http_is_value_char(c) ? body_count_trailer(b, BODY_VALUE) : ERR_SYNTAX;
}

static int body_on_value_lf(struct body *b, unsigned char c)
{
	return body_expect_byte(b, c, '\n', BODY_LINE);
}

static int body_on_last_lf(struct body *b, unsigned char c)
{
	return body_expect_byte(b, c, '\n', BODY_DONE);
}

typedef int byte_fn(struct body *b, unsigned char c);

static byte_fn *const on_byte[BODY_STATES] = {
	[BODY_DATA_CR] = body_on_data_cr,
	[BODY_DATA_LF] = body_on_data_lf,
	[BODY_SIZE] = body_on_size,
	[BODY_EXT] = body_on_ext,
	[BODY_SIZE_LF] = body_on_size_lf,
	[BODY_LINE] = body_on_line,
	[BODY_NAME] = body_on_name,
	[BODY_VALUE] = body_on_value,
	[BODY_VALUE_LF] = body_on_value_lf,
	[BODY_LAST_LF] = body_on_last_lf,
};

static struct str body_read_data(struct body *b, struct str *in)
{
	size_t n = in->n < b->left ? in->n : (size_t)b->left;
	struct str piece = str_make(in->p, n);

	*in = str_skip(*in, n);
	b->data += n;
	if (b->framing == HTTP_UNTIL_CLOSE)
		return piece;
	b->left -= n;
	if (b->left == 0)
		b->state = b->framing == HTTP_CHUNKED ? BODY_DATA_CR : BODY_DONE;
	return piece;
}

uint64_t body_get_remaining(const struct body *b)
{
	return b->framing == HTTP_LENGTH && b->state == BODY_DATA ? b->left : 0;
}

void body_skip_data(struct body *b, uint64_t n)
{
	b->data += n;
	b->left -= n;
	if (b->left == 0)
		b->state = BODY_DONE;
}

int body_next(struct body *b, struct str *in, struct str *piece)
{
	struct str data = {in->p, 0};

	while (in->n && b->state != BODY_DONE && data.n == 0) {
		int r;

		if (b->state == BODY_DATA) {
			data = body_read_data(b, in);
			continue;
		}
		/*
		 * Chunks of a single byte have 5 bytes of framing each. Far more than
		 * that is abuse.
		 */
		if (b->overhead++ > HTTP_CHUNK_SLACK + 8 * b->data)
			return ERR_LIMIT;
		r = on_byte[b->state](b, (unsigned char)in->p[0]);
		if (r)
			return r;
		*in = str_skip(*in, 1);
	}
	*piece = data;
	return b->state == BODY_DONE ? 0 : 1;
}

int body_close(struct body *b)
{
	if (b->framing == HTTP_UNTIL_CLOSE)
		b->state = BODY_DONE;
	return b->state == BODY_DONE ? 0 : ERR_CLOSED;
}
