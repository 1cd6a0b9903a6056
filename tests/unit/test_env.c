#include "base/env.h"

#include "tests/tap.h"

static const char *const env[] = {
	"PATHS=no", "PATH=/bin", "EMPTY=", "bare", "TWICE=", "TWICE=second", NULL,
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

int main(void)
{
	test_find();
	test_value();
	return done_testing();
}
