/* The bad days of a shell: it ends, its start-up files are broken, it gets stuck. */
#include "limits.h"
#include "tests/support/run_driver.h"

#include <signal.h>
#include <sys/wait.h>

static const char *name;

static void open_with(const struct shell_row *row, const char *rc)
{
	open_home(row);
	write_home(".bashrc", rc);
	write_home("env", rc);
	/* What bash reads of its own accord the others read where ENV leads. */
	if (row->kind != SHELLS_BASH) {
		static char env[96];

		snprintf(env, sizeof(env), "ENV=%s/env", drv.dir);
		drv.env[4] = env;
	}
	open_session();
}

static void is_done(struct seen s, int code, const char *content, const char *what)
{
	is_view(s.content, content, "%s: %s: output", name, what);
	is_int(s.exit_code, code, "%s: %s: exit code", name, what);
	ok(str_ends(s.suffix, STR("]")) && contains(s.suffix, "completed"),
		"%s: %s: completed", name, what);
}

/* A command that ends the shell: its code, and a new shell in the same directory. */
static void check_end(const char *command, int code)
{
	struct seen s;
	char want[256];

	RUN("mkdir -p sub && cd sub && GONE=1");
	s = RUN(command);
	snprintf(want, sizeof(want),
		"\n[The command completed with exit code %d.]\n[The shell has ended. The "
		"next "
		"command gets a new one in the same directory.]",
		code);
	is_int(s.exit_code, code, "%s: `%s`: exit code", name, command);
	is_view(s.suffix, want, "%s: `%s`: in words", name, command);
	snprintf(want, sizeof(want), "%s/sub", drv.dir);
	is_view(s.working_dir, want, "%s: `%s`: directory", name, command);
	s = RUN("echo \"${GONE-new}\"");
	is_view(s.content, "new", "%s: `%s`: a new shell", name, command);
	is_view(s.working_dir, want, "%s: `%s`: in the same directory", name, command);
	is_view(s.suffix, DONE(0), "%s: `%s`: is worth no more words", name, command);
	RUN("cd ..");
}

static void check_ends(void)
{
	struct seen s;

	check_end("exit", 0);
	check_end("exit 3", 3);
	check_end("exec true", 0);
	check_end("exec sh -c 'exit 7'", 7);
	check_end("set -e; false", 1);
	check_end("kill -9 $$", 137);
	check_end("kill -SEGV $$", 139);
	s = RUN("exec /nowhere/at/all");
	ok(s.exit_code == 127 || s.exit_code == 126 || s.exit_code == 2,
		"%s: a failed exec", name);
	is_int(RUN("echo before; kill -9 $$").exit_code, 137, "%s: with output", name);
	is_done(RUN("echo on"), 0, "on", "a new one");
	s = RUN("C-d");
	ok(contains(s.suffix, "The shell has ended."), "%s: C-d at the prompt", name);
	is_done(RUN("echo on"), 0, "on", "after C-d");
	/* It is killed while nobody looks. */
	kill(shell_pid(session_shell(drv.box.session)), SIGKILL);
	let_pass(100);
	s = RUN("echo on");
	is_view(s.content, "on", "%s: a shell that had ended before", name);
	ok(contains(s.suffix, "The shell had ended before this command"), "%s: is told",
		name);
	/* A child keeps the terminal. */
	is_int(RUN("trap '' HUP; (trap '' HUP; sleep 3) & exit 5").exit_code, 5,
		"%s: somebody stays behind", name);
	is_done(RUN("echo on"), 0, "on", "without being in the way");
}

/* Every command ends, whatever the one before has left behind. */
static void check_leavings(const struct shell_row *row)
{
	static const char *const left[] = {"PS1='$ '", "PS1=\"(venv) $PS1\"",
		"PROMPT_COMMAND='echo pc'",
		"PROMPT_COMMAND=", "unset PROMPT_COMMAND PS1 PS2", "stty raw",
		"stty raw echo", "stty -onlcr", "stty intr x; stty eol y",
		"trap '' INT TERM", "set -u", "set -C", "set -f", "IFS=x:/",
		"set -o noglob", "unset PWD OLDPWD",
		"alias printf=false; alias builtin=false", "umask 777",
		"alias if=false then=false else=false fi=false case=false",
		"echo a\\ >/dev/null\\", "exec 2>&1", "LC_ALL=C", "set -m",
		"set -- a b c", "printf '\\033[?1049h'", "printf '\\033]7777;'",
		"printf '\\033P unfinished'", "tty=x TERM=dumb"};

	for (size_t i = 0; i < ARRAY_LEN(left); i++) {
		open_home(row);
		open_session();
		is_int(RUN(left[i]).exit_code, 0, "%s: `%s`", name, left[i]);
		is_done(RUN("echo on"), 0, "on", left[i]);
		is_done(RUN("(exit 3)"), 3, "", left[i]);
		close_session();
	}
}

static void check_trace(void)
{
	if (drv.row->kind != SHELLS_BASH) {
		skip("set -x", "only bash hides what we do");
		return;
	}
	RUN("set -x");
	is_done(RUN("echo on"), 0, "++ echo on\non", "only the command is traced");
	is_done(RUN("false"), 1, "++ false", "and nothing else");
	is_done(RUN("echo $?"), 0, "++ echo 1\n1", "with $? as it was");
	is_int(RUN("echo 'open").exit_code, 2, "%s: a broken command", name);
	is_done(RUN("echo on"), 0, "++ echo on\non", "does not end the trace");
	RUN("set +x");
	is_done(RUN("echo on"), 0, "on", "the end of the trace");
	is_done(RUN("set -v"), 0, "", "set -v shows nothing of ours");
	is_done(RUN("echo on"), 0, "echo on\non", "but the command");
	RUN("set +v");
	is_done(RUN("echo on"), 0, "on", "the end of that");
}

/*
 * What our functions were goes with the user's own, as in scripts that tidy up: each
 * command is run once all the same, and its end is told.
 */
static void check_lost(const struct shell_row *row)
{
	static const char all[] =
		"unset -f __od_mark __od_lead __od_done __od_show __od_ended; (exit 4)";
	static const char *const lost[] = {all, "unset -f __od_mark; (exit 4)",
		"unset -f __od_lead; (exit 4)", "unset -f __od_done; (exit 4)"};

	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		open_home(row);
		open_session();
		is_int(RUN(lost[i]).exit_code, 4, "%s: `%s`: its end", name, lost[i]);
		RUN("echo x >>runs; (exit 5)");
		is_done(RUN("cat runs"), 0, "x", "a command is run once");
		is_done(RUN("(exit 3)"), 3, "", "its status is told");
		is_done(RUN("echo on"), 0, "on", lost[i]);
		close_session();
	}
}

/* Nothing of ours is left, and a prompt that tells nothing. */
static void check_lost_all(const struct shell_row *row)
{
	char command[64];

	if (row->kind == SHELLS_ZSH) {
		skip("zsh: a shell in place of the shell", "its editor takes our lines");
		return;
	}
	snprintf(command, sizeof(command), "exec %s",
		row->kind == SHELLS_ASH ? "busybox ash" : row->name);
	open_home(row);
	open_session();
	is_int(RUN(command, .timeout = "0.5").exit_code, -1,
		"%s: a shell in place of the shell has no end to tell", name);
	ok(INPUT("C-c", .timeout = "5").exit_code >= 0, "%s: C-c finds it", name);
	is_done(RUN("echo on"), 0, "on", command);
	is_done(RUN("(exit 3)"), 3, "", command);
	close_session();
}

/* What bash alone has to be taken away, or to keep between two commands. */
static void check_bash(const struct shell_row *row)
{
	static const char *const left[] = {"unset -f $(compgen -A function)",
		"declare -i PROMPT_COMMAND", "readonly PS1", "readonly PROMPT_COMMAND",
		"readonly PS1 PS2 PROMPT_COMMAND", "enable -n test",
		"PROMPT_COMMAND+=(true)"};

	if (row->kind != SHELLS_BASH)
		return;
	for (size_t i = 0; i < ARRAY_LEN(left); i++) {
		open_home(row);
		open_session();
		is_int(RUN(left[i]).exit_code, 0, "%s: `%s`", name, left[i]);
		is_done(RUN("echo on"), 0, "on", left[i]);
		is_done(RUN("(exit 3)"), 3, "", left[i]);
		close_session();
	}
	open_home(row);
	open_session();
	is_int(RUN("enable -n printf").exit_code, 0, "%s: no printf", name);
	RUN("false");
	is_done(RUN("echo on"), 0, "on", "printf is there again");
	is_done(RUN("trap 'echo ERR' ERR; set -x"), 0, "", "a trap and a trace");
	is_done(RUN("(exit 3)"), 3, "++ exit 3\n+++ echo ERR\nERR", "are heard once");
	RUN("set +x; trap - ERR; exec 7>trace; BASH_XTRACEFD=7; set -x");
	RUN("false");
	RUN("set +x");
	is_done(RUN("grep -c -e 7777 -e set-up trace"), 1, "0", "no mark is in a trace");
	is_done(RUN("(exit 3) | (exit 4) | true"), 0, "", "a pipeline");
	is_done(RUN("echo ${PIPESTATUS[@]} $?"), 0, "3 4 0 0", "has its PIPESTATUS");
	is_done(RUN("echo ${PIPESTATUS[@]}"), 0, "0", "that is one command old");
	RUN("(exit 3) | (exit 4)");
	is_done(RUN("echo ${PIPESTATUS[@]} $?"), 0, "3 4 4", "one that fails");
	RUN("(exit 5)");
	is_done(RUN("echo ${PIPESTATUS[@]}"), 0, "5", "of a single command");
	RUN("true a b");
	is_done(RUN("echo $_"), 0, "b", "the last argument");
	RUN("set -o history");
	ok(!contains(RUN("history").content, "7777"), "%s: no mark in the history", name);
	close_session();
}

static void check_zsh(const struct shell_row *row)
{
	if (row->kind != SHELLS_ZSH)
		return;
	open_home(row);
	open_session();
	RUN("(exit 3) | (exit 4) | true");
	is_done(RUN("echo $pipestatus $?"), 0, "3 4 0 0", "pipestatus");
	RUN("(exit 3) | (exit 4)");
	is_done(RUN("echo $pipestatus $?"), 0, "3 4 4", "pipestatus of one that fails");
	close_session();
}

static void check_descriptors(void)
{
	RUN("exec 1>&-");
	/* zsh does not mind. */
	ok(RUN("echo lost").exit_code != 0 || drv.row->kind == SHELLS_ZSH,
		"%s: no standard output", name);
	is_done(RUN("echo on >&2"), 0, "on", "after it");
	RUN("exec 1>&2");
	is_done(RUN("exec >log 2>&1"), 0, "", "output to a file");
	is_done(RUN("echo in the file"), 0, "", "goes there");
	RUN("exec >/dev/tty 2>&1");
	is_done(RUN("head -n 1 log"), 0, "in the file", "and comes back");
}

/*
 * Not one is left for a redirection. The others do not survive one that fails: they
 * close what they were to redirect, or end.
 */
static void check_few_descriptors(void)
{
	struct seen s;

	if (drv.row->kind != SHELLS_BASH)
		return;
	s = RUN("echo before; ulimit -n 4; (exit 7)");
	is_int(s.exit_code, 7, "%s: no descriptors left: the end is told", name);
	ok(contains(s.content, "before"), "%s: and what was printed", name);
	s = RUN("echo on; (exit 6)");
	is_int(s.exit_code, 6, "%s: a command without descriptors", name);
	ok(contains(s.content, "on"), "%s: is run", name);
	is_int(RUN("exit 3").exit_code, 3, "%s: the shell without them ends", name);
	is_done(RUN("echo on"), 0, "on", "a new shell has them again");
}

/* A line of ours would be what it reads. */
static void check_ignored_key(void)
{
	RUN("trap '' INT; read x; echo \"got $x\"", .timeout = "0.3");
	is_int(INPUT("C-c", .timeout = "0.6").exit_code, -1, "%s: a key is ignored",
		name);
	is_view(INPUT("word").content, "got word", "%s: what is read is the input", name);
	RUN("trap - INT");
}

/* The prompt is not ours any more, and the line that would tell was interrupted. */
static void check_lost_prompt(void)
{
	RUN("PROMPT_COMMAND=true PS1=; PROMPT_COMMAND=true; sleep 100", .timeout = "0.3");
	is_int(INPUT("C-c", .blocking = true).exit_code, 130, "%s: C-c finds it again",
		name);
	is_done(RUN("echo on"), 0, "on", "after C-c");
}

/* It stops itself: nobody but us can wake it. */
static void check_stopped(void)
{
	RUN("kill -STOP $$; echo awake", .timeout = "0.3");
	is_int(POLL(.timeout = "0.1").exit_code, -1, "%s: a stopped shell", name);
	ok(INPUT("C-c").exit_code >= 0, "%s: C-c wakes it", name);
	is_done(RUN("echo on"), 0, "on", "after it");
}

static void check_broken(const struct shell_row *row)
{
	static const char *const files[] = {"exit 1", "exit 0", "exec true", "kill -9 $$",
		"if", "echo 'open", "set -e", "set -e; false", "set -u; echo $undefined",
		"set -x", "echo noise; printf '\\033]0;title\\a'",
		"PROMPT_COMMAND='echo hook'", "PS1='prompt> '; export PS1",
		"trap 'echo bye' EXIT", "stty raw", "exec 2>/dev/null",
		"alias printf=false builtin=false export=false return=false",
		"printf() { :; }; read() { :; }; set() { :; }", "cd /nowhere || cd /",
		"set -o vi", "readonly PS1 PROMPT_COMMAND"};

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		/* The others have no way to call a builtin that has been replaced. */
		if (row->kind != SHELLS_BASH &&
			(strstr(files[i], "printf") || strstr(files[i], "readonly")))
			continue;
		open_with(row, files[i]);
		RUN("set +x +e", .timeout = "8");
		is_done(RUN("echo on"), 0, "on", files[i]);
		is_done(RUN("(exit 3)"), 3, "", files[i]);
		close_session();
	}
}

/* Five seconds of patience, once. */
static void check_slow_start(const struct shell_row *row)
{
	open_with(row, "sleep 1000");
	is_done(RUN("echo on"), 0, "on", "a start-up file without an end");
	close_session();
}

static void check_missing(void)
{
	struct seen s;

	open_home(&shell_rows[0]);
	drv.setup.path = NULL;
	drv.setup.missing = "there is no shell in this image";
	make_session();
	s = RUN("echo hi");
	is_view(s.observation, "error", "without a shell");
	ok(contains(s.content, "there is no shell in this image"), "it says why");
	is_view(POLL().content, NOTHING_TO_READ, "and a poll is answered");
	close_session();
	open_home(&shell_rows[0]);
	drv.setup.path = "/nowhere/sh";
	make_session();
	s = RUN("echo hi");
	ok(contains(s.content, "executing the program"), "a shell that is not there");
	is_view(RUN("echo hi").observation, "error", "a second time");
	close_session();
	open_home(&shell_rows[0]);
	drv.setup.cwd = "/nowhere/at/all";
	open_session();
	is_view(RUN("pwd").content, "/", "a directory that is not there");
	close_session();
}

static void check_all(const struct shell_row *row)
{
	name = row->name;
	if (!shell_wanted(row))
		return;
	open_home(row);
	open_session();
	check_ends();
	check_trace();
	check_descriptors();
	check_lost_prompt();
	check_ignored_key();
	check_stopped();
	check_few_descriptors();
	close_session();
	check_leavings(row);
	check_lost(row);
	check_lost_all(row);
	check_bash(row);
	check_zsh(row);
	check_broken(row);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shell_rows); i++)
		check_all(&shell_rows[i]);
	name = "bash";
	if (shell_path(&shell_rows[0])) {
		check_slow_start(&shell_rows[0]);
		check_missing();
	}
	driver_free();
	return done_testing();
}
