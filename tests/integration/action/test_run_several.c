/* Several commands at once: refused by the run action, wherever it stands. */
#include "tests/support/run_driver.h"

#define REFUSAL \
	"ERROR: Cannot execute multiple commands at once.\nPlease run each command " \
	"separately OR chain them into a single command via && or ;\n" \
	"Provided commands:\n(1) touch a\n(2) touch b"

static const char *const two = " touch a\n\n touch b\n";

static void is_refusal(struct seen s, const char *what)
{
	is_view(s.observation, "error", "%s: an error", what);
	is_view(s.content, REFUSAL, "%s: in the contract's words", what);
	is_view(s.message, REFUSAL, "%s: the message too", what);
}

static void test_idle(void)
{
	struct seen s;

	is_refusal(RUN(two), "an idle shell");
	is_view(RUN("ls").content, "go", "nothing of it is run");
	s = RUN(two, .hidden = true);
	is_view(s.observation, "run", "hidden: a run observation");
	is_view(s.content, REFUSAL, "hidden: the same words");
	is_int(s.exit_code, -1, "hidden: not run");
	is_view(INPUT(two).content,
		"ERROR: No previous running command to interact with.",
		"input for nobody is not even looked at");
}

static void test_accepted(void)
{
	is_view(RUN("for i in 1 2\ndo\n  echo $i\ndone").content, "1\n2", "a loop");
	is_view(RUN("cat <<'EOF' | tr a-z A-Z\nit's\nEOF").content, "IT'S", "a document");
	is_view(RUN("echo a && \\\n echo b &&\n\necho c").content, "a\nb\nc", "a chain");
	is_view(RUN("# why\necho a\n# because\n").content, "a", "comments");
	is_view(RUN("echo \"a\n\nb\"").content, "a\n\nb", "a text of lines");
}

static void test_running(void)
{
	struct seen s = RUN("read x <go; echo $x; read y", .timeout = "0.3");

	is_int(s.exit_code, -1, "a command that runs on");
	is_refusal(RUN(two), "while it runs");
	is_refusal(INPUT(two), "as its input");
	go();
	is_view(POLL(.timeout = "0.3").content, "go", "the command has not noticed");
	is_int(INPUT("x").exit_code, 0, "input of one line ends it");
}

int main(void)
{
	const struct shell_row *row = &shell_rows[0];

	for (size_t i = 0; i < ARRAY_LEN(shell_rows) && !shell_path(row); i++)
		row = &shell_rows[i];
	if (!shell_path(row)) {
		skip("several commands", "there is no shell");
		return done_testing();
	}
	open_home(row);
	open_session();
	test_idle();
	test_accepted();
	test_running();
	close_session();
	driver_free();
	return done_testing();
}
