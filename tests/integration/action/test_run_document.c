/* A here-document whose end is missing: the shell itself waits for its lines. */
#include "tests/support/run_driver.h"

static const char *name;

static void is_waiting(struct seen s, const char *prefix, const char *what)
{
	is_view(s.content, "", "%s: %s: nothing to see", name, what);
	is_view(s.prefix, prefix, "%s: %s: prefix", name, what);
	ok(contains(s.suffix, "timed out"), "%s: %s: it waits", name, what);
	is_int(s.exit_code, -1, "%s: %s: exit code", name, what);
}

static void is_done(struct seen s, int code, const char *content, const char *what)
{
	is_view(s.content, content, "%s: %s: content", name, what);
	is_view(s.prefix, "", "%s: %s: no prefix", name, what);
	is_int(s.exit_code, code, "%s: %s: exit code", name, what);
}

/* Handed over whole it would end at once: the shell itself has to wait for lines. */
static void check_document(void)
{
	bool mksh = drv.row->kind == SHELLS_MKSH;
	struct seen s = RUN("cat << EOF", .timeout = "0.3");

	is_waiting(s, "", "a document without an end");
	is_waiting(INPUT("line 1", .timeout = "0.3"), OF_PREVIOUS, "its first line");
	is_view(RUN("ls").suffix, REFUSED("ls"), "%s: a new command meanwhile", name);
	is_waiting(INPUT("\tline '2", .timeout = "0.3"), OF_PREVIOUS, "its second line");
	is_done(INPUT("EOF"), 0, "line 1\n        line '2", "its end");
	RUN("(exit 5)");
	is_waiting(RUN("if true; then cat <<A; cat <<-'B'\n1\nA\n2", .timeout = "0.3"),
		"", "two, one of them finished");
	is_waiting(INPUT("B", .timeout = "0.3"), OF_PREVIOUS, "the rest of the command");
	is_done(INPUT("echo $?; (exit 3); fi"), 3, "1\n2\n0", "the last line");
	RUN("(exit 5)");
	RUN("cat <<E", .timeout = "0.1");
	INPUT("$? $HOME", .timeout = "0.1");
	s = INPUT("E");
	ok(str_starts(s.content, STR("5 /")), "%s: $? in a document", name);
	RUN("cat << EOF", .timeout = "0.3");
	INPUT("lost", .timeout = "0.1");
	s = INPUT("C-c");
	is_int(s.exit_code, 130, "%s: C-c in a document", name);
	is_view(s.content, "^C", "%s: prints nothing of it", name);
	is_view(s.suffix, KEY_DONE(130, "C"), "%s: and is told", name);
	is_done(RUN("echo on"), 0, "on", "after C-c in a document");
	RUN("cat << EOF", .timeout = "0.3");
	INPUT("last", .timeout = "0.1");
	s = INPUT("C-d");
	/* To mksh it is an error, and the end of all input. */
	is_int(s.exit_code, mksh, "%s: C-d ends a document", name);
	ok(contains(s.content, mksh ? "unclosed" : "last"), "%s: which is printed", name);
	if (mksh) {
		let_pass(300);
		ok(contains(s.suffix, "has ended") ||
				contains(RUN("true").suffix, "in a new one"),
			"%s: a new shell", name);
	}
	is_done(RUN("echo on"), 0, "on", "after C-d in a document");
	RUN("set -e");
	RUN("cat << EOF", .timeout = "0.3");
	is_done(INPUT("EOF"), 0, "", "under set -e");
	RUN("set +e");
}

static void check_all(const struct shell_row *row)
{
	name = row->name;
	if (!shell_wanted(row))
		return;
	open_home(row);
	open_session();
	check_document();
	close_session();
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shell_rows); i++)
		check_all(&shell_rows[i]);
	driver_free();
	return done_testing();
}
