#include "inject/registry/remote.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/http/certs.h"
#include "inject/http/doc.h"
#include "inject/registry/remote_trust.h"
#include "net/resolve.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* --- Beginning and end -------------------------------------------------------------- */

static bool is_loopback(struct str host)
{
	struct dns_address a;

	if (dns_read(host, &a))
		return url_reach(a.bytes, a.len) == REACH_LOOPBACK;
	return str_eq_nocase(host, STR("localhost"));
}

int remote_init(struct remote *r, const struct remote_conf *conf)
{
	struct str host =
		login_is_hub(conf->host) ? STR("registry-1.docker.io") : conf->host;

	*r = (struct remote){.conf = *conf, .name = conf->host, .text = BUF_INIT(1024)};
	buf_init(&r->at, REGISTRY_URL_MAX);
	buf_init(&r->certs, FILE_PATH_MAX);
	arena_init(&r->arena, REGISTRY_MEMORY_MAX);
	auth_init(&r->auth, &r->home, &r->login, conf->realm_host);
	buf_puts(&r->text, "https://");
	buf_str(&r->text, host);
	if (url_parse(&r->home, buf_view(&r->text)))
		return out_fail_usage("as in registry:localhost:5000/name:tag",
			"%.*s is no host of a registry", STR_ARG(host));
	certs_find(conf->host, &r->certs);
	if (conf->plain || (is_loopback(r->home.host) && !conf->ca && !r->certs.n)) {
		buf_reset(&r->text);
		buf_puts(&r->text, "http://");
		buf_str(&r->text, host);
		if (url_parse(&r->home, buf_view(&r->text)))
			return FAIL_BUG;
	}
	return 0;
}

void remote_free(struct remote *r)
{
	remote_done(r);
	if (r->linked)
		call_close(&r->link);
	r->linked = false;
	tls_trust_del(r->trust);
	tls_trust_del(r->others);
	tls_credentials_del(r->own);
	r->trust = r->others = NULL;
	r->own = NULL;
	buf_free(&r->certs);
	auth_free(&r->auth);
	arena_wipe(&r->arena);
	buf_free(&r->at);
	buf_free(&r->text);
}

/* --- Connections -------------------------------------------------------------------- */

static int fail_at(const struct url *u, const char *words)
{
	struct buf where = BUF_INIT(1024);

	url_put_host(u, &where);
	out_fail("check the name of the registry and the network",
		"cannot reach %.*s: %s", STR_ARG(buf_view(&where)), words);
	buf_free(&where);
	return FAIL_ENVIRONMENT;
}

static const char *resolve_words(int r)
{
	switch (r) {
	case -ENOENT:
		return "there is no host of that name";
	case -ETIMEDOUT:
	case -EAGAIN:
		return "no name server answers for it";
	default:
		return err_text(r);
	}
}

/*
 * Whether an address may be connected to: it must not be nearer (loopback, private) than
 * the registry's address at the first connection. This is also true of the registry
 * itself, whose name may resolve otherwise now.
 */
static bool may_reach(const struct remote *r, bool home, enum reach reach)
{
	if (home && (!r->reached || reach == r->reach))
		return true;
	return url_may_reach(reach, r->reach);
}

/*
 * Connects to one of the permitted addresses: 0 with *fd; 1: none is permitted; otherwise
 * the error of the last address.
 */
static int connect_any(
	struct remote *r, const struct url *u, const struct dns_addresses *found, int *fd)
{
	bool home = url_same_origin(u, &r->home);
	int got, err = 1;

	for (size_t i = 0; i < found->n; i++) {
		enum reach reach = url_reach(found->at[i].bytes, found->at[i].len);
		char text[46];

		if (!may_reach(r, home, reach))
			continue;
		dns_text(&found->at[i], text);
		got = call_connect_address(text, u->port, REGISTRY_CONNECT_MS, false);
		if (got >= 0) {
			if (home && !r->reached)
				r->reach = reach;
			r->reached = r->reached || home;
			*fd = got;
			return 0;
		}
		err = got;
		if (err == -EINTR)
			break;
	}
	return err;
}

static int wait_for_it(int fd, short events, uint64_t deadline)
{
	return stop_wait(fd, events, deadline, false);
}

static int connect_to(struct remote *r, const struct url *u, struct call *c)
{
	bool home = url_same_origin(u, &r->home);
	struct tls_trust **trust = home ? &r->trust : &r->others;
	struct dns_addresses found;
	int err = u->secure ? remote_load_trust(r, home, trust) : 0;
	int fd;

	if (err)
		return err;
	err = resolve(u->host, wait_for_it, &found);
	if (err)
		return err == -EINTR ? err : fail_at(u, resolve_words(err));
	err = connect_any(r, u, &found, &fd);
	if (err == -EINTR)
		return err;
	if (err)
		return fail_at(u,
			err < 0 ? err_text(err)
				: "the registry leads to an address of this "
				  "machine's own surroundings");
	if (!u->secure) {
		call_begin(c, fd, REGISTRY_MS, false);
		return 0;
	}
	err = call_begin_tls(c, fd, REGISTRY_MS, *trust, u->host);
	if (!err)
		return 0;
	fd_close(&fd);
	return fail_at(u, err == ERR_RANGE ? "the clock here is not set" : err_text(err));
}

void remote_done(struct remote *r)
{
	if (r->strayed) {
		call_close(&r->other);
		r->strayed = false;
	} else if (r->linked && !call_again(&r->link)) {
		call_close(&r->link);
		r->linked = false;
	}
}

int remote_fail(struct remote *r, int err)
{
	struct call *c = r->strayed ? &r->other : &r->link;

	if (err == -EINTR || err == -ENOMEM ||
		(err <= FAIL_BASE && err >= FAIL_ENVIRONMENT))
		return err;
	return fail_at(&r->at_url,
		err == ERR_TLS && c->secure ? call_tls_error(c)
			: err == ERR_SYNTAX ? "what it answers is not HTTP"
			: err == -EINVAL    ? "a value of the request cannot stand in one"
			: err == ERR_CLOSED ? "it ends the connection too early"
			: err == -ETIMEDOUT ? "it says nothing any more"
			: err == -ETIME     ? "its answer takes too long"
					    : err_text(err));
}

/* --- Exchanges ---------------------------------------------------------------------- */

static int send_to(struct remote *r, const struct remote_request *q, struct call *c,
	const char *headers)
{
	struct buf host = BUF_INIT(512);
	struct target target;
	struct call_request out = {
		.method = q->method,
		.target = &target,
		.headers = headers,
		.type = q->type,
		.parts = &q->body,
		.parts_n = q->body.n ? 1 : 0,
		.keep = true,
		.put_n = q->put ? q->put_n : 0,
	};
	int err;

	url_put_host(&r->at_url, &host);
	target_init(&target, REGISTRY_URL_MAX);
	target_set_url(&target, &r->at_url);
	out.host = buf_cstr(&host);
	if (!out.host)
		err = -ENOMEM;
	else if (!q->put)
		err = call_send(c, &out);
	else {
		err = call_start(c, &out);
		if (!err)
			err = q->put(q->arg, c);
		if (err >= 0)
			err = call_finish(c);
	}
	buf_free(&host);
	target_free(&target);
	return err;
}

static bool remote_is_read(const struct remote_request *q)
{
	return strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;
}

static int exchange(struct remote *r, const struct remote_request *q, struct call **c)
{
	const uint32_t ms = q->put || q->body.n ? REGISTRY_MS : REGISTRY_READ_MS;
	bool home = url_same_origin(&r->at_url, &r->home);
	bool reused = home && r->linked;
	struct buf headers = BUF_SECRET(HTTP_HEAD_MAX);
	const char *lines;
	int err = 0;

	if (q->headers)
		buf_puts(&headers, q->headers);
	auth_header(&r->auth, &r->at_url, q->scope, clock_ms(), &headers);
	lines = buf_cstr(&headers);
	*c = home ? &r->link : &r->other;
	if (!lines)
		err = headers.err;
	while (!err) {
		if (!reused) {
			err = connect_to(r, &r->at_url, *c);
			if (err)
				break;
			*(home ? &r->linked : &r->strayed) = true;
		}
		call_limit(*c, ms, ms);
		err = send_to(r, q, *c, lines);
		/*
		 * The server may have closed the idle connection while the request was
		 * being sent.
		 */
		if (!reused || (err != ERR_CLOSED && err != -ECONNRESET))
			break;
		call_close(&r->link);
		r->linked = reused = false;
		err = 0;
	}
	buf_free(&headers);
	return err ? remote_fail(r, err) : 0;
}

static int find_field(const struct call *c, struct str name, struct str *value)
{
	return http_field_find(&c->head.head, c->in.p, name, value);
}

int remote_drain(struct call *c)
{
	struct buf rest = BUF_INIT(REGISTRY_ANSWER_MAX);
	int err;

	call_limit(c, REGISTRY_DRAIN_MS, REGISTRY_DRAIN_MS);
	err = call_collect(c, &rest);

	buf_free(&rest);
	return err == -EINTR ? err : 0;
}

/* --- Retries ------------------------------------------------------------------------ */

static enum retry_kind remote_kind_of(const struct remote_request *q)
{
	return remote_is_read(q) ? RETRY_READ : q->put ? RETRY_BYTES : RETRY_REPEAT;
}

/* 0: the pause is over, and the request is to be sent again; 1: its answer is final. */
static int remote_wait_for_retry(
	struct remote *r, const struct remote_request *q, struct call *c)
{
	struct str after = {0};
	uint32_t jitter = 0;
	uint64_t ms;
	int err = random_bytes(&jitter, sizeof(jitter));

	if (find_field(c, STR("Retry-After"), &after))
		after = STR("");
	if (err ||
		!retry_pause(&r->retry, remote_kind_of(q), c->head.status, after,
			clock_today_s(), jitter, &ms))
		return err ? err : 1;
	err = remote_drain(c);
	out_step("waiting: %.*s answers %u", STR_ARG(r->at_url.host), c->head.status);
	remote_done(r);
	if (!err)
		err = stop_wait(-1, 0, clock_ms() + ms, false);
	out_step_end();
	return err;
}

static int remote_exchange_retrying(
	struct remote *r, const struct remote_request *q, struct call **c)
{
	int err;

	r->retry.tries = 0;
	r->retry.pause = 0;
	do {
		err = exchange(r, q, c);
		if (!err)
			err = remote_wait_for_retry(r, q, *c);
	} while (!err);
	return err == 1 ? 0 : err;
}

/* --- Login -------------------------------------------------------------------------- */

static int fetch_token(struct remote *r, const struct auth_request *a, struct str scope)
{
	struct remote_request q = {.method = a->post ? "POST" : "GET"};
	struct buf answer = BUF_SECRET(REGISTRY_ANSWER_MAX);
	struct url url = r->at_url; /* the request continues from there */
	struct buf headers = BUF_SECRET(REGISTRY_TOKEN_MAX);
	struct call *c = NULL;
	int err;

	/* A token server receives no token, and its redirects are not followed. */
	buf_str(&headers, buf_view(&a->headers));
	q.headers = buf_cstr(&headers);
	if (a->post) {
		q.type = "application/x-www-form-urlencoded";
		q.body = buf_view(&a->body);
	}
	r->at_url = a->url;
	err = q.headers ? remote_exchange_retrying(r, &q, &c) : -ENOMEM;
	if (!err && c->head.status != 200)
		err = remote_refused(r, c, "asking for a token");
	if (!err) {
		err = call_collect(c, &answer);
		if (err)
			err = remote_fail(r, err);
	}
	if (!err && auth_take(&r->auth, scope, buf_view(&answer), clock_ms()))
		err = fail_at(&a->url, "its answer holds no token");
	remote_done(r);
	r->at_url = url;
	buf_free(&answer);
	buf_free(&headers);
	return err;
}

/* Selects the best challenge: a token is better than the login itself. */
static int pick(const struct call *c, struct arena *a, struct challenge *best)
{
	struct challenge next;
	bool any = false;

	for (unsigned i = 0; i < c->head.head.fields_n; i++) {
		const struct http_field *f = &c->head.head.fields[i];
		struct str rest = http_text(c->in.p, f->value);

		if (!str_eq_nocase(http_text(c->in.p, f->name), STR("WWW-Authenticate")))
			continue;
		while (challenge_next(&rest, a, &next) == 0) {
			if (!any || next.scheme > best->scheme)
				*best = next;
			any = true;
		}
	}
	return any ? 0 : ERR_SYNTAX;
}

static int keep_challenge(struct arena *a, struct challenge *c)
{
	struct str *all[] = {&c->realm, &c->service, &c->scope, &c->error};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		char *copy = arena_cstr(a, *all[i]);

		if (!copy)
			return -ENOMEM;
		all[i]->p = copy;
	}
	return 0;
}

static int let_in(struct remote *r, struct call *c, struct str scope)
{
	struct challenge best = {0};
	struct auth_request ask;
	const char *why = "it does not say how to log in";
	struct arena a;
	int err;

	arena_init(&a, REGISTRY_MEMORY_MAX);
	err = pick(c, &a, &best);
	if (!err)
		err = keep_challenge(&a, &best);
	if (!err)
		err = remote_drain(c);
	if (!err && !r->login_known) {
		err = login_find(r->name, &r->arena, &r->login);
		r->login_known = !err;
	}
	remote_done(r);
	if (!err) {
		err = auth_challenge(&r->auth, &best, scope, &ask, &why);
		if (err == 1)
			err = fetch_token(r, &ask, scope);
		auth_request_free(&ask);
	}
	arena_reset(&a);
	if (err == ERR_TYPE || err == ERR_SYNTAX || err == ERR_LIMIT)
		return fail_at(&r->home, why);
	return err;
}

/* --- Requests ----------------------------------------------------------------------- */

static int go_to(struct remote *r, struct str where)
{
	struct buf text = BUF_INIT(REGISTRY_URL_MAX);
	struct url u;
	int err = url_follow(&u, &r->home, where, &text);

	if (err) {
		buf_free(&text);
		return err;
	}
	buf_free(&r->at);
	r->at = text;
	r->at_url = u;
	return 0;
}

static bool is_redirect(unsigned status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 ||
		status == 308;
}

/* Follows a redirect. */
static int hop(struct remote *r, struct call *c, unsigned hops)
{
	struct url from = r->at_url;
	struct buf kept = r->at;
	struct str where;
	const char *why = "it leads nowhere";
	int err;

	if (find_field(c, STR("Location"), &where))
		return fail_at(&r->at_url, why);
	r->at = (struct buf)BUF_INIT(REGISTRY_URL_MAX);
	err = url_follow(&r->at_url, &from, where, &r->at);
	if (!err) {
		why = url_refuse_hop(&from, &r->at_url, hops);
		if (why)
			err = ERR_TYPE;
	}
	if (err)
		err = fail_at(&from, why ? why : "it leads nowhere");
	else
		err = remote_drain(c);
	buf_free(&kept);
	remote_done(r);
	return err;
}

int remote_ask(struct remote *r, const struct remote_request *q, struct call **c)
{
	unsigned hops = 0, tries = 0;
	const char *why;
	int err;

	err = target_error(q->target);
	if (!err)
		err = go_to(r, target_view(q->target));
	if (err)
		return fail_at(&r->home, "it leads nowhere");
	why = url_refuse_hop(&r->home, &r->at_url, 0);
	if (why)
		return fail_at(&r->home, why);
	for (;;) {
		err = remote_exchange_retrying(r, q, c);
		if (err)
			return err;
		if ((*c)->head.status == 401 && url_same_origin(&r->at_url, &r->home)) {
			if (tries++ == 2)
				return remote_refused(r, *c, "logging in");
			err = let_in(r, *c, q->scope);
		} else if (q->follow && is_redirect((*c)->head.status)) {
			err = hop(r, *c, ++hops);
		} else {
			return 0;
		}
		if (err)
			return err;
	}
}

/* Appends "message" of the first error in the body, or else the whole body. */
static void put_words(struct str body, struct buf *out)
{
	struct json_val key, error = {0};
	struct str words = {0};
	struct doc d;
	int it = 0;

	if (doc_parse(&d, body)) {
		out_clean(out, str_make(body.p, body.n < 300 ? body.n : 300), false);
		return;
	}
	if (json_next(json_get(doc_root(&d), "errors"), &it, &key, &error))
		words = doc_str(&d, json_get(error, "message"));
	if (!words.n)
		words = doc_str(&d, json_get(doc_root(&d), "details"));
	out_clean(out, words, false);
	doc_free(&d);
}

static const char *remote_next_step(unsigned status)
{
	if (status == 401 || status == 403)
		return "docker login, or check what the login may do";
	if (status == 404)
		return "check the name of the image and its tag";
	if (retry_is_temporary(status))
		return "the registry refuses for now: try again later";
	return "check that a registry answers there, and look into its log";
}

int remote_refused(struct remote *r, struct call *c, const char *fmt, ...)
{
	struct buf body = BUF_INIT(REGISTRY_ANSWER_MAX), words = BUF_INIT(4096);
	struct buf where = BUF_INIT(1024);
	char doing[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(doing, sizeof(doing), fmt, ap);
	va_end(ap);
	/* An incomplete message is better than none. */
	if (call_collect(c, &body) == -EINTR) {
		buf_free(&body);
		return -EINTR;
	}
	put_words(buf_view(&body), &words);
	url_put_host(&r->at_url, &where);
	out_fail(remote_next_step(c->head.status), "%s: %.*s answers %u%s%.*s", doing,
		STR_ARG(buf_view(&where)), c->head.status, words.n ? ": " : "",
		STR_ARG(buf_view(&words)));
	buf_free(&body);
	buf_free(&words);
	buf_free(&where);
	return FAIL_ENVIRONMENT;
}
