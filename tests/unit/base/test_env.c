#include "base/env.h"

#include "tests/tap.h"

static const char *const env[] = {
	"PATHS=no",
	"PATH=/bin",
	"EMPTY=",
	"bare",
	"TWICE=",
	"TWICE=second",
	NULL,
};

static void test_find(void)
{
	is_str(env_find(env, STR("PATH")), "/bin", "the whole name counts");
	is_str(env_find(env, STR("EMPTY")), "", "an empty value is one");
	is_str(env_find(env, STR("TWICE")), "", "the first of two counts");
	ok(!env_find(env, STR("PAT")), "a part of a name is none");
	ok(!env_find(env, STR("bare")), "an entry without a sign has no value");
	ok(!env_find(env + 6, STR("PATH")), "nothing is found in an empty one");
}

static void test_value(void)
{
	is_str(env_value(env, "PATH"), "/bin", "a value");
	ok(!env_value(env, "EMPTY"), "an empty one counts as missing");
	is_str(env_value(env, "TWICE"), "second", "the first that is not empty");
	ok(!env_value(env, "bare"), "no sign, no value");
}

static void test_copy(void)
{
	struct arena a;
	const char **copy;

	arena_init(&a, 1 << 10);
	copy = env_copy(env, 2, &a);
	ok(copy && !copy[6], "as many, and a NULL");
	env_put(copy, "PATH=/usr/bin");
	is_str(copy[1], "PATH=/usr/bin", "over the one of its name");
	is_str(copy[0], "PATHS=no", "...and no other");
	env_put(copy, "bare=1");
	is_str(copy[3], "bare", "what has no sign is no variable");
	env_put(copy, "NEW=1");
	env_put(copy, "NEW=2");
	is_str(env_find((const char *const *)copy, STR("NEW")), "2", "a new one");
	ok(copy[7] && !copy[8], "...that is there once");
	is_str(env[1], "PATH=/bin", "what was copied stays as it is");
	ok(!env_copy(env, 1 << 10, &a), "no memory");
	copy = env_copy(env + 6, 0, &a);
	ok(copy && !copy[0], "of none");
	arena_reset(&a);
}

int main(void)
{
	test_find();
	test_value();
	test_copy();
	return done_testing();
}
