#include "inject/sandbox/process_forget.h"

#include "limits.h"

enum { ANSWER_MS = 1000, PATH_MAX_N = 128 };

/* Sends a request, on a new connection (anew) or on that of the previous request. */
static int process_ask(const struct sandbox *s, struct http_client *c, bool anew,
	const char *method, const char *id, struct buf *answer)
{
	struct target t;
	const struct http_client_request q = {
		.method = method, .target = &t, .keep = true};
	int r;

	target_init(&t, PATH_MAX_N);
	target_add(&t, "/v1/processes/%s", id);
	r = anew ? sandbox_try_start(s, c, &q, ANSWER_MS) : sandbox_send_next(s, c, &q);
	if (!r)
		r = http_client_finish(c);
	if (!r)
		r = http_client_read_all(c, answer);
	target_free(&t);
	return !r && c->head.status != 200 ? ERR_REFUSED : r;
}

/* Whether all outputs have ended, so that no child gets SIGPIPE by the removal. */
static bool process_is_over(struct str object)
{
	struct json_val outputs, row;
	struct json_doc d;
	int it = 0;
	bool over;

	if (json_doc_parse(&d, object))
		return false;
	outputs = json_get(json_doc_root(&d), "outputs");
	over = json_count(outputs) > 0;
	while (json_next(outputs, &it, NULL, &row))
		over = over && json_type(json_get(row, "open")) == JSON_BOOL &&
			!json_doc_is_true(json_get(row, "open"));
	json_doc_free(&d);
	return over;
}

void process_remove_exited(const struct sandbox *s, const char *id)
{
	struct buf answer = BUF_INIT(INJECT_REPLY_MAX);
	struct http_client c;

	http_client_begin(&c, -1, 0, false);
	if (process_ask(s, &c, true, "GET", id, &answer) == 0 &&
		process_is_over(buf_view(&answer))) {
		buf_reset(&answer);
		(void)!process_ask(s, &c, false, "DELETE", id, &answer);
	}
	http_client_close(&c);
	buf_free(&answer);
}

void process_discard(const struct sandbox *s, const char *id)
{
	struct buf answer = BUF_INIT(INJECT_REPLY_MAX);
	struct http_client c;

	http_client_begin(&c, -1, 0, false);
	(void)!process_ask(s, &c, true, "DELETE", id, &answer);
	http_client_close(&c);
	buf_free(&answer);
}
