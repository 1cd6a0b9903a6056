/* What a shell prints for $0 and for PS1. */
#include "tests/unit/run_driver.h"

static const char *name;

static void is_done(struct seen s, const char *content, const char *what)
{
	is_view(s.content, content, "%s: %s: content", name, what);
	is_int(s.exit_code, 0, "%s: %s: exit code", name, what);
}

/* The length of the longest run of hexadecimal digits. */
static size_t longest_hex(struct str s)
{
	size_t run = 0, most = 0;

	for (size_t i = 0; i < s.n; i++) {
		run = strchr("0123456789abcdef", s.p[i]) ? run + 1 : 0;
		most = run > most ? run : most;
	}
	return most;
}

/* PS1 names variables. It holds no secret and cannot act on a terminal. */
static void check_prompt(void)
{
	struct seen s = RUN("printf '%s' \"$PS1\" | od -An -c");

	ok(s.content.n && !contains(s.content, "033") && !contains(s.content, "\\a"),
		"%s: PS1 holds no control byte", name);
	s = RUN("printf '%s' \"$PS1\"");
	ok(contains(s.content, "__od_") && !contains(s.content, "7777"),
		"%s: PS1 names variables", name);
	ok(longest_hex(s.content) < 16, "%s: PS1 holds no nonce", name);
	/* zsh expands its PS1 by a flag that no other shell has. */
	if (drv.row->kind != SHELLS_ZSH)
		is_done(RUN("PS1=\"$PS1\" bash -c 'eval \"echo \\\"[$PS1]\\\"\"'"), "[]",
			"a process that inherits PS1 alone has an empty prompt");
	is_done(RUN("PS1='mine> '"), "", "a command sets PS1");
	is_done(RUN("echo on"), "on", "the next command ends");
}

static void check_all(const struct shell_row *row)
{
	name = row->name;
	if (!shell_wanted(row))
		return;
	open_home(row);
	open_session();
	check_prompt();
	close_session();
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shell_rows); i++)
		check_all(&shell_rows[i]);
	driver_free();
	return done_testing();
}
