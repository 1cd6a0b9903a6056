#include "inject/sandbox/process_request.h"

#include "inject/console/out.h"
#include "tests/tap.h"

static char sh[] = "sh", line[] = "a\n\"b\"", bad[] = "\xff";

static void test_write(void)
{
	static char *const argv[] = {sh, line};
	const struct str env[] = {STR("A=1"), STR("AB=2"), STR("A=3"), STR("E=")};
	struct process_request q = {.argv = argv, .argv_n = 2};
	struct buf out = BUF_INIT(4096);

	is_int(process_request_write(&q, &out), 0, "argv alone");
	is_view(buf_view(&out),
		"{\"argv\":[\"sh\",\"a\\n\\\"b\\\"\"],\"stdin\":false,"
		"\"when_full\":\"wait\",\"on_disconnect\":\"kill\"}",
		"argv alone: the request");
	buf_reset(&out);
	q = (struct process_request){.argv = argv,
		.argv_n = 1,
		.env = env,
		.env_n = ARRAY_LEN(env),
		.cwd = "/w",
		.user = "1:2",
		.pty = true,
		.rows = 24,
		.columns = 80,
		.takes_stdin = true,
		.detached = true,
		.writes_to_log = true,
		.stops_sandbox = true,
		.timeout = 7};
	is_int(process_request_write(&q, &out), 0, "everything");
	is_view(buf_view(&out),
		"{\"argv\":[\"sh\"],\"env\":{\"AB\":\"2\",\"A\":\"3\",\"E\":\"\"},"
		"\"cwd\":\"/w\",\"user\":\"1:2\",\"pty\":{\"rows\":24,\"columns\":80},"
		"\"stdin\":true,\"timeout\":7,\"when_full\":\"discard\","
		"\"on_disconnect\":\"continue\",\"output\":\"log\","
		"\"on_exit\":\"stop\"}",
		"everything: the last variable of a name counts");
	buf_free(&out);
}

static void test_bytes(void)
{
	static char *const argv[] = {sh, bad};
	const struct str env[] = {STR("A=\xff")};
	struct process_request q = {.argv = argv, .argv_n = 2};
	struct buf out = BUF_INIT(4096);

	is_int(process_request_write(&q, &out), FAIL_USAGE, "a word that is not UTF-8");
	q.argv_n = 1;
	q.env = env;
	q.env_n = 1;
	is_int(process_request_write(&q, &out), FAIL_USAGE,
		"a variable that is not UTF-8");
	q.env_n = 0;
	q.user = "\xff";
	is_int(process_request_write(&q, &out), FAIL_USAGE, "a user that is not UTF-8");
	is_int(out.n, 0, "nothing is written");
	buf_free(&out);
}

static void test_codes(void)
{
	static const struct {
		int64_t code;
		const char *signal;
		int want;
	} rows[] = {{0, "", 0}, {3, "", 3}, {255, "", 255}, {0, "SIGKILL", 137},
		{0, "SIGTERM", 143}, {0, "SIGINT", 130}, {0, "SIGSEGV", 139},
		{0, "SIG34", 162}, {0, "what", 255}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_int(process_exit_code(rows[i].code, str_c(rows[i].signal)),
			rows[i].want, "code %lld, signal '%s'", (long long)rows[i].code,
			rows[i].signal);
}

static void test_refused(void)
{
	static const struct {
		const char *answer;
		int want;
	} rows[] = {{"{\"reason\":\"not_found\",\"detail\":\"x\"}", 127},
		{"{\"reason\":\"not_executable\",\"detail\":\"x\"}", 126},
		{"{\"reason\":\"no_user\",\"detail\":\"x\"}", FAIL_ENVIRONMENT},
		{"{\"reason\":7}", FAIL_ENVIRONMENT}, {"[", FAIL_ENVIRONMENT},
		{"", FAIL_ENVIRONMENT}};
	static char *const argv[] = {line};
	const struct process_request q = {.argv = argv, .argv_n = 1};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_int(process_fail_start(&q, str_c(rows[i].answer)), rows[i].want,
			"refusal %s", rows[i].answer);
}

int main(void)
{
	test_write();
	test_bytes();
	test_codes();
	test_refused();
	return done_testing();
}
