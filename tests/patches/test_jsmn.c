/*
 * Closing brackets cost the same however deep they stand
 * (third_party/patches/jsmn/01-close-innermost.patch), and close the container
 * they closed before.
 */
#include "tests/tap.h"

#include <stdlib.h>
#include <time.h>

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

enum { DEEP = 60000, TOKENS = 16 };

/* Unpatched this takes seconds, patched a millisecond. */
static void test_cost(void)
{
	char *text = malloc(2 * DEEP);
	jsmntok_t *tokens = calloc(DEEP, sizeof(*tokens));
	clock_t start = clock();
	jsmn_parser parser;
	bool good = true;

	memset(text, '[', DEEP);
	memset(text + DEEP, ']', DEEP);
	jsmn_init(&parser);
	is_int(jsmn_parse(&parser, text, 2 * DEEP, tokens, DEEP), DEEP, "deep brackets");
	ok(clock() - start < CLOCKS_PER_SEC, "are no work");
	for (int i = 0; i < DEEP; i++)
		good = good && tokens[i].end == 2 * DEEP - i && tokens[i].parent == i - 1;
	ok(good, "each closes its own");
	free(tokens);
	free(text);
}

/* Start and end of every token, or the error. */
static const struct {
	const char *text;
	int result;
	int span[TOKENS][2];
} rows[] = {
	{"[]", 1, {{0, 2}}},
	{"[[],[]]", 3, {{0, 7}, {1, 3}, {4, 6}}},
	{"[1,[2],3]", 5, {{0, 9}, {1, 2}, {3, 6}, {4, 5}, {7, 8}}},
	{"{\"a\":{\"b\":[1]},\"c\":{}}", 8,
		{{0, 22}, {2, 3}, {5, 14}, {7, 8}, {10, 13}, {11, 12}, {16, 17},
			{19, 21}}},
	{"[{\"a\":\"b\"},\"c\"]", 5, {{0, 15}, {1, 10}, {3, 4}, {7, 8}, {12, 13}}},
	{"]", JSMN_ERROR_INVAL, {{0}}},
	{"[]]", JSMN_ERROR_INVAL, {{0}}},
	{"{}]", JSMN_ERROR_INVAL, {{0}}},
	{"[}", JSMN_ERROR_INVAL, {{0}}},
	{"{\"a\":1]", JSMN_ERROR_INVAL, {{0}}},
	{"[[1]", JSMN_ERROR_PART, {{0}}},
};

static void test_results(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		jsmntok_t tokens[TOKENS];
		jsmn_parser parser;
		bool good = true;
		int n;

		jsmn_init(&parser);
		n = jsmn_parse(
			&parser, rows[i].text, strlen(rows[i].text), tokens, TOKENS);
		is_int(n, rows[i].result, "%s", rows[i].text);
		for (int t = 0; t < n; t++)
			good = good && tokens[t].start == rows[i].span[t][0] &&
				tokens[t].end == rows[i].span[t][1];
		ok(good, "%s: the tokens", rows[i].text);
	}
}

int main(void)
{
	test_cost();
	test_results();
	return done_testing();
}
