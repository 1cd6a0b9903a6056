#include "net/resp.h"

#include "codec/http/http.h"

#include <assert.h>

struct reason {
	unsigned status;
	const char *words;
};

static const struct reason reasons[] = {
	{200, "OK"}, /* first, because it is the most frequent */
	{100, "Continue"},
	{101, "Switching Protocols"},
	{201, "Created"},
	{202, "Accepted"},
	{204, "No Content"},
	{206, "Partial Content"},
	{304, "Not Modified"},
	{307, "Temporary Redirect"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{409, "Conflict"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{416, "Range Not Satisfiable"},
	{417, "Expectation Failed"},
	{421, "Misdirected Request"},
	{422, "Unprocessable Content"},
	{426, "Upgrade Required"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
	{507, "Insufficient Storage"},
};

const char *resp_reason(unsigned status)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].words;
	return "Unknown";
}

static void resp_put_number(struct buf *out, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	buf_put(out, digits + at, sizeof(digits) - at);
}

void resp_start(struct buf *out, unsigned status)
{
	assert(status >= 100 && status <= 599);
	buf_str(out, STR("HTTP/1.1 "));
	resp_put_number(out, status);
	buf_putc(out, ' ');
	buf_puts(out, resp_reason(status));
	buf_str(out, STR("\r\n"));
}

static bool resp_is_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!http_is_token_char((unsigned char)name.p[i]))
			return false;
	return name.n > 0;
}

static bool resp_is_value(struct str value)
{
	for (size_t i = 0; i < value.n; i++)
		if (!http_is_value_char((unsigned char)value.p[i]))
			return false;
	return true;
}

void resp_field(struct buf *out, struct str name, struct str value)
{
	if (!resp_is_name(name) || !resp_is_value(value)) {
		if (!out->err)
			out->err = ERR_SYNTAX;
		return;
	}
	buf_str(out, name);
	buf_str(out, STR(": "));
	buf_str(out, value);
	buf_str(out, STR("\r\n"));
}

void resp_length(struct buf *out, uint64_t n)
{
	buf_str(out, STR("content-length: "));
	resp_put_number(out, n);
	buf_str(out, STR("\r\n"));
}

void resp_end(struct buf *out)
{
	buf_str(out, STR("\r\n"));
}
