#include "browser/devtools/endpoint.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "codec/http/request_head.h"
#include "codec/http/url.h"
#include "limits.h"
#include "net/resolve.h"
#include "net/ws_hand.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum {
	HEAD_MAX = 8192, /* of a response */
	BODY_MAX = 65536,
	TRY_MS = 2000, /* for one address of several */
};

/* --- The address ------------------------------------------------------------------ */

struct endpoint {
	struct url url;
	struct buf host, target; /* target: path of the browser, or empty */
	uint64_t deadline;
	struct buf *reason;
};

static int endpoint_parse_url(struct endpoint *e, const char *url)
{
	struct str s = str_c(url);
	bool direct = str_starts(s, STR("ws://"));

	if (s.n > CDP_URL_MAX ||
		(direct ? url_parse_ws(&e->url, s) : url_parse(&e->url, s)) ||
		e->url.secure)
		return ERR_SYNTAX;
	if (direct)
		buf_str(&e->target, e->url.target);
	url_put_host(&e->url, &e->host);
	return e->host.err ? e->host.err : e->target.err;
}

static void endpoint_init(struct endpoint *e)
{
	*e = (struct endpoint){
		.host = BUF_INIT(CDP_URL_MAX),
		.target = BUF_INIT(CDP_URL_MAX),
	};
}

static void endpoint_free(struct endpoint *e)
{
	buf_free(&e->host);
	buf_free(&e->target);
}

bool endpoint_is_valid(const char *url)
{
	struct endpoint e;
	int r;

	endpoint_init(&e);
	r = endpoint_parse_url(&e, url);
	endpoint_free(&e);
	return r == 0;
}

/* --- The socket ------------------------------------------------------------------- */

/* Waits for events. Returns 0, -ETIMEDOUT or -errno. */
static int endpoint_wait_fd(int fd, short events, uint64_t deadline)
{
	int r = fd_wait(fd, events, deadline);

	return r > 0 ? 0 : r ? r : -ETIMEDOUT;
}

static int endpoint_connect(const struct endpoint *e, int *out)
{
	struct dns_addresses found = {.n = 0};
	int r = resolve(e->url.host, fd_wait, &found), fd;

	for (size_t i = 0; !r && i < found.n; i++) {
		char text[46];

		dns_format_address(&found.at[i], text);
		fd = fd_connect_tcp(text, e->url.port);
		r = fd < 0 ? fd
			   : endpoint_wait_fd(fd, POLLOUT,
				     clock_min_deadline(TRY_MS, e->deadline));
		if (!r)
			r = fd_connect_result(fd);
		if (!r) {
			*out = fd;
			return 0;
		}
		if (fd >= 0)
			fd_close(&fd);
		r = i + 1 < found.n ? 0 : r;
	}
	return r ? r : -ENOENT;
}

static int endpoint_send_all(int fd, struct str data, uint64_t deadline)
{
	while (data.n) {
		ssize_t n = write(fd, data.p, data.n);
		int r = 0;

		if (n > 0)
			data = str_skip(data, (size_t)n);
		else if (n < 0 && errno == EAGAIN)
			r = endpoint_wait_fd(fd, POLLOUT, deadline);
		else if (n < 0 && errno != EINTR)
			r = -errno;
		if (r)
			return r;
	}
	return 0;
}

/* Receives n bytes at most. Returns 0; 1: the end of the stream; -ETIMEDOUT; -errno. */
static int endpoint_receive(int fd, size_t n, struct buf *in, uint64_t deadline)
{
	char room[4096];
	ssize_t got;
	int r;

	do {
		r = endpoint_wait_fd(fd, POLLIN, deadline);
		if (r)
			return r;
		got = read(fd, room, n < sizeof(room) ? n : sizeof(room));
	} while (got < 0 && (errno == EAGAIN || errno == EINTR));
	if (got <= 0)
		return got ? -errno : 1;
	buf_put(in, room, (size_t)got);
	return in->err;
}

/* Reads the head of a response, and no byte after it. */
static int endpoint_read_head(
	int fd, struct http_response *head, struct buf *in, uint64_t deadline)
{
	int r = 1;

	http_response_init(head, false);
	while (r == 1) {
		r = endpoint_receive(fd, 1, in, deadline);
		if (r)
			return r > 0 ? ERR_CLOSED : r;
		r = http_response_parse(head, buf_view(in));
	}
	return r;
}

/* --- Requests --------------------------------------------------------------------- */

/*
 * Reads {"webSocketDebuggerUrl": "ws://HOST/PATH", ...}. Only PATH is used: HOST repeats
 * the host of our request.
 */
static int endpoint_parse_version(struct endpoint *e, struct str body)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	struct json_error where;
	struct str said;
	struct arena a;
	struct json json;
	struct url url;
	int r;

	arena_init(&a, CDP_MEMORY_MAX);
	r = json_parse(&json, body, &caps, &a, &where);
	if (!r)
		r = json_str(
			json_get(json_root(&json), "webSocketDebuggerUrl"), &a, &said);
	if (!r && !str_starts(said, STR("ws://")))
		r = ERR_SYNTAX;
	if (!r)
		r = url_parse_ws(&url, said);
	if (!r) {
		buf_str(&e->target, url.target);
		r = e->target.err;
	}
	arena_reset(&a);
	return r;
}

static int endpoint_get_version(struct endpoint *e)
{
	const struct request_line line = {
		.method = "GET",
		.target = STR("/json/version"),
		.host = buf_view(&e->host),
	};
	struct buf out = BUF_INIT(CDP_URL_MAX + HEAD_MAX), in = BUF_INIT(BODY_MAX);
	struct http_response head;
	int fd = -1, r = endpoint_connect(e, &fd);

	request_head_begin(&out, &line);
	buf_puts(&out, "Connection: close\r\n\r\n");
	if (!r)
		r = out.err ? out.err
			    : endpoint_send_all(fd, buf_view(&out), e->deadline);
	if (!r)
		r = endpoint_read_head(fd, &head, &in, e->deadline);
	if (!r && head.status != 200)
		r = ERR_REFUSED;
	if (!r) {
		buf_reset(&in);
		/* The body is complete once it parses. Few servers end the stream. */
		while ((r = endpoint_receive(fd, BODY_MAX, &in, e->deadline)) == 0 &&
			endpoint_parse_version(e, buf_view(&in)))
			;
		r = e->target.n ? 0 : r < 0 ? r : ERR_REFUSED;
	}
	if (r == ERR_REFUSED)
		buf_puts(e->reason, "it is not the DevTools endpoint of a browser");
	if (fd >= 0)
		fd_close(&fd);
	buf_free(&out);
	buf_free(&in);
	return r;
}

static int endpoint_upgrade(struct endpoint *e, int *out)
{
	const struct ws_hand_params ask = {
		.host = buf_view(&e->host),
		.target = buf_view(&e->target),
		.fields = STR(""),
	};
	struct buf words = BUF_INIT(CDP_URL_MAX + HEAD_MAX), in = BUF_INIT(HEAD_MAX);
	char key[WS_KEY_LEN];
	struct http_response head;
	const char *fault = NULL;
	int fd = -1, r = endpoint_connect(e, &fd);

	if (!r)
		r = ws_hand_request(&words, &ask, key);
	if (!r)
		r = endpoint_send_all(fd, buf_view(&words), e->deadline);
	if (!r)
		r = endpoint_read_head(fd, &head, &in, e->deadline);
	if (!r)
		fault = ws_hand_check_answer(&head, in.p, key);
	if (fault) {
		buf_puts(e->reason, fault);
		r = ERR_REFUSED;
	}
	if (r && fd >= 0)
		fd_close(&fd);
	else if (!r)
		*out = fd;
	buf_free(&words);
	buf_free(&in);
	return r;
}

int endpoint_open(const char *url, uint64_t deadline, int *fd, struct buf *why)
{
	struct endpoint e;
	int r;

	endpoint_init(&e);
	e.deadline = deadline;
	e.reason = why;
	r = endpoint_parse_url(&e, url);
	if (!r && !e.target.n)
		r = endpoint_get_version(&e);
	if (!r)
		r = endpoint_upgrade(&e, fd);
	if (r && !why->n)
		buf_puts(why, err_text(r));
	endpoint_free(&e);
	return r;
}
