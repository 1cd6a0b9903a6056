#include "net/resp.h"
#include "tests/tap.h"

int main(void)
{
	struct buf b = BUF_INIT(200), tiny = BUF_INIT(20);

	resp_start(&b, 200);
	resp_field(&b, STR("content-type"), STR("text/plain; charset=utf-8"));
	resp_length(&b, UINT64_MAX);
	resp_end(&b);
	is_view(buf_view(&b),
		"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n"
		"content-length: 18446744073709551615\r\n\r\n",
		"a head");
	is_int(b.err, 0, "no error");

	buf_reset(&b);
	resp_length(&b, 0);
	is_view(buf_view(&b), "content-length: 0\r\n", "length 0");

	is_str(resp_reason(404), "Not Found", "reason");
	is_str(resp_reason(299), "Unknown", "unregistered status");

	buf_reset(&b);
	resp_field(&b, STR("location"), STR("/a\r\nx: y"));
	is_int(b.err, ERR_SYNTAX, "a value cannot end its line");
	is_int((long long)b.n, 0, "nothing of it is written");
	buf_reset(&b);
	resp_field(&b, STR("x"), STR("a\0b"));
	is_int(b.err, ERR_SYNTAX, "no NUL in a value");
	buf_reset(&b);
	resp_field(&b, STR("x y"), STR("a"));
	is_int(b.err, ERR_SYNTAX, "a name is a token");
	buf_reset(&b);
	resp_field(&b, STR(""), STR("a"));
	is_int(b.err, ERR_SYNTAX, "a name is not empty");

	resp_start(&tiny, 505);
	is_int(tiny.err, ERR_LIMIT, "the buffer's cap holds");
	resp_field(&tiny, STR("\n"), STR("a"));
	is_int(tiny.err, ERR_LIMIT, "the first error stays");
	buf_free(&b);
	buf_free(&tiny);
	return done_testing();
}
