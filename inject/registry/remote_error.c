/* Explains the refusal of a registry. */
#include "inject/console/out.h"
#include "inject/http/json_doc.h"
#include "inject/registry/remote.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* Appends "message" of the first error in the body, or else the whole body. */
static void remote_write_message(struct str body, struct buf *out)
{
	struct json_val key, error = {0};
	struct str words = {0};
	struct json_doc d;
	int it = 0;

	if (json_doc_parse(&d, body)) {
		out_clean(out, str_make(body.p, body.n < 300 ? body.n : 300), false);
		return;
	}
	if (json_next(json_get(json_doc_root(&d), "errors"), &it, &key, &error))
		words = json_doc_str(&d, json_get(error, "message"));
	if (!words.n)
		words = json_doc_str(&d, json_get(json_doc_root(&d), "details"));
	out_clean(out, words, false);
	json_doc_free(&d);
}

static const char *remote_next_step(unsigned status)
{
	if (status == 401 || status == 403)
		return "run docker login, or check the permissions of the login";
	if (status == 404)
		return "check the name of the image and its tag";
	if (retry_is_temporary(status))
		return "the registry is overloaded or limits requests: try again later";
	return "check that a registry answers there, and read its log";
}

int remote_fail_status(struct remote *r, struct http_client *c, const char *fmt, ...)
{
	struct buf body = BUF_INIT(REGISTRY_ANSWER_MAX), words = BUF_INIT(4096);
	struct buf where = BUF_INIT(1024);
	char doing[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(doing, sizeof(doing), fmt, ap);
	va_end(ap);
	/* An incomplete message is better than none. */
	if (http_client_read_all(c, &body) == -EINTR) {
		buf_free(&body);
		return -EINTR;
	}
	remote_write_message(buf_view(&body), &words);
	url_put_host(&r->at_url, &where);
	out_fail(remote_next_step(c->head.status), "%s: %.*s answers %u%s%.*s", doing,
		STR_ARG(buf_view(&where)), c->head.status, words.n ? ": " : "",
		STR_ARG(buf_view(&words)));
	buf_free(&body);
	buf_free(&words);
	buf_free(&where);
	return FAIL_ENVIRONMENT;
}
