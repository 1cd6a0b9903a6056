/* config.json and what helpers answer. */
#include "inject/registry/login.h"

#include "tests/tap.h"

#include <errno.h>

/* "u:p" is dTpw, "user:a:b" is dXNlcjphOmI=, "u:p\0\0" is dTpwAAA= */
#define FILE_TEXT \
	"{\"auths\":{" \
	"\"https://index.docker.io/v1/\":{\"auth\":\"dXNlcjphOmI=\"}," \
	"\"host:5000\":{\"auth\":\"dTpw\"}," \
	"\"http://old.io/v2/\":{\"auth\":\"dTpwAAA=\"}," \
	"\"path.io/team\":{\"auth\":\"dTpw\"}," \
	"\"plain.io\":{\"username\":\"n\",\"password\":\"w\"}," \
	"\"id.io\":{\"auth\":\"dTpw\",\"identitytoken\":\"tok\"}," \
	"\"bad.io\":{\"auth\":\"%%%\"},\"none.io\":{\"auth\":\"bm9uZQ==\"}," \
	"\"empty.io\":{}}," \
	"\"credHelpers\":{\"help.io\":\"one\",\"evil.io\":\"a/b\"}," \
	"\"credsStore\":\"all\",\"HttpHeaders\":{}}"

static void test_config(void)
{
	static const struct {
		const char *registry, *user, *secret, *identity, *helper;
		int want;
	} rows[] = {
		{"docker.io", "user", "a:b", "", "", 0},
		{"registry-1.docker.io", "user", "a:b", "", "", 0},
		{"host:5000", "u", "p", "", "", 0},
		{"HOST:5000", "u", "p", "", "", 0},
		{"host", "", "", "", "all", 0},
		{"old.io", "u", "p", "", "", 0},
		{"path.io", "", "", "", "all", 0},
		{"plain.io", "n", "w", "", "", 0},
		{"id.io", "u", "p", "tok", "", 0},
		{"bad.io", "", "", "", "", ERR_SYNTAX},
		{"none.io", "", "", "", "", ERR_SYNTAX},
		{"empty.io", "", "", "", "all", 0},
		{"help.io", "", "", "", "one", 0},
		{"evil.io", "", "", "", "", ERR_SYNTAX},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct login_source s = {0};
		struct arena a;

		arena_init(&a, 1 << 16);
		is_int(login_read(STR(FILE_TEXT), str_c(rows[i].registry), &a, &s),
			rows[i].want, "%s", rows[i].registry);
		is_view(s.login.user, rows[i].user, "user");
		is_view(s.login.secret, rows[i].secret, "secret");
		is_view(s.login.identity, rows[i].identity, "identity");
		is_view(s.helper, rows[i].helper, "helper");
		arena_reset(&a);
	}
}

static void test_odd_config(void)
{
	static const char *const texts[] = {"{}", "[]", "{\"auths\":[]}",
		"{\"auths\":{\"a.io\":7}}", "{\"credsStore\":7}",
		"{\"credHelpers\":\"x\"}", "{\"auths\":{\"a.io\":{\"auth\":1}}}"};
	struct login_source s = {0};
	struct arena a;

	arena_init(&a, 1 << 16);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		ok(login_read(str_c(texts[i]), STR("a.io"), &a, &s) == 0 && !s.helper.n &&
				!s.login.user.n,
			"nobody in %s", texts[i]);
	is_int(login_read(STR("{"), STR("a.io"), &a, &s), ERR_SYNTAX, "no JSON");
	is_int(login_read(STR(""), STR("a.io"), &a, &s), ERR_SYNTAX, "nothing");
	arena_reset(&a);
	arena_init(&a, 16);
	is_int(login_read(STR("{\"credsStore\":\"01234567890123456789\"}"), STR("a"), &a,
		       &s),
		-ENOMEM, "no room");
	arena_reset(&a);
}

static void test_helper(void)
{
	struct login l = {0};
	struct arena a;

	arena_init(&a, 1 << 16);
	is_int(login_read_helper(
		       STR("{\"ServerURL\":\"x\",\"Username\":\"u\",\"Secret\":\"s\"}\n"),
		       &a, &l),
		0, "a login");
	is_view(l.user, "u", "user");
	is_view(l.secret, "s", "secret");
	is_int(login_read_helper(
		       STR("{\"Username\":\"<token>\",\"Secret\":\"s\"}"), &a, &l),
		0, "an identity");
	ok(!l.user.n && !l.secret.n, "is no login");
	is_view(l.identity, "s", "identity");
	is_int(login_read_helper(STR("{\"Username\":\"u\"}"), &a, &l), ERR_SYNTAX,
		"no secret");
	is_int(login_read_helper(STR("oops"), &a, &l), ERR_SYNTAX, "words");
	arena_wipe(&a);
}

static void test_engine(void)
{
	struct login l = {.user = STR("u"), .secret = STR("\x3f\x3f\x3f>>>")};
	struct buf out = BUF_INIT(1000);

	login_write_engine_header(&l, STR("a.io"), &out);
	is_view(buf_view(&out),
		"eyJ1c2VybmFtZSI6InUiLCJwYXNzd29yZCI6Ij8_Pz4-"
		"PiIsInNlcnZlcmFkZHJlc3MiOiJhLmlvIn0=",
		"for an engine");
	buf_reset(&out);
	l = (struct login){.identity = STR("i")};
	/* {"identitytoken":"i","serveraddress":"https://index.docker.io/v1/"} */
	login_write_engine_header(&l, STR("docker.io"), &out);
	is_view(buf_view(&out),
		"eyJpZGVudGl0eXRva2VuIjoiaSIsInNlcnZlcmFkZHJlc3MiOiJodHRwczovL2luZGV4LmRv"
		"Y2tlci5p"
		"by92MS8ifQ==",
		"by identity");
	buf_free(&out);
}

int main(void)
{
	test_config();
	test_odd_config();
	test_helper();
	test_engine();
	return done_testing();
}
