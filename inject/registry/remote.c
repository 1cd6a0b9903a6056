#include "inject/registry/remote.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/http/certs.h"
#include "inject/http/json_doc.h"
#include "inject/registry/remote_trust.h"
#include "net/resolve.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { REGISTRY_DRAIN_MS = 2000 }; /* to discard the rest of an answer */

/* --- Beginning and end -------------------------------------------------------------- */

static bool remote_is_local(struct str host)
{
	struct dns_address a;

	if (dns_parse_address(host, &a))
		return url_classify(a.bytes, a.len) == REACH_LOOPBACK;
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
		return out_fail_usage(
			"give a name such as registry:localhost:5000/name:tag",
			"'%.*s' is not the host of a registry", STR_ARG(host));
	certs_find(conf->host, &r->certs);
	if (conf->plain || (remote_is_local(r->home.host) && !conf->ca && !r->certs.n)) {
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
	remote_release(r);
	if (r->linked)
		http_client_close(&r->link);
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

static int remote_fail_url(const struct url *u, const char *words)
{
	struct buf where = BUF_INIT(1024);

	url_put_host(u, &where);
	out_fail("check the name of the registry and the network",
		"cannot reach %.*s: %s", STR_ARG(buf_view(&where)), words);
	buf_free(&where);
	return FAIL_ENVIRONMENT;
}

static const char *remote_resolve_error(int r)
{
	switch (r) {
	case -ENOENT:
		return "no host has this name";
	case -ETIMEDOUT:
	case -EAGAIN:
		return "no name server answers";
	default:
		return err_text(r);
	}
}

/*
 * Whether an address may be connected to: it must not be nearer (loopback, private) than
 * the registry's address at the first connection. This is also true of the registry
 * itself, whose name may resolve otherwise now.
 */
static bool remote_is_permitted(const struct remote *r, bool home, enum reach reach)
{
	if (home && (!r->reached || reach == r->reach))
		return true;
	return url_is_reach_allowed(reach, r->reach);
}

/*
 * Connects to one of the permitted addresses: 0 with *fd; 1: none is permitted; otherwise
 * the error of the last address.
 */
static int remote_connect_first(
	struct remote *r, const struct url *u, const struct dns_addresses *found, int *fd)
{
	bool home = url_is_same_origin(u, &r->home);
	int got, err = 1;

	for (size_t i = 0; i < found->n; i++) {
		enum reach reach = url_classify(found->at[i].bytes, found->at[i].len);
		char text[46];

		if (!remote_is_permitted(r, home, reach))
			continue;
		dns_format_address(&found->at[i], text);
		got = http_client_connect_to(text, u->port, REGISTRY_CONNECT_MS, false);
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

static int remote_wait_fd(int fd, short events, uint64_t deadline)
{
	return stop_wait(fd, events, deadline, false);
}

static int remote_connect(struct remote *r, const struct url *u, struct http_client *c)
{
	bool home = url_is_same_origin(u, &r->home);
	struct tls_trust **trust = home ? &r->trust : &r->others;
	struct dns_addresses found;
	int err = u->secure ? remote_load_trust(r, home, trust) : 0;
	int fd;

	if (err)
		return err;
	err = resolve(u->host, remote_wait_fd, &found);
	if (err)
		return err == -EINTR ? err
				     : remote_fail_url(u, remote_resolve_error(err));
	err = remote_connect_first(r, u, &found, &fd);
	if (err == -EINTR)
		return err;
	if (err)
		return remote_fail_url(u,
			err < 0 ? err_text(err)
				: "the registry leads to an address of this "
				  "machine or of a private network, which is refused");
	if (!u->secure) {
		http_client_begin(c, fd, REGISTRY_MS, false);
		return 0;
	}
	err = http_client_begin_tls(c, fd, REGISTRY_MS, *trust, u->host);
	if (!err)
		return 0;
	fd_close(&fd);
	return remote_fail_url(u,
		err == ERR_RANGE ? "the clock of this machine is not set, so its "
				   "certificate cannot be checked"
				 : err_text(err));
}

void remote_release(struct remote *r)
{
	if (r->uses_other) {
		http_client_close(&r->other);
		r->uses_other = false;
	} else if (r->linked && !http_client_reuse(&r->link)) {
		http_client_close(&r->link);
		r->linked = false;
	}
}

int remote_fail(struct remote *r, int err)
{
	struct http_client *c = r->uses_other ? &r->other : &r->link;

	if (err == -EINTR || err == -ENOMEM ||
		(err <= FAIL_BASE && err >= FAIL_ENVIRONMENT))
		return err;
	return remote_fail_url(&r->at_url,
		err == ERR_TLS && c->secure ? http_client_tls_error(c)
			: err == ERR_SYNTAX ? "its reply is not HTTP"
			: err == -EINVAL
			? "a value contains characters that are not allowed in a request"
			: err == ERR_CLOSED
			? "it closed the connection before the end of its reply"
			: err == -ETIMEDOUT ? "it did not answer in time"
			: err == -ETIME     ? "its reply was not complete in time"
					    : err_text(err));
}

/* --- Exchanges ---------------------------------------------------------------------- */

static int remote_send(struct remote *r, const struct remote_request *q,
	struct http_client *c, const char *headers)
{
	struct buf host = BUF_INIT(512);
	struct target target;
	struct http_client_request out = {
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
		err = http_client_send(c, &out);
	else {
		err = http_client_start(c, &out);
		if (!err)
			err = q->put(q->arg, c);
		if (err >= 0)
			err = http_client_finish(c);
	}
	buf_free(&host);
	target_free(&target);
	return err;
}

static bool remote_is_read(const struct remote_request *q)
{
	return strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;
}

static int remote_exchange(
	struct remote *r, const struct remote_request *q, struct http_client **c)
{
	const uint32_t ms = q->put || q->body.n ? REGISTRY_MS : REGISTRY_READ_MS;
	bool home = url_is_same_origin(&r->at_url, &r->home);
	bool reused = home && r->linked;
	struct buf headers = BUF_SECRET(HTTP_HEAD_MAX);
	const char *lines;
	int err = 0;

	if (q->headers)
		buf_puts(&headers, q->headers);
	auth_write_header(&r->auth, &r->at_url, q->scope, clock_ms(), &headers);
	lines = buf_cstr(&headers);
	*c = home ? &r->link : &r->other;
	if (!lines)
		err = headers.err;
	while (!err) {
		if (!reused) {
			err = remote_connect(r, &r->at_url, *c);
			if (err)
				break;
			*(home ? &r->linked : &r->uses_other) = true;
		}
		http_client_set_limits(*c, ms, ms);
		err = remote_send(r, q, *c, lines);
		/*
		 * The server may have closed the idle connection while the request was
		 * being sent.
		 */
		if (!reused || (err != ERR_CLOSED && err != -ECONNRESET))
			break;
		http_client_close(&r->link);
		r->linked = reused = false;
		err = 0;
	}
	buf_free(&headers);
	return err ? remote_fail(r, err) : 0;
}

static int remote_find_field(
	const struct http_client *c, struct str name, struct str *value)
{
	return http_field_find(&c->head.head, c->in.p, name, value);
}

int remote_drain(struct http_client *c)
{
	struct buf rest = BUF_INIT(REGISTRY_ANSWER_MAX);
	int err;

	http_client_set_limits(c, REGISTRY_DRAIN_MS, REGISTRY_DRAIN_MS);
	err = http_client_read_all(c, &rest);

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
	struct remote *r, const struct remote_request *q, struct http_client *c)
{
	struct str after = {0};
	uint32_t jitter = 0;
	uint64_t ms;
	int err = random_bytes(&jitter, sizeof(jitter));

	if (remote_find_field(c, STR("Retry-After"), &after))
		after = STR("");
	if (err ||
		!retry_pause(&r->retry, remote_kind_of(q), c->head.status, after,
			clock_unix_s(), jitter, &ms))
		return err ? err : 1;
	err = remote_drain(c);
	out_step("waiting: %.*s answers %u", STR_ARG(r->at_url.host), c->head.status);
	remote_release(r);
	if (!err)
		err = stop_wait(-1, 0, clock_ms() + ms, false);
	out_step_end();
	return err;
}

static int remote_exchange_retrying(
	struct remote *r, const struct remote_request *q, struct http_client **c)
{
	int err;

	r->retry.tries = 0;
	r->retry.pause = 0;
	do {
		err = remote_exchange(r, q, c);
		if (!err)
			err = remote_wait_for_retry(r, q, *c);
	} while (!err);
	return err == 1 ? 0 : err;
}

/* --- Login -------------------------------------------------------------------------- */

static int remote_fetch_token(
	struct remote *r, const struct auth_request *a, struct str scope)
{
	struct remote_request q = {.method = a->post ? "POST" : "GET"};
	struct buf answer = BUF_SECRET(REGISTRY_ANSWER_MAX);
	struct url url = r->at_url; /* the request continues from there */
	struct buf headers = BUF_SECRET(REGISTRY_TOKEN_MAX);
	struct http_client *c = NULL;
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
		err = remote_fail_status(r, c, "requesting a token");
	if (!err) {
		err = http_client_read_all(c, &answer);
		if (err)
			err = remote_fail(r, err);
	}
	if (!err && auth_read_token(&r->auth, scope, buf_view(&answer), clock_ms()))
		err = remote_fail_url(&a->url, "its reply does not contain a token");
	remote_release(r);
	r->at_url = url;
	buf_free(&answer);
	buf_free(&headers);
	return err;
}

/* Selects the best challenge: a token is better than the login itself. */
static int remote_choose_challenge(
	const struct http_client *c, struct arena *a, struct challenge *best)
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

static int remote_copy_challenge(struct arena *a, struct challenge *c)
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

static int remote_log_in(struct remote *r, struct http_client *c, struct str scope)
{
	struct challenge best = {0};
	struct auth_request ask;
	const char *why = "it requires a login, but does not name a method";
	struct arena a;
	int err;

	arena_init(&a, REGISTRY_MEMORY_MAX);
	err = remote_choose_challenge(c, &a, &best);
	if (!err)
		err = remote_copy_challenge(&a, &best);
	if (!err)
		err = remote_drain(c);
	if (!err && !r->login_known) {
		err = login_find(r->name, &r->arena, &r->login);
		r->login_known = !err;
	}
	remote_release(r);
	if (!err) {
		err = auth_answer_challenge(&r->auth, &best, scope, &ask, &why);
		if (err == 1)
			err = remote_fetch_token(r, &ask, scope);
		auth_request_free(&ask);
	}
	arena_reset(&a);
	if (err == ERR_TYPE || err == ERR_SYNTAX || err == ERR_LIMIT)
		return remote_fail_url(&r->home, why);
	return err;
}

/* --- Requests ----------------------------------------------------------------------- */

static int remote_set_url(struct remote *r, struct str where)
{
	struct buf text = BUF_INIT(REGISTRY_URL_MAX);
	struct url u;
	int err = url_resolve(&u, &r->home, where, &text);

	if (err) {
		buf_free(&text);
		return err;
	}
	buf_free(&r->at);
	r->at = text;
	r->at_url = u;
	return 0;
}

static bool remote_is_redirect(unsigned status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 ||
		status == 308;
}

/* Follows a redirect. */
static int remote_follow_redirect(struct remote *r, struct http_client *c, unsigned hops)
{
	struct url from = r->at_url;
	struct buf kept = r->at;
	struct str where;
	const char *why = "it redirects to an invalid address";
	int err;

	if (remote_find_field(c, STR("Location"), &where))
		return remote_fail_url(&r->at_url, why);
	r->at = (struct buf)BUF_INIT(REGISTRY_URL_MAX);
	err = url_resolve(&r->at_url, &from, where, &r->at);
	if (!err) {
		why = url_check_redirect(&from, &r->at_url, hops);
		if (why)
			err = ERR_TYPE;
	}
	if (err)
		err = remote_fail_url(
			&from, why ? why : "it redirects to an invalid address");
	else
		err = remote_drain(c);
	buf_free(&kept);
	remote_release(r);
	return err;
}

int remote_perform(
	struct remote *r, const struct remote_request *q, struct http_client **c)
{
	unsigned hops = 0, tries = 0;
	const char *why;
	int err;

	err = target_error(q->target);
	if (!err)
		err = remote_set_url(r, target_view(q->target));
	if (err)
		return remote_fail_url(&r->home, "it returned an invalid address");
	why = url_check_redirect(&r->home, &r->at_url, 0);
	if (why)
		return remote_fail_url(&r->home, why);
	for (;;) {
		err = remote_exchange_retrying(r, q, c);
		if (err)
			return err;
		if ((*c)->head.status == 401 &&
			url_is_same_origin(&r->at_url, &r->home)) {
			if (tries++ == 2)
				return remote_fail_status(r, *c, "logging in");
			err = remote_log_in(r, *c, q->scope);
		} else if (q->follow && remote_is_redirect((*c)->head.status)) {
			err = remote_follow_redirect(r, *c, ++hops);
		} else {
			return 0;
		}
		if (err)
			return err;
	}
}
