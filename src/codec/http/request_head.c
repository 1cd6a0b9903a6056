#include "codec/http/request_head.h"

#include "codec/http/http.h"

#include <errno.h>

static void request_head_fail(struct buf *out)
{
	if (!out->err)
		out->err = -EINVAL;
}

static bool request_head_is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!http_is_token_char((unsigned char)s.p[i]))
			return false;
	return s.n > 0;
}

static bool request_head_is_visible(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f || s.p[i] == '#')
			return false;
	return true;
}

static bool request_head_is_value(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!http_is_value_char((unsigned char)s.p[i]))
			return false;
	return true;
}

void request_head_begin(struct buf *out, const struct request_line *l)
{
	struct str first = l->prefix.n ? l->prefix : l->target;

	if (!request_head_is_token(str_c(l->method)) || !str_starts(first, STR("/")) ||
		!request_head_is_visible(l->prefix) ||
		!request_head_is_visible(l->target) || !l->target.n ||
		!request_head_is_visible(l->host) || !l->host.n) {
		request_head_fail(out);
		return;
	}
	buf_puts(out, l->method);
	buf_putc(out, ' ');
	buf_str(out, l->prefix);
	buf_str(out, l->target);
	buf_puts(out, " HTTP/1.1\r\nHost: ");
	buf_str(out, l->host);
	buf_puts(out, "\r\n");
}

void request_head_put_field(struct buf *out, struct str name, struct str value)
{
	if (!request_head_is_token(name) || !request_head_is_value(value)) {
		request_head_fail(out);
		return;
	}
	buf_str(out, name);
	buf_puts(out, ": ");
	buf_str(out, value);
	buf_puts(out, "\r\n");
}

void request_head_put_fields(struct buf *out, struct str fields)
{
	while (fields.n) {
		size_t n = str_find(fields, STR("\r\n"));
		struct str value = str_make(fields.p, n);
		struct str name = str_cut(&value, ':');

		if (n == fields.n || name.n == n) {
			request_head_fail(out);
			return;
		}
		request_head_put_field(out, name, str_trim(value, " \t"));
		fields = str_skip(fields, n + 2);
	}
}
