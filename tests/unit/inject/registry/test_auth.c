/* Challenges, and what is answered to them. */
#include "inject/registry/auth.h"

#include "tests/tap.h"

#include <errno.h>

static struct arena memory;

static void test_challenges(void)
{
	struct str rest = STR(" , Negotiate abc+/==, Bearer realm=\"https://a/\\\"b\" , ,"
			      "service = svc,SCOPE=\"x, y\" ,Basic realm=\"\", Digest");
	struct challenge c;

	is_int(challenge_next(&rest, &memory, &c), 0, "first");
	is_int(c.scheme, CHALLENGE_OTHER, "another scheme");
	is_int(challenge_next(&rest, &memory, &c), 0, "second");
	is_int(c.scheme, CHALLENGE_BEARER, "Bearer");
	is_view(c.realm, "https://a/\"b", "its realm");
	is_view(c.service, "svc", "its service");
	is_view(c.scope, "x, y", "its scope");
	is_int(challenge_next(&rest, &memory, &c), 0, "third");
	is_int(c.scheme, CHALLENGE_BASIC, "Basic");
	is_int(challenge_next(&rest, &memory, &c), 0, "fourth");
	is_int(c.scheme, CHALLENGE_OTHER, "a bare scheme");
	is_int(challenge_next(&rest, &memory, &c), 1, "and no more");
}

static void test_bad_challenges(void)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{"", 1},
		{" ,, ", 1},
		{"=", ERR_SYNTAX},
		{"Bearer realm=\"a", ERR_SYNTAX},
		{"Bearer realm=\"a\\", ERR_SYNTAX},
		{"Bearer realm=\"a\"b", ERR_SYNTAX},
		{"Bearer realm=a realm=b", ERR_SYNTAX},
		{"Bearer realm=a,realm=b", ERR_DUPLICATE},
		{"Bearer realm=\"a\nb\"", ERR_SYNTAX},
		{"Bearer \"a\"", ERR_SYNTAX},
		{"Bearer realm=,x=y", 0}, /* a token68 by the grammar */
		{"Bearer@", ERR_SYNTAX},
	};
	struct arena small;
	struct challenge c;
	struct str rest;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rest = str_c(rows[i].text);
		is_int(challenge_next(&rest, &memory, &c), rows[i].want, "row %zu", i);
	}
	arena_init(&small, 16);
	rest = STR("Bearer realm=\"0123456789012345678901234567890\"");
	is_int(challenge_next(&rest, &small, &c), -ENOMEM, "no room");
	arena_reset(&small);
}

/* --- Answers ------------------------------------------------------------------------ */

static struct url home;

static struct challenge to(const char *realm)
{
	return (struct challenge){
		.scheme = CHALLENGE_BEARER, .realm = str_c(realm), .service = STR("s v")};
}

static bool has(const struct buf *b, const char *part)
{
	return str_find(buf_view(b), str_c(part)) < b->n;
}

static int challenge(struct auth *a, struct challenge c, struct auth_request *q)
{
	const char *why = "";

	return auth_answer_challenge(
		a, &c, STR("repository:r:pull repository:s:pull"), q, &why);
}

static void test_bearer(void)
{
	static const struct {
		const char *home, *realm, *more;
		int want;
		bool hears;
	} rows[] = {
		{"https://r.io/", "https://r.io/token", NULL, 1, true},
		{"https://r.io/", "https://R.IO:444/token", NULL, 1, true},
		{"https://r.io/", "https://auth.r.io/token", NULL, 1, false},
		{"https://r.io/", "https://auth.r.io/token", "auth.r.io", 1, true},
		{"https://r.io/", "https://r.io.evil/token", NULL, 1, false},
		{"https://registry-1.docker.io/", "https://auth.docker.io/token", NULL, 1,
			true},
		{"https://r.io/", "https://auth.docker.io/token", NULL, 1, false},
		{"https://r.io/", "http://r.io/token", NULL, ERR_TYPE, false},
		{"http://r.io/", "http://r.io/token", NULL, 1, true},
		{"http://r.io/", "https://r.io/token", NULL, 1, true},
		{"https://r.io/", "/token", NULL, ERR_SYNTAX, false},
		{"https://r.io/", "", NULL, ERR_SYNTAX, false},
		{"https://r.io/", "https://u:p@r.io/", NULL, ERR_SYNTAX, false},
	};
	struct login login = {.user = STR("u"), .secret = STR("p")};
	struct login identity = {.identity = STR("i&d")};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct auth_request q;
		struct auth a;

		is_int(url_parse(&home, str_c(rows[i].home)), 0, "%s", rows[i].home);
		auth_init(&a, &home, &login, rows[i].more);
		is_int(challenge(&a, to(rows[i].realm), &q), rows[i].want, "-> %s",
			rows[i].realm);
		ok(has(&q.headers, "Authorization: Basic dTpw\r\n") == rows[i].hears,
			"hears the login: %d", rows[i].hears);
		if (rows[i].want == 1)
			ok(has(&q.text,
				   "?service=s%20v&scope=repository%3Ar%3Apull&scope="
				   "repository%3As%3Apull"),
				"%s", buf_cstr(&q.text));
		auth_request_free(&q);
		a.login = &identity;
		ok(challenge(&a, to(rows[i].realm), &q) == rows[i].want, "by identity");
		ok(q.post == rows[i].hears &&
				has(&q.body, "refresh_token=i%26d") == q.post &&
				!has(&q.text, "i%26d"),
			"hears the identity: %d", rows[i].hears);
		auth_request_free(&q);
		auth_free(&a);
	}
}

static void header_is(const struct auth *a, const char *url, struct str scope,
	uint64_t now, const char *want)
{
	struct buf out = BUF_INIT(1000);
	struct url u;

	is_int(url_parse(&u, str_c(url)), 0, "%s", url);
	auth_write_header(a, &u, scope, now, &out);
	is_view(buf_view(&out), want, "what is sent there");
	buf_free(&out);
}

static void test_tokens(void)
{
	struct login none = {0};
	struct auth a;
	char scope[8] = "s0";

	is_int(url_parse(&home, STR("https://r.io/")), 0, "a registry");
	auth_init(&a, &home, &none, NULL);
	header_is(&a, "https://r.io/v2/", STR("s"), 0, "");
	is_int(auth_read_token(
		       &a, STR("s"), STR("{\"token\":\"t\",\"expires_in\":300}"), 1000),
		0, "a token");
	header_is(&a, "https://r.io/v2/", STR("s"), 1000, "Authorization: Bearer t\r\n");
	header_is(&a, "https://r.io/v2/", STR("other"), 1000, "");
	header_is(&a, "https://r.io:444/v2/", STR("s"), 1000, "");
	header_is(&a, "http://r.io/v2/", STR("s"), 1000, "");
	header_is(&a, "https://s.io/v2/", STR("s"), 1000, "");
	header_is(&a, "https://r.io/", STR("s"), 1000 + 290000, "");
	is_int(auth_read_token(&a, STR("s"), STR("{\"access_token\":\"n\"}"), 1000), 0,
		"another");
	header_is(&a, "https://r.io/", STR("s"), 1000 + 49999,
		"Authorization: Bearer n\r\n");
	header_is(&a, "https://r.io/", STR("s"), 1000 + 50000, "");
	is_int(auth_read_token(&a, STR("s"), STR("{\"token\":\"a b\"}"), 0), ERR_SYNTAX,
		"a blank");
	is_int(auth_read_token(&a, STR("s"), STR("{\"token\":\"a\\r\\nb\"}"), 0),
		ERR_SYNTAX, "a line break");
	is_int(auth_read_token(&a, STR("s"), STR("{\"token\":7}"), 0), ERR_SYNTAX,
		"a number");
	is_int(auth_read_token(&a, STR("s"), STR("[]"), 0), ERR_SYNTAX, "an array");
	is_int(auth_read_token(&a, STR("s"), STR("x"), 0), ERR_SYNTAX, "no JSON");
	for (int i = 0; i < 20; i++) {
		scope[1] = (char)('a' + i);
		ok(auth_read_token(&a, str_c(scope), STR("{\"token\":\"t\"}"),
			   (uint64_t)i * 1000) == 0,
			"scope %s", scope);
	}
	is_int(a.tokens_n, REGISTRY_TOKENS_MAX, "no more than there may be");
	header_is(
		&a, "https://r.io/", str_c(scope), 20000, "Authorization: Bearer t\r\n");
	auth_free(&a);
}

static void test_basic(void)
{
	struct challenge basic = {.scheme = CHALLENGE_BASIC};
	struct challenge other = {.scheme = CHALLENGE_OTHER};
	struct login none = {0}, login = {.user = STR("u"), .secret = STR("p")};
	struct auth_request q;
	struct auth a;

	auth_init(&a, &home, &none, NULL);
	is_int(challenge(&a, basic, &q), ERR_TYPE, "Basic without a login");
	is_int(challenge(&a, other, &q), ERR_TYPE, "another scheme");
	a.login = &login;
	is_int(challenge(&a, basic, &q), 0, "Basic");
	header_is(&a, "https://r.io/", STR(""), 0, "Authorization: Basic dTpw\r\n");
	header_is(&a, "https://a.io/", STR(""), 0, "");
	is_int(challenge(&a, basic, &q), ERR_TYPE, "and again: it was wrong");
	auth_free(&a);
}

int main(void)
{
	arena_init(&memory, 1 << 20);
	test_challenges();
	test_bad_challenges();
	test_bearer();
	test_tokens();
	test_basic();
	arena_reset(&memory);
	return done_testing();
}
