#include "base/str.h"

#include "tests/tap.h"

static void test_compare(void)
{
	ok(str_eq(STR("ab"), STR("ab")), "equal strings are equal");
	ok(!str_eq(STR("ab"), STR("abc")), "a prefix is not equal");
	ok(!str_eq(STR("ab"), STR("aB")), "case counts");
	ok(str_eq(STR(""), str_c(NULL)), "empty is empty, with and without bytes");
	ok(str_eq(STR("a\0b"), STR("a\0b")), "NUL is a byte like any");
	ok(!str_eq(STR("a\0b"), STR("a\0c")), "bytes behind a NUL count");
	ok(str_eq_nocase(STR("aZ-9"), STR("Az-9")), "ASCII case is ignored");
	ok(!str_eq_nocase(STR("a"), STR("ab")), "lengths count without case");
	ok(!str_eq_nocase(STR("@"), STR("`")), "only letters have a case");
	ok(!str_eq_nocase(STR("["), STR("{")), "only letters have a case, upper end");
	ok(!str_eq_nocase(STR("\xc4"), STR("\xe4")), "bytes above 127 have none");
	ok(str_starts(STR("abc"), STR("ab")) && str_starts(STR("abc"), STR("")),
		"prefixes, the empty one too");
	ok(!str_starts(STR("ab"), STR("abc")) && !str_starts(STR("abc"), STR("bc")),
		"no prefixes");
	ok(str_ends(STR("abc"), STR("bc")) && str_ends(STR(""), STR("")), "suffixes");
	ok(!str_ends(STR("bc"), STR("abc")) && !str_ends(STR("abc"), STR("ab")),
		"no suffixes");
}

static void test_find(void)
{
	is_int(str_find_byte(STR("abcb"), 'b'), 1, "the first byte is found");
	is_int(str_find_byte(STR("abc"), 'x'), 3, "an absent byte gives the length");
	is_int(str_find_byte(str_c(NULL), 'x'), 0, "nothing is found in nothing");
	is_int(str_find(STR("ababc"), STR("abc")), 2, "the first needle is found");
	is_int(str_find(STR("ab"), STR("abc")), 2, "a needle longer than the text");
	is_int(str_find(STR("abd"), STR("x")), 3, "an absent needle");
	is_int(str_find(STR("abc"), STR("")), 0, "the empty needle is at the start");
	is_int(str_find(STR("a\0bc"), STR("\0b")), 1, "a needle with a NUL");
}

static void test_cut(void)
{
	struct str rest = STR("a,,b");

	is_view(str_skip(STR("abc"), 0), "abc", "skip nothing");
	is_view(str_skip(STR("abc"), 2), "c", "skip two");
	is_view(str_skip(STR("abc"), 9), "", "skip more than there is");
	is_int(str_skip(str_c(NULL), 5).n, 0, "skip in nothing");
	is_view(str_trim(STR(" \tx y\t "), " \t"), "x y", "both ends are trimmed");
	is_view(str_trim(STR(" \t "), " \t"), "", "all is trimmed");
	is_view(str_trim(STR("x"), ""), "x", "the empty set trims nothing");
	is_int(str_trim(STR("\0x"), " ").n, 2, "NUL is in no set");
	is_view(str_cut(&rest, ','), "a", "first field");
	is_view(str_cut(&rest, ','), "", "empty field");
	is_view(rest, "b", "what is left");
	is_view(str_cut(&rest, ','), "b", "last field");
	is_int(rest.n, 0, "nothing is left");
	is_view(str_cut(&rest, ','), "", "a field of nothing");
	rest = STR("a,");
	is_view(str_cut(&rest, ','), "a", "a separator at the end");
	is_int(rest.n, 0, "leaves nothing");
}

static void test_u64(void)
{
	uint64_t v = 7;

	is_int(str_u64(STR("0"), 10, &v), 0, "zero");
	is_int(v, 0, "is zero");
	is_int(str_u64(STR("0010"), 10, &v), 0, "leading zeros, the maximum itself");
	is_int(v, 10, "is ten");
	is_int(str_u64(STR("11"), 10, &v), ERR_RANGE, "one above the maximum");
	is_int(v, 10, "out is untouched on failure");
	is_int(str_u64(STR("18446744073709551615"), UINT64_MAX, &v), 0, "2^64 - 1");
	ok(v == UINT64_MAX, "is 2^64 - 1");
	is_int(str_u64(STR("18446744073709551616"), UINT64_MAX, &v), ERR_RANGE, "2^64");
	is_int(str_u64(STR("99999999999999999999999"), UINT64_MAX, &v), ERR_RANGE,
		"far too much");
	is_int(str_u64(STR(""), 10, &v), ERR_SYNTAX, "no digits");
	is_int(str_u64(STR("-1"), 10, &v), ERR_SYNTAX, "a sign");
	is_int(str_u64(STR("+1"), 10, &v), ERR_SYNTAX, "a plus");
	is_int(str_u64(STR(" 1"), 10, &v), ERR_SYNTAX, "a blank");
	is_int(str_u64(STR("1a"), 10, &v), ERR_SYNTAX, "a letter");
	is_int(str_u64(STR("1\0"), 10, &v), ERR_SYNTAX, "a NUL");
	is_int(str_u64(STR("0x1"), 10, &v), ERR_SYNTAX, "no other base");
}

static void test_i64(void)
{
	int64_t v = 7;

	is_int(str_i64(STR("12"), &v), 0, "without a sign");
	is_int(v, 12, "is twelve");
	is_int(str_i64(STR("+3"), &v), 0, "a plus");
	is_int(v, 3, "is three");
	is_int(str_i64(STR("-4"), &v), 0, "a minus");
	is_int(v, -4, "is minus four");
	is_int(str_i64(STR("-0"), &v), 0, "minus zero");
	is_int(v, 0, "is zero");
	is_int(str_i64(STR("9223372036854775808"), &v), ERR_RANGE, "2^63");
	is_int(v, 0, "out is untouched on failure");
	is_int(str_i64(STR("9223372036854775807"), &v), 0, "2^63 - 1");
	ok(v == INT64_MAX, "is that");
	is_int(str_i64(STR("-9223372036854775808"), &v), 0, "-2^63");
	ok(v == INT64_MIN, "is that");
	is_int(str_i64(STR("-9223372036854775809"), &v), ERR_RANGE, "one less");
	is_int(str_i64(STR(""), &v), ERR_SYNTAX, "nothing");
	is_int(str_i64(STR("-"), &v), ERR_SYNTAX, "a sign alone");
	is_int(str_i64(STR("--1"), &v), ERR_SYNTAX, "two signs");
	is_int(str_i64(STR(" 1"), &v), ERR_SYNTAX, "a blank");
}

int main(void)
{
	test_compare();
	test_find();
	test_cut();
	test_u64();
	test_i64();
	return done_testing();
}
