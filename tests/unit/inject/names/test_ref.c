#include "inject/names/ref.h"

#include "tests/tap.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_good(void)
{
	static const struct {
		const char *text, *canonical;
	} rows[] = {
		{"debian", "docker.io/library/debian:latest"},
		{"debian:12", "docker.io/library/debian:12"},
		{"nikolaik/python-nodejs:python3.12-nodejs22",
			"docker.io/nikolaik/python-nodejs:python3.12-nodejs22"},
		{"docker.io/debian", "docker.io/library/debian:latest"},
		{"index.docker.io/a/b", "docker.io/a/b:latest"},
		{"localhost/x", "localhost/x:latest"},
		{"localhost:5000/x", "localhost:5000/x:latest"},
		{"host:5000/img:tag", "host:5000/img:tag"},
		{"host:5000/a/b/c", "host:5000/a/b/c:latest"},
		{"ghcr.io/all-hands-ai/runtime:0.1", "ghcr.io/all-hands-ai/runtime:0.1"},
		{"Host/x", "Host/x:latest"},
		{"[::1]:5000/x:t", "[::1]:5000/x:t"},
		{"[::1]/x", "[::1]/x:latest"},
		{"a.b/c", "a.b/c:latest"},
		{"a@sha256:" ID, "docker.io/library/a@sha256:" ID},
		{"a:t@sha256:" ID, "docker.io/library/a:t@sha256:" ID},
		{"host:1/a@sha256:" ID, "host:1/a@sha256:" ID},
		{"a--b__c.d_e", "docker.io/library/a--b__c.d_e:latest"},
		{"a:_T.x-1", "docker.io/library/a:_T.x-1"},
		{"deadbeef", "docker.io/library/deadbeef:latest"},
		{ID, "sha256:" ID},
		{"sha256:" ID, "sha256:" ID},
	};
	struct buf out = BUF_INIT(4096);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why = NULL;
		struct ref r;

		buf_reset(&out);
		is_int(ref_parse(&r, str_c(rows[i].text), &why), 0, "%s", rows[i].text);
		ref_write_canonical(&r, &out);
		is_view(buf_view(&out), rows[i].canonical, "its canonical form");
	}
	buf_free(&out);
}

static void test_bad(void)
{
	static const char *const rows[] = {
		"",
		"/",
		":",
		"@",
		"a/",
		"/a",
		"a//b",
		"a:",
		":t",
		"a@",
		"A",
		"a/B",
		"a b",
		"a\nb",
		"a$b",
		"-a",
		"a-",
		"a..b",
		"a___b",
		"a._b",
		"_a",
		"a_",
		"a:-t",
		"a:.t",
		"a:t t",
		"a@sha256:12",
		"a@sha256:" ID "0",
		"a@sha256:" ID "@x",
		"a@:" ID,
		"a@sha256",
		"host:port/a",
		"host:/a",
		"host:99999/a",
		"a.:1/b",
		".a/b",
		"a..b.c/d",
		"[::g]/x",
		"[]/x",
		"[::1/x",
		"localhost/",
		"localhost:5000/",
		"sha256:" ID ID "/",
		"http://a/b",
		"a\"b",
		"a:t/../b",
		"..",
		".",
		"a/./b",
		"a/../b",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why = NULL;
		struct ref r = {.is_id = true};

		is_int(ref_parse(&r, str_c(rows[i]), &why), ERR_SYNTAX, "refused: %s",
			*rows[i] == 'a' && rows[i][1] == '\n' ? "a newline" : rows[i]);
		ok(why && r.is_id, "says why and leaves the result alone");
	}
}

static void test_parts(void)
{
	const char *why;
	struct ref r;

	is_int(ref_parse(&r, STR("h.x:5000/a/b:t@sha256:" ID), &why), 0, "all parts");
	is_view(r.domain, "h.x:5000", "domain");
	is_view(r.path, "a/b", "path");
	is_view(r.tag, "t", "tag");
	is_view(r.digest, "sha256:" ID, "digest");
	ok(!r.is_id, "no id");
	is_int(ref_parse(&r, STR("sha256:" ID), &why), 0, "an id");
	ok(r.is_id && !r.path.n, "is no name");
	is_int(ref_parse(&r, str_make("a\0b", 3), &why), ERR_SYNTAX, "NUL");
}

static void test_limits(void)
{
	char text[REF_MAX + 2];
	const char *why;
	struct ref r;

	memset(text, 'a', sizeof(text));
	is_int(ref_parse(&r, str_make(text, 255), &why), 0, "a name of 255");
	is_int(ref_parse(&r, str_make(text, 256), &why), ERR_SYNTAX, "of 256");
	text[10] = ':';
	is_int(ref_parse(&r, str_make(text, 11 + 128), &why), 0, "a tag of 128");
	is_int(ref_parse(&r, str_make(text, 11 + 129), &why), ERR_SYNTAX, "of 129");
	is_int(ref_parse(&r, str_make(text, REF_MAX + 1), &why), ERR_SYNTAX, "in all");
}

int main(void)
{
	test_good();
	test_bad();
	test_parts();
	test_limits();
	return done_testing();
}
