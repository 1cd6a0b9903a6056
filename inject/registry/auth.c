#include "inject/registry/auth.h"

#include "base/b64.h"
#include "codec/http/http.h"
#include "inject/http/json_doc.h"

#include <errno.h>

enum {
	LIFE_S = 60, /* of a token without expires_in */
	LIFE_MAX_S = 3600,
	SPARE_S = 10, /* a token is not used in its last seconds */
};

/* Token servers of registries that have another host name. */
static const struct {
	const char *registry, *realm;
} neighbours[] = {
	{"registry-1.docker.io", "auth.docker.io"},
	{"registry.gitlab.com", "gitlab.com"},
};

void auth_init(struct auth *a, const struct url *home, const struct login *login,
	const char *realm_host)
{
	*a = (struct auth){.home = home, .login = login, .realm_host = realm_host};
	arena_init(&a->arena, REGISTRY_MEMORY_MAX);
}

void auth_free(struct auth *a)
{
	a->tokens_n = 0;
	arena_wipe(&a->arena);
}

static const struct auth_token *auth_find_token(const struct auth *a, struct str scope)
{
	for (size_t i = 0; i < a->tokens_n; i++)
		if (str_eq(a->tokens[i].scope, scope))
			return &a->tokens[i];
	return NULL;
}

static void auth_write_basic(const struct login *l, struct buf *out)
{
	struct buf pair = BUF_SECRET(REGISTRY_TOKEN_MAX);

	buf_str(&pair, l->user);
	buf_putc(&pair, ':');
	buf_str(&pair, l->secret);
	if (pair.err && !out->err)
		out->err = pair.err;
	buf_puts(out, "Authorization: Basic ");
	b64_encode(out, buf_view(&pair));
	buf_puts(out, "\r\n");
	buf_free(&pair);
}

void auth_write_header(const struct auth *a, const struct url *to, struct str scope,
	uint64_t now, struct buf *out)
{
	const struct auth_token *t = auth_find_token(a, scope);

	if (!url_is_same_origin(a->home, to))
		return;
	if (a->basic) {
		auth_write_basic(a->login, out);
	} else if (t && now < t->until) {
		buf_puts(out, "Authorization: Bearer ");
		buf_str(out, t->value);
		buf_puts(out, "\r\n");
	}
}

/* Whether the token server may receive the login. */
static bool auth_is_trusted_realm(const struct auth *a, const struct url *realm)
{
	if (str_eq_nocase(realm->host, a->home->host))
		return true;
	if (a->realm_host && str_eq_nocase(realm->host, str_c(a->realm_host)))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(neighbours); i++)
		if (str_eq_nocase(a->home->host, str_c(neighbours[i].registry)) &&
			str_eq_nocase(realm->host, str_c(neighbours[i].realm)))
			return true;
	return false;
}

static void auth_write_param(
	struct buf *out, const char *name, struct str value, bool first)
{
	if (!value.n)
		return;
	buf_fmt(out, "%s%s=", first ? "" : "&", name);
	buf_percent(out, value, "");
}

/* GET realm?service=&scope=&scope= */
static void auth_request_login(const struct auth *a, const struct challenge *c,
	struct str scope, struct auth_request *q, bool trusted)
{
	bool has_query = memchr(c->realm.p, '?', c->realm.n) != NULL;
	size_t from;

	buf_str(&q->text, c->realm);
	buf_putc(&q->text, has_query ? '&' : '?');
	from = q->text.n;
	auth_write_param(&q->text, "service", c->service, true);
	while (scope.n)
		auth_write_param(
			&q->text, "scope", str_cut(&scope, ' '), q->text.n == from);
	if (trusted && a->login->user.n)
		auth_write_param(&q->text, "account", a->login->user, q->text.n == from);
	if (trusted && a->login->user.n)
		auth_write_basic(a->login, &q->headers);
}

/* RFC 6749, section 6, in the form that token servers of registries support. */
static void auth_request_refresh(const struct auth *a, const struct challenge *c,
	struct str scope, struct auth_request *q)
{
	q->post = true;
	buf_str(&q->text, c->realm);
	auth_write_param(&q->body, "grant_type", STR("refresh_token"), true);
	auth_write_param(&q->body, "service", c->service, false);
	auth_write_param(&q->body, "client_id", STR("od-runtime"), false);
	auth_write_param(&q->body, "scope", scope, false);
	auth_write_param(&q->body, "refresh_token", a->login->identity, false);
}

static int auth_request_bearer(struct auth *a, const struct challenge *c,
	struct str scope, struct auth_request *q, const char **why)
{
	struct url realm;
	bool trusted;

	*why = "it does not name a valid token server";
	if (url_parse(&realm, c->realm))
		return ERR_SYNTAX;
	*why = "its token server does not use https, although the registry does";
	if (a->home->secure && !realm.secure)
		return ERR_TYPE;
	trusted = auth_is_trusted_realm(a, &realm);
	if (trusted && a->login->identity.n)
		auth_request_refresh(a, c, scope, q);
	else
		auth_request_login(a, c, scope, q, trusted);
	*why = "the address of its token server is too long";
	if (q->text.err || q->headers.err || q->body.err)
		return ERR_LIMIT;
	return url_parse(&q->url, buf_view(&q->text)) ? ERR_SYNTAX : 1;
}

int auth_answer_challenge(struct auth *a, const struct challenge *c, struct str scope,
	struct auth_request *q, const char **why)
{
	*q = (struct auth_request){
		.text = BUF_INIT(REGISTRY_URL_MAX),
		.headers = BUF_SECRET(REGISTRY_TOKEN_MAX),
		.body = BUF_SECRET(REGISTRY_TOKEN_MAX),
	};
	if (c->scheme == CHALLENGE_BEARER)
		return auth_request_bearer(a, c, scope, q, why);
	*why = "it requires an unsupported way to log in";
	if (c->scheme != CHALLENGE_BASIC)
		return ERR_TYPE;
	*why = "it requires a login, and config.json has none for it: run docker login";
	if (!a->login->user.n)
		return ERR_TYPE;
	*why = "it does not accept the login in config.json: run docker login again";
	if (a->basic)
		return ERR_TYPE;
	a->basic = true;
	return 0;
}

void auth_request_free(struct auth_request *q)
{
	buf_free(&q->text);
	buf_free(&q->headers);
	buf_free(&q->body);
}

static bool auth_is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7F)
			return false;
	return s.n > 0;
}

/* The slot of the scope's token, or the slot of the oldest token if all are in use. */
static struct auth_token *auth_get_token_slot(struct auth *a, struct str scope)
{
	struct auth_token *t = (struct auth_token *)(uintptr_t)auth_find_token(a, scope);

	if (t)
		return t;
	if (a->tokens_n < REGISTRY_TOKENS_MAX)
		return &a->tokens[a->tokens_n++];
	t = &a->tokens[0];
	for (size_t i = 1; i < a->tokens_n; i++)
		if (a->tokens[i].until < t->until)
			t = &a->tokens[i];
	return t;
}

int auth_read_token(struct auth *a, struct str scope, struct str json, uint64_t now)
{
	struct str value;
	int64_t life;
	char *kept, *kept_scope;
	struct json_doc d;
	int r = json_doc_parse(&d, json);

	if (r)
		return r == -ENOMEM ? r : ERR_SYNTAX;
	value = json_doc_str(&d, json_get(json_doc_root(&d), "token"));
	if (!value.n)
		value = json_doc_str(&d, json_get(json_doc_root(&d), "access_token"));
	life = json_doc_int(json_get(json_doc_root(&d), "expires_in"), LIFE_S);
	life = life < LIFE_S ? LIFE_S : life > LIFE_MAX_S ? LIFE_MAX_S : life;
	kept = auth_is_token(value) ? arena_cstr(&a->arena, value) : NULL;
	kept_scope = arena_cstr(&a->arena, scope);
	r = !auth_is_token(value) ? ERR_SYNTAX : kept && kept_scope ? 0 : -ENOMEM;
	if (!r && value.n > REGISTRY_TOKEN_MAX)
		r = ERR_LIMIT;
	if (!r)
		*auth_get_token_slot(a, scope) = (struct auth_token){
			.scope = str_make(kept_scope, scope.n),
			.value = str_make(kept, value.n),
			.until = now + (uint64_t)(life - SPARE_S) * 1000,
		};
	json_doc_free(&d);
	return r;
}
