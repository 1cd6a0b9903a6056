/* The tokens of a backend; the expected values are from Python's hmac. */
#include "inject/names/listen_token.h"

#include "tests/tap.h"

#include <stdlib.h>

#define BOX_HEX "234acdc09ba5460953ac4aa573a9e93d41494de81e120dfede3eb98c73592268"
#define OPERATOR "556f5a763188c8540b247184464c353d749786b38a9a825601b8dfa37add6d5e"
#define A16 "aaaaaaaaaaaaaaaa"

static struct listen_tokens tokens;

/* The token lies flush against the end of an allocation. */
static bool is_sandbox(struct str token)
{
	char *copy = malloc(token.n ? token.n : 1);
	struct str name;
	bool is;

	memcpy(copy, token.p, token.n);
	is = listen_token_is_sandbox(&tokens, str_make(copy, token.n), &name);
	free(copy);
	return is;
}

static void check_values(void)
{
	struct buf text = BUF_INIT(256);
	struct str name;

	listen_token_put_sandbox(&tokens, STR("box-7"), &text);
	is_view(buf_view(&text), "box-7~" BOX_HEX, "the token of a sandbox");
	ok(listen_token_is_sandbox(&tokens, buf_view(&text), &name),
		"the token of a sandbox is accepted");
	is_view(name, "box-7", "the name is in the token");
	buf_reset(&text);
	listen_token_put_operator(&tokens, &text);
	is_view(buf_view(&text), OPERATOR, "the operator's token");
	ok(listen_token_is_operator(&tokens, buf_view(&text)),
		"the operator's token is accepted");
	buf_free(&text);
}

static void check_refused(void)
{
	static const char *const wrong[] = {"", "~", "box-7", "box-7~", "~" BOX_HEX,
		BOX_HEX, OPERATOR, "box-8~" BOX_HEX, "box-7~" OPERATOR,
		"box-7~" BOX_HEX "0", "box-7~~" BOX_HEX, " box-7~" BOX_HEX,
		"box-7." BOX_HEX, "0123456789abcdef"};
	struct str whole = STR("box-7~" BOX_HEX);
	char changed[sizeof("box-7~" BOX_HEX)];
	bool none = true;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		ok(!is_sandbox(str_c(wrong[i])), "\"%s\" is no token", wrong[i]);
	for (size_t n = 0; n < whole.n; n++) {
		none &= !is_sandbox(str_make(whole.p, n));
		memcpy(changed, whole.p, whole.n);
		changed[n] = changed[n] == '0' ? '1' : '0';
		none &= !is_sandbox(str_make(changed, whole.n));
	}
	ok(none, "a token that is cut, or has another byte, is refused");
	ok(!listen_token_is_operator(&tokens, whole) &&
			!listen_token_is_operator(&tokens, STR(BOX_HEX)) &&
			!listen_token_is_operator(&tokens, STR("")),
		"no other token is the operator's");
}

static void check_names(void)
{
	static const char *const good[] = {"a", "A-b_c.9", "-", "_", A16 A16 A16 A16};
	static const char *const bad[] = {"", ".", "..", ".a", "a/b", "a~b", "a b",
		"a%2f", "\xc3\xa4", A16 A16 A16 A16 "a"};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ok(listen_name_is_valid(str_c(good[i])), "\"%s\" is a name", good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!listen_name_is_valid(str_c(bad[i])), "\"%s\" is no name", bad[i]);
	ok(!listen_name_is_valid(str_make("a\0b", 3)), "a name has no NUL in it");
}

int main(void)
{
	listen_tokens_init(&tokens, STR("0123456789abcdef"));
	check_values();
	check_refused();
	check_names();
	return done_testing();
}
