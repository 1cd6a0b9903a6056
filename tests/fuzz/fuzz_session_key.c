/*
 * The head of a request as a backend sends it on: it parses again, has the other target,
 * and no session key is found in it, in whatever form the client has shown it. A value
 * of the headers that carry keys is nowhere in it.
 */
#include "net/conn.h"
#include "net/session_key.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEY_MIN = 12 }; /* a shorter one may be part of another field */

static bool parse(struct exchange *x, char *p, size_t n)
{
	*x = (struct exchange){.in = {.p = p, .n = n}};
	http_request_init(&x->http);
	if (http_request_parse(&x->http, str_make(p, n)))
		return false;
	x->rq.method = http_text(p, x->http.method);
	return true;
}

/* How often the text stands in the head. */
static size_t count(struct str head, struct str text)
{
	size_t n = 0;

	for (size_t at; (at = str_find(head, text)) < head.n; n++)
		head = str_skip(head, at + 1);
	return n;
}

static void check_forwarded(const struct exchange *x, struct str head)
{
	struct buf out = BUF_INIT(2 * HTTP_HEAD_MAX);
	struct exchange again;
	struct str key, found;
	bool shown = session_key_find(&x->rq, &key) == 0;

	request_forward(&x->rq, STR("/t"), &out);
	assert(!out.err);
	if (!parse(&again, out.p, out.n)) {
		/* The field that is added may be one too many. */
		assert(again.http.fault && again.http.fault->status == 431);
		buf_free(&out);
		return;
	}
	assert(again.http.head.n == out.n);
	assert(session_key_find(&again.rq, &found) != 0);
	assert(request_is_websocket(&again.rq) == request_is_websocket(&x->rq));
	assert(again.http.head.framing == x->http.head.framing);
	/* The place that showed the key has lost it. */
	if (shown && key.n >= KEY_MIN)
		assert(count(buf_view(&out), key) < count(head, key));
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exchange x;
	char *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	if (parse(&x, copy, size))
		check_forwarded(&x, str_make(copy, x.http.head.n));
	free(copy);
	return 0;
}
