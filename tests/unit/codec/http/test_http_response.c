#include "codec/http/http.h"
#include "tests/tap.h"

#include <stdlib.h>

/* A copy flush against the end of its memory, so that over-reads are caught. */
static struct str exact(const char *p, size_t n)
{
	char *copy = malloc(n ? n : 1);

	if (n)
		memcpy(copy, p, n);
	return str_make(copy, n);
}

static void drop(struct str s)
{
	free((void *)(uintptr_t)s.p);
}

struct response_row {
	int result;
	unsigned status;
	enum http_framing framing;
	bool to_head, keep;
	const char *text;
};

#define RES "HTTP/1.1 200 OK\r\n"
#define BAD ERR_SYNTAX, 0, HTTP_NO_BODY, false, false

static const struct response_row response_rows[] = {
	{0, 200, HTTP_LENGTH, false, true, RES "Content-Length: 5\r\n\r\n"},
	{0, 200, HTTP_NO_BODY, false, true, RES "Content-Length: 0\r\n\r\n"},
	{0, 200, HTTP_CHUNKED, false, true, RES "Transfer-Encoding: chunked\r\n\r\n"},
	{0, 200, HTTP_UNTIL_CLOSE, false, false, RES "\r\n"},
	{0, 200, HTTP_NO_BODY, true, true, RES "Content-Length: 5\r\n\r\n"},
	{0, 200, HTTP_NO_BODY, true, true, RES "\r\n"},
	{0, 204, HTTP_NO_BODY, false, true, "HTTP/1.1 204 No Content\r\n\r\n"},
	{0, 304, HTTP_NO_BODY, false, true,
		"HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n"},
	{0, 100, HTTP_NO_BODY, false, true, "HTTP/1.1 100 Continue\r\n\r\n"},
	{0, 101, HTTP_NO_BODY, false, true, "HTTP/1.1 101 UPGRADED\r\n\r\n"},
	{0, 404, HTTP_LENGTH, false, false,
		"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: "
		"2\r\n\r\n"},
	{0, 500, HTTP_UNTIL_CLOSE, false, false, "HTTP/1.1 500\r\n\r\n"},
	{0, 500, HTTP_UNTIL_CLOSE, false, false, "HTTP/1.1 500 \r\n\r\n"},
	{0, 200, HTTP_UNTIL_CLOSE, false, false, "HTTP/1.0 200 OK\r\n\r\n"},
	{0, 200, HTTP_LENGTH, false, false,
		"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n"},
	{0, 200, HTTP_LENGTH, false, true,
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n"},
	{0, 200, HTTP_LENGTH, false, true,
		RES "Host: a b\r\nExpect: x\r\nContent-Length: 1\r\n\r\n"},
	{1, 200, HTTP_NO_BODY, false, false, RES "Content-Length: 5\r\n"},
	{1, 0, HTTP_NO_BODY, false, false, ""},
	{1, 0, HTTP_NO_BODY, false, false, "HTTP/1.1 200 OK\r"},
	{BAD, "\r\n" RES "\r\n"},
	{BAD, "HTTP/1.1 200 OK\n\n"},
	{BAD, "HTTP/2.0 200 OK\r\n\r\n"},
	{BAD, "HTTP/1.1  200 OK\r\n\r\n"},
	{BAD, "HTTP/1.1 20 OK\r\n\r\n"},
	{BAD, "HTTP/1.1 2000 OK\r\n\r\n"},
	{BAD, "HTTP/1.1 099 OK\r\n\r\n"},
	{BAD, "HTTP/1.1 600 OK\r\n\r\n"},
	{BAD, "HTTP/1.1 2x0 OK\r\n\r\n"},
	{BAD, "HTTP/1.1\r\n\r\n"},
	{BAD, "HTTP/1.1 200 O\x01K\r\n\r\n"},
	{BAD, "ICY 200 OK\r\n\r\n"},
	{BAD, RES "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{BAD, RES "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"},
	{BAD, RES "Content-Length: 5, 5\r\n\r\n"},
	{BAD, RES "Transfer-Encoding: gzip, chunked\r\n\r\n"},
	{BAD, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{BAD, RES "X: a\r\n b\r\n\r\n"},
	{BAD, RES "X : a\r\n\r\n"},
	{BAD, RES "X\r\n\r\n"},
};

static void test_responses(void)
{
	for (size_t i = 0; i < ARRAY_LEN(response_rows); i++) {
		const struct response_row *row = &response_rows[i];
		size_t n = strlen(row->text);
		struct http_response r;
		struct str in = exact(row->text, n);

		http_response_init(&r, row->to_head);
		is_int(http_response_parse(&r, in), row->result, "response %zu", i);
		if (row->result < 0)
			ok(r.fault && r.fault->text, "response %zu has a reason", i);
		if (row->result == 0) {
			is_int(r.status, row->status, "response %zu status", i);
			is_int(r.head.framing, row->framing, "response %zu body", i);
			is_int(r.head.keep_alive, row->keep, "response %zu keep", i);
		}
		drop(in);
		for (size_t cut = 0; cut < n; cut++) {
			int e;

			http_response_init(&r, row->to_head);
			in = exact(row->text, cut);
			e = http_response_parse(&r, in);
			drop(in);
			in = exact(row->text, n);
			if (e == 1)
				e = http_response_parse(&r, in);
			drop(in);
			if (e != row->result)
				is_int(e, row->result, "response %zu cut at %zu", i, cut);
		}
	}
}

int main(void)
{
	test_responses();
	return done_testing();
}
