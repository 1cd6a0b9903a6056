/* The out-of-memory killer in observations; files stand for the cgroup. */
#include "tests/support/run_driver.h"

#define FINISHED(code) "\n[The command completed with exit code " #code ".]"
#define KILLED(n) \
	"\n[While the command ran, the kernel's out-of-memory killer ended " n \
	" of the sandbox. The memory limit is 64 MiB.]"
#define COUNT(n) "printf 'oom 9\\noom_kill " #n "\\n' >cg/memory.events"

static struct cgroup group = {.kills = -1};

/* The group lies in the home, which is the working directory, so commands change it. */
static void make_group(void)
{
	is_int(RUN("mkdir cg && cd cg && printf '67108864\\n' >memory.max && "
		   "echo 1 >memory.current && cd .. && " COUNT(3))
			.exit_code,
		0, "the files of the group are made");
	cgroup_find(&group, in_home("cg"));
	is_int(group.version, CGROUP_V2, "the group is found");
}

static void test_counts(void)
{
	is_view(RUN("true").suffix, FINISHED(0), "without a kill nothing is said");
	is_view(RUN(COUNT(4) "; (exit 137)").suffix, FINISHED(137) KILLED("1 process"),
		"a kill is named behind exit code 137");
	is_view(RUN("true").suffix, FINISHED(0), "the next command says nothing of it");
	is_view(RUN(COUNT(6) "; true").suffix, FINISHED(0) KILLED("2 processes"),
		"kills of parts of a command are named, whatever its exit code");
	is_view(RUN(COUNT(1)).suffix, FINISHED(0), "a count that falls is no kill");
	is_view(RUN(": >cg/memory.events; (exit 137)").suffix, FINISHED(137),
		"a count that is gone is unknown");
	is_view(RUN(COUNT(7)).suffix, FINISHED(0),
		"a count that was unknown at the start is unknown");
	is_view(RUN("echo max >cg/memory.max; " COUNT(8)).suffix,
		FINISHED(0) "\n[While the command ran, the kernel's out-of-memory killer "
			    "ended 1 process of the sandbox.]",
		"without a limit none is named");
}

static void test_shell(void)
{
	struct seen s = RUN("echo 67108864 >cg/memory.max; " COUNT(9) "; kill -9 $$");

	is_int(s.exit_code, 137, "a shell that is killed ends its command");
	ok(str_find(s.suffix, STR("The shell has ended.")) < s.suffix.n &&
			str_ends(s.suffix, STR(KILLED("1 process"))),
		"the end of a shell and the kill are both named");
}

int main(void)
{
	const struct shell_row *row = &shell_rows[0];

	for (size_t i = 0; i < ARRAY_LEN(shell_rows) && !shell_path(row); i++)
		row = &shell_rows[i];
	if (!shell_path(row)) {
		skip("the out-of-memory killer", "there is no shell");
		return done_testing();
	}
	open_home(row);
	drv.setup.cgroup = &group;
	open_session();
	is_view(RUN("(exit 137)").suffix, FINISHED(137),
		"without a group nothing is said");
	make_group();
	test_counts();
	test_shell();
	close_session();
	cgroup_close(&group);
	driver_free();
	return done_testing();
}
