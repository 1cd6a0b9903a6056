#include "codec/http/uri.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>

struct row {
	int result;
	bool plus;
	const char *in, *out;
};

static const struct row rows[] = {
	{0, false, "", ""},
	{0, false, "/a/b", "/a/b"},
	{0, false, "/a%20b%2Fc%2f", "/a b/c/"},
	{0, false, "a+b", "a+b"},
	{0, true, "a+b%2B", "a b+"},
	{0, false, "%41%c3%A9%ff", "A\xc3\xa9\xff"},
	{0, false, "%2500", "%00"},
	{ERR_SYNTAX, false, "%", NULL},
	{ERR_SYNTAX, false, "a%4", NULL},
	{ERR_SYNTAX, false, "%4g", NULL},
	{ERR_SYNTAX, false, "%g4", NULL},
	{ERR_SYNTAX, false, "%-1", NULL},
	{ERR_SYNTAX, false, "%u0041", NULL},
	{ERR_SYNTAX, false, "a%00b", NULL},
};

static void test_decode(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t in_n = strlen(rows[i].in), n = 77;
		char *p = malloc(in_n + 1);
		char out[32];

		memcpy(p, rows[i].in, in_n);
		p = realloc(p, in_n ? in_n : 1);
		is_int(uri_decode(str_make(p, in_n), rows[i].plus, out, &n),
			rows[i].result, "decode %zu", i);
		if (rows[i].result) {
			is_int((long long)n, 77, "out-parameter untouched");
		} else {
			is_view(str_make(out, n), rows[i].out, "decoded %zu", i);
			n = 0;
			if (uri_decode(str_make(p, in_n), rows[i].plus, p, &n))
				n = 0;
			is_view(str_make(p, n), rows[i].out, "in place %zu", i);
		}
		free(p);
	}
}

struct query_row {
	int result;
	const char *query, *name, *value;
};

static const struct query_row query_rows[] = {
	{0, "path=%2Ftmp%2Fa+b", "path", "/tmp/a b"},
	{0, "a=1&path=x&b=2", "path", "x"},
	{0, "path=", "path", ""},
	{0, "path", "path", ""},
	{0, "path=a=b", "path", "a=b"},
	{0, "p%61th=x", "path", "x"},
	{0, "&&path=x&", "path", "x"},
	{0, "=x", "", "x"},
	{0, "a+b=x", "a b", "x"},
	{1, "", "path", NULL},
	{1, "paths=x&pat=y", "path", NULL},
	{1, "Path=x", "path", NULL},
	{ERR_DUPLICATE, "path=x&path=x", "path", NULL},
	{ERR_DUPLICATE, "path&p%61th", "path", NULL},
	{ERR_SYNTAX, "path=%zz", "path", NULL},
	{ERR_SYNTAX, "path=a%00", "path", NULL},
	{ERR_SYNTAX, "%=1&path=x", "path", NULL},
	{1, "a=%zz", "path", NULL},
};

static void test_query(void)
{
	struct arena arena;

	for (size_t i = 0; i < ARRAY_LEN(query_rows); i++) {
		const struct query_row *row = &query_rows[i];
		struct str v = STR("before");

		arena_init(&arena, 4096);
		is_int(uri_query_find(str_c(row->query), str_c(row->name), &arena, &v),
			row->result, "query %zu", i);
		is_view(v, row->result ? "before" : row->value, "value %zu", i);
		arena_reset(&arena);
	}
	arena_init(&arena, 0);
	{
		struct str v;

		is_int(uri_query_find(STR("a=b"), STR("a"), &arena, &v), -ENOMEM,
			"arena full");
	}
}

int main(void)
{
	test_decode();
	test_query();
	return done_testing();
}
