#include "tests/support/run_driver.h"

#include <signal.h>

static const char *name;

static bool is_kind(enum shells_kind kind)
{
	return drv.row->kind == kind;
}

static void is_running(struct seen s, const char *content, const char *prefix,
	const char *suffix, const char *what)
{
	is_view(s.content, content, "%s: %s: content", name, what);
	is_view(s.prefix, prefix, "%s: %s: prefix", name, what);
	is_view(s.suffix, suffix, "%s: %s: suffix", name, what);
	ok(s.exit_code == -1 && s.pid == -1 && !s.success && !s.hidden &&
			str_eq(s.working_dir, STR("(null)")) &&
			str_eq(s.username, STR("(null)")) &&
			str_eq(s.hostname, STR("(null)")) &&
			str_eq(s.python, STR("(null)")),
		"%s: %s: nothing else is known", name, what);
}

static void is_done(struct seen s, int code, const char *content, const char *what)
{
	char suffix[128];

	snprintf(suffix, sizeof(suffix), "\n[The command completed with exit code %d.]",
		code);
	if (content)
		is_view(s.content, content, "%s: %s: content", name, what);
	is_view(s.prefix, "", "%s: %s: no prefix", name, what);
	is_view(s.suffix, suffix, "%s: %s: suffix", name, what);
	is_int(s.exit_code, code, "%s: %s: exit code", name, what);
	ok(s.success == (code == 0), "%s: %s: success", name, what);
}

static void check_shape(void)
{
	char want[1024];

	RUN("echo hi");
	snprintf(want, sizeof(want),
		"{\"message\":\"Command `echo hi` executed with exit code 0.\","
		"\"observation\":\"run\",\"content\":\"hi\","
		"\"extras\":{\"command\":\"echo hi\",\"metadata\":{\"exit_code\":0,"
		"\"pid\":-1,\"username\":\"tester\",\"hostname\":\"box\","
		"\"working_dir\":\"%s\",\"py_interpreter_path\":\"\",\"prefix\":\"\","
		"\"suffix\":\"\\n[The command completed with exit code 0.]\"},"
		"\"hidden\":false},\"success\":true}",
		drv.dir);
	if (access("/usr/bin/python", X_OK) == 0 ||
		access("/usr/local/bin/python", X_OK) == 0)
		skip("the whole observation", "there is a python");
	else
		is_view(buf_view(&drv.out), want, "%s: the whole observation", name);
}

static void check_codes(void)
{
	struct seen s;

	is_done(RUN("true"), 0, "", "nothing printed");
	is_done(RUN("(exit 255)"), 255, "", "255");
	is_int(RUN("sh -c 'kill -9 $$'").exit_code, 137, "%s: a signal", name);
	s = RUN("nonexistent_command");
	is_int(s.exit_code, 127, "%s: no such command", name);
	ok(contains(s.content, "nonexistent_command"), "%s: in the shell's words", name);
	is_view(s.message, "Command `nonexistent_command` executed with exit code 127.",
		"%s: the message", name);
	is_done(RUN("false"), 1, "", "false");
	is_done(RUN("echo $?"), 0, "1", "$? is that of the command before");
	is_done(RUN("(exit 42)"), 42, "", "(exit 42)");
	is_done(RUN("echo $? && echo $?"), 0, "42\n0", "$? again");
	is_done(RUN("true && echo $?"), 0, "0", "$? after success");
}

/* Text that is no command ends, and the next one is not the worse for it. */
static void check_broken_text(void)
{
	static const char *const texts[] = {"if", "echo 'open", "echo \"open",
		"echo `open", "echo ${open", "echo $(open", "(", "((", "$((", "a=(",
		"[[ a", "f() {", "case x in", "if true; then (", "cat <<\"E", "echo $'",
		")", "}", "fi", "&& a", "a &&", "a |"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct seen s = RUN(texts[i]);

		/* mksh has no words for an arithmetic command without an end. */
		ok(s.exit_code > 0 && (s.content.n || is_kind(SHELLS_MKSH)),
			"%s: `%s` fails with words", name, texts[i]);
		is_done(RUN("echo on"), 0, "on", texts[i]);
	}
}

/* A directory with a name that means something to somebody on the way. */
static void check_cwd(const char *what, const char *dir, const char *quoted)
{
	char command[256], want[256];

	snprintf(want, sizeof(want), "%s/%s", drv.dir, dir);
	snprintf(command, sizeof(command), "mkdir -p %s && cd %s", quoted, quoted);
	is_view(RUN(command).working_dir, want, "%s: cd to %s", name, what);
	is_view(RUN("true").working_dir, want, "%s: still in %s", name, what);
	is_view(session_cwd(drv.box.session), want, "%s: others see %s", name, what);
	RUN("cd ..");
}

static void check_state(void)
{
	check_cwd("a word", "plain", "plain");
	check_cwd("two words", "a b", "'a b'");
	check_cwd("signs", "we\"ird$x`y`;'z", "'we\"ird$x`y`;'\\''z'");
	check_cwd("letters", "ümläut\xe2\x82\xac", "'ümläut\xe2\x82\xac'");
	check_cwd("two lines", "new\nline", "'new\nline'");
	check_cwd("backslashes", "back\\slash\\w", "'back\\slash\\w'");
	is_done(RUN("export A=one; B=two"), 0, "", "variables");
	is_done(RUN("echo $A $B; sh -c 'echo $A $B'"), 0, "one two\none", "stay");
	is_done(RUN("f() { echo \"f $1\"; }"), 0, "", "a function");
	is_done(RUN("f x"), 0, "f x", "stays");
	is_done(RUN("alias a='echo aliased'"), 0, "", "an alias");
	is_done(RUN("a"), 0, "aliased", "stays");
	is_done(RUN("unalias a"), 0, "", "and goes");
	is_done(RUN("umask 027"), 0, "", "the umask");
	is_done(RUN("umask | tail -c 4"), 0, "027", "stays");
}

static void check_idle(void)
{
	is_running(POLL(), NOTHING_TO_READ, "", "", "a poll of nothing");
	is_running(RUN(" \t\r\n "), NOTHING_TO_READ, "", "", "blanks");
	is_view(RUN("\n").command, "", "%s: a poll's command is empty", name);
	is_running(INPUT("text"), NOBODY_THERE, "", "", "input for nobody");
	is_running(INPUT("C-c"), NOBODY_THERE, "", "", "a key for nobody");
	is_view(INPUT("text").command, "", "%s: its command is empty", name);
	is_done(RUN("  echo hi \n"), 0, "hi", "blanks around a command");
	is_view(RUN("  echo hi \n").command, "echo hi", "%s: are not part of it", name);
}

static void check_timeout(void)
{
	struct seen s =
		RUN("echo 1; read x <go; echo 2; read x <go; echo 3", .timeout = "0.4");

	is_running(s, "1", "", TIMED_OUT("0.4"), "a hard timeout");
	is_running(POLL(.timeout = "0.1"), "", OF_PREVIOUS, TIMED_OUT("0.1"),
		"a quiet poll");
	go();
	is_running(POLL(.timeout = "0.5"), "2", OF_PREVIOUS, TIMED_OUT("0.5"),
		"a poll has only what is new");
	is_running(
		RUN("sleep 15"), "", OF_PREVIOUS, REFUSED("sleep 15"), "a new command");
	is_running(RUN("C-c"), "", OF_PREVIOUS, REFUSED("C-c"), "a key that is no input");
	is_running(RUN(" echo \"a\n\tb\" "), "", OF_PREVIOUS, REFUSED("echo \"a\n\tb\""),
		"a command of two lines");
	go();
	is_done(POLL(), 0, "3", "the end of it");
	is_running(POLL(), NOTHING_TO_READ, "", "", "after the end");
}

static void check_no_change(void)
{
	struct seen s = RUN("echo 1; read x <go; echo 2");

	is_running(s, "1", "", NO_CHANGE("1"), "silence");
	is_running(POLL(), "", OF_PREVIOUS, NO_CHANGE("1"), "more silence");
	is_running(POLL(.blocking = true, .timeout = "1.25"), "", OF_PREVIOUS,
		TIMED_OUT("1.25"), "silence that is waited for");
	go();
	is_done(POLL(), 0, "2", "its end");
	/* A refusal shows what is new, and counts it as shown. */
	RUN("read x <go; echo 3; read x <go; echo 4", .timeout = "0.2");
	go();
	let_pass(300);
	is_running(RUN("ls"), "3", OF_PREVIOUS, REFUSED("ls"), "a refusal with output");
	go();
	is_done(POLL(), 0, "4", "after the refusal");
}

/* Any output starts the silence anew. */
static void check_slow_output(void)
{
	is_running(RUN("for i in 1 2 3 4; do echo $i; sleep 0.4; done; read x <go"),
		"1\n2\n3\n4", "", NO_CHANGE("1"), "slow output");
	go();
	is_done(POLL(), 0, "", "its end");
}

static void check_seconds(void)
{
	static const struct {
		const char *json, *text;
	} rows[] = {
		{"0.05", "0.05"},
		{"5e-2", "0.05"},
		{"0.30000000000000004", "0.30000000000000004"},
		{"0.00001", "1e-05"},
		{"1", "1.0"},
	};
	char want[512];

	RUN("read x <go", .timeout = "0.1");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(want, sizeof(want), TIMED_OUT("%s"), rows[i].text);
		is_view(POLL(.timeout = rows[i].json, .blocking = true).suffix, want,
			"%s: seconds as Python writes them: %s", name, rows[i].json);
	}
	go();
	POLL();
}

static void check_input(void)
{
	static const char two[] =
		"printf 'Name: '; read n; printf 'Age: '; read a; echo \"$n is $a\"";

	is_running(
		RUN(two, .timeout = "0.3"), "Name:", "", TIMED_OUT("0.3"), "a question");
	is_running(RUN("Alice", .timeout = "0.3"), "", OF_PREVIOUS, REFUSED("Alice"),
		"an answer that is no input");
	is_running(INPUT("Alice", .timeout = "0.3"), "Age:", OF_PREVIOUS,
		TIMED_OUT("0.3"), "the next question");
	is_done(INPUT("25"), 0, "Alice is 25", "both answers");
	RUN("cat", .timeout = "0.1");
	is_running(INPUT("a b", .timeout = "0.3"), "a b", OF_PREVIOUS, TIMED_OUT("0.3"),
		"input is not echoed");
	is_view(INPUT("c\nd").observation, "error", "%s: input of two lines is refused",
		name);
	is_running(INPUT("\"c\nd\"", .timeout = "0.3"), "\"c\nd\"", OF_PREVIOUS,
		TIMED_OUT("0.3"), "input of two lines in quotes");
	is_view(INPUT("C-d").suffix, KEY_DONE(0, "D"), "%s: C-d ends it", name);
	is_done(RUN("test -t 0 && test -t 1 && test -t 2"), 0, "",
		"all three are terminals");
}

/* zsh may end eval with the bare number of the signal. */
static void is_interrupted(struct seen s, const char *what)
{
	ok(s.exit_code == 130 || s.exit_code == 1 ||
			(is_kind(SHELLS_ZSH) && s.exit_code == SIGINT),
		"%s: C-c %s", name, what);
}

/*
 * busybox ash with glibc interrupts itself in the middle of malloc, too, and hangs
 * then: it is replaced, which takes a while and is told.
 */
static void check_own_loop(void)
{
	struct seen s;

	RUN("while true; do true; done", .timeout = "0.3");
	s = INPUT("C-c");
	for (int i = 0; i < 10 && s.exit_code == -1 && is_kind(SHELLS_ASH); i++)
		s = POLL();
	is_interrupted(s, "in a loop of the shell");
	ok(is_kind(SHELLS_ASH) || !contains(s.suffix, "hung in a lock"),
		"%s: which it survives", name);
	is_done(RUN("echo on"), 0, "on", "after a loop of the shell");
}

static void check_keys(void)
{
	struct seen s;

	RUN("sleep 100", .timeout = "0.3");
	s = INPUT("C-c");
	is_int(s.exit_code, 130, "%s: C-c", name);
	ok(str_starts(s.content, STR("^C")) && s.content.n < 5, "%s: is shown", name);
	is_view(s.suffix, KEY_DONE(130, "C"), "%s: and told", name);
	is_view(s.prefix, "", "%s: as an end", name);
	is_done(RUN("echo $?"), 0, "130", "after C-c");
	check_own_loop();
	RUN("while true; do sleep 0.01; done", .timeout = "0.3");
	/* One that comes while no command is there is lost, on any terminal. */
	for (int i = 0; i < 10 && (!i || s.exit_code == -1); i++)
		s = INPUT("C-c", .timeout = "0.5");
	is_interrupted(s, "in a loop of commands");
	RUN("sleep 100", .timeout = "0.3");
	is_int(INPUT("C-\\").exit_code, 131, "%s: C-\\", name);
	/* From the mark to the read there is a moment in which zsh loses it. */
	let_pass(50);
	s = RUN("C-c");
	is_int(s.exit_code, 130, "%s: C-c at the prompt", name);
	is_view(s.content, "^C", "%s: is shown too", name);
	is_view(s.suffix, KEY_DONE(130, "C"), "%s: and told too", name);
	is_int(RUN("C-l").exit_code, 130, "%s: C-l at the prompt changes nothing", name);
	is_done(RUN("echo on"), 0, "on", "after keys");
	RUN("sleep 100", .timeout = "0.3");
	s = INPUT("C-z");
	/* mksh says so in words only. */
	is_int(s.exit_code, is_kind(SHELLS_MKSH) ? 0 : 148, "%s: C-z stops", name);
	ok(str_starts(s.content, STR("^Z")) &&
			(contains(s.content, "Stopped") ||
				contains(s.content, "suspended")),
		"%s: and tells", name);
	is_done(RUN("kill -9 %1; wait 2>/dev/null; true"), 0, NULL, "the stopped job");
	RUN("trap 'echo caught' INT; read x <go; trap - INT", .timeout = "0.3");
	s = INPUT("C-c", .timeout = "0.5");
	ok(contains(s.content, "caught"), "%s: C-c may be caught", name);
	if (s.exit_code == -1) {
		go();
		POLL();
	}
	is_done(RUN("trap - INT; echo on"), 0, "on", "after a caught key");
}

static void check_background(void)
{
	struct seen s = RUN("(read x <go; echo late) & echo early");
	char command[64];

	ok(contains(s.content, "early"), "%s: a background job", name);
	ok(s.pid > 1, "%s: its pid is known", name);
	snprintf(command, sizeof(command), "kill -0 %d", (int)s.pid);
	is_int(RUN(command).exit_code, 0, "%s: and right", name);
	go();
	s = RUN("wait; echo x");
	ok(contains(s.content, "late") && contains(s.content, "x"),
		"%s: what it prints comes with the next command", name);
	is_view(s.prefix, "", "%s: as nothing special", name);
	let_pass(50);
	is_done(RUN("true && echo on"), 0, NULL,
		"the shell goes on when its job has ended");
	is_int(RUN("echo ${!:-none}").pid, s.pid, "%s: the pid stays", name);
}

static void is_counted(const char *command, size_t n, const char *want, const char *what)
{
	struct seen s = RUN(command, .n = n);

	is_int(s.exit_code, 0, "%s: %s", name, what);
	is_view(s.content, want, "%s: %s: output", name, what);
}

static void check_bytes(void)
{
	struct buf c = BUF_INIT(1 << 20), want = BUF_INIT(1 << 12);

	buf_puts(&c, "printf %s '");
	for (int b = 1; b < 0x800; b += b < 0x250 ? 1 : 37) {
		size_t at = c.n;

		if (b == '\'')
			continue;
		if (b < 0x80)
			buf_putc(&c, (char)b);
		else
			buf_fmt(&c, "%c%c", 0xc0 | b >> 6, 0x80 | (b & 0x3f));
		for (; at < c.n; at++)
			buf_fmt(&want, "%02x", (unsigned char)c.p[at]);
	}
	buf_puts(&c, "' | od -An -v -tx1 | tr -d ' \\n'");
	if (!buf_cstr(&want))
		return;
	is_counted(c.p, c.n, want.p, "every character");
	buf_reset(&c);
	buf_puts(&c, "x='");
	for (int i = 0; i < 20000; i++)
		buf_puts(&c, "0123456\t\n$");
	buf_puts(&c, "'; echo ${#x}");
	is_counted(c.p, c.n, "200000", "200,000 bytes");
	buf_free(&c);
	buf_free(&want);
	is_counted("cat <<EOF | wc -l | tr -d ' '\na\tb\n$HOME\nEOF", 0, "2",
		"a here-document");
	is_counted("cat <<'EOF' | od -An -c | tr -d ' \\n'\na\tb!$x\\;\nEOF", 0,
		"a\\tb!$x\\;\\n", "a quoted one");
	is_counted("echo \"a!b\" && echo a \\; b", 0, "a!b\na ; b", "! and \\;");
	is_counted(
		"find . -maxdepth 0 -exec echo {} \\; -print", 0, ".\n.", "find -exec");
	is_counted("echo \"one\ntwo\" && echo a \\\n  b", 0, "one\ntwo\na b",
		"lines that go on");
	is_counted("for i in 1 2; do\n\techo $i\ndone", 0, "1\n2", "a loop over lines");
	is_counted("true # comment", 0, "", "a comment");
	is_counted(
		"printf '\\033]7777;00000000000000000000000000000000;p;x;0;;/;"
		"00000000000000000000000000000000;/;00000000000000000000000000000000\\a'"
		"; echo x",
		0, "x", "a forged mark");
}

/* Short commands are typed, long ones and those with control characters are not. */
static void check_ways_in(void)
{
	struct buf c = BUF_INIT(1 << 12), want = BUF_INIT(1 << 12);
	char number[32];

	buf_puts(&c, "printf %s '");
	for (int b = '\t'; b <= '~'; b = b == '\t' ? ' ' : b + 1) {
		if (b == '\'')
			continue;
		buf_putc(&c, (char)b);
		buf_fmt(&want, "%02x", (unsigned)b);
	}
	buf_puts(&c, "' | od -An -v -tx1 | tr -d ' \\n'");
	if (buf_cstr(&want))
		is_counted(c.p, c.n, want.p, "every printable character");
	is_counted(
		"printf '%s ' \"'\" \\' 'a'\\''b' \\\\ x", 0, "' ' a'b \\ x", "quotes");
	for (size_t n = SHELL_TYPED_MAX - 1; n <= SHELL_TYPED_MAX + 1; n++) {
		buf_reset(&c);
		buf_puts(&c, "x=");
		while (c.n < n - 12)
			buf_puts(&c, "''");
		buf_puts(&c, "y; echo $x");
		while (c.n < n)
			buf_putc(&c, ' ');
		snprintf(number, sizeof(number), "%zu bytes", n);
		is_counted(c.p, c.n, "y", number);
	}
	is_counted("printf '\003\004\025\177' | od -An -tx1 | tr -d ' '", 0, "0304157f",
		"keys in a command");
	buf_free(&c);
	buf_free(&want);
}

static void check_several(void)
{
	struct seen s = RUN("echo a\necho b");

	is_view(s.observation, "error", "%s: several commands at once are refused", name);
	is_view(s.content,
		"ERROR: Cannot execute multiple commands at once.\nPlease run each "
		"command "
		"separately OR chain them into a single command via && or ;\nProvided "
		"commands:\n(1) echo a\n(2) echo b",
		"%s: in these words", name);
	is_view(s.message, s.content.p, "%s: which are the message too", name);
}

static void check_environment(void)
{
	char first[8192];
	struct seen s = RUN("env");

	snprintf(first, sizeof(first), "%.*s", STR_ARG(s.content));
	is_view(RUN("env").content, first, "%s: the environment does not change", name);
	ok(!strstr(first, "__od") && !strstr(first, "PS1") && !strstr(first, "PROMPT"),
		"%s: nothing of ours is in it", name);
	is_done(RUN("grep -la '[q]zx17yv' /proc/[0-9]*/cmdline 2>/dev/null; : qzx17yv"),
		0, "", "no process has a command in its arguments");
	is_done(RUN("ls /dev/shm/.od-* /tmp/.od-* 2>/dev/null | wc -l | tr -d ' '"), 0,
		NULL, "files");
}

static void check_length(void)
{
	static const char line[] = "head -c 40000 /dev/zero | tr '\\0' x";
	struct seen s = RUN(line);

	is_int(s.content.n, 30047, "%s: long output is cut", name);
	ok(contains(s.content, "x\n[... Observation truncated due to length ...]\nx"),
		"%s: in the middle", name);
	s = RUN(line, .hidden = true);
	is_int(s.content.n, 40000, "%s: not if it is hidden", name);
	ok(s.hidden, "%s: which is told", name);
	s = RUN("read x <go", .hidden = true, .timeout = "0.1");
	ok(!s.hidden, "%s: what goes on is not hidden", name);
	go();
	POLL();
	s = RUN("seq 5000");
	is_view(s.prefix, "", "%s: 5,000 lines", name);
	ok(str_starts(s.content, STR("1\n2\n")) && str_ends(s.content, STR("\n5000")),
		"%s: from the first to the last", name);
	s = RUN("seq 50000");
	is_view(s.prefix,
		"[Previous command outputs are truncated. Showing the last 10500 lines "
		"of "
		"the output below.]\n",
		"%s: 50,000 lines", name);
	ok(str_ends(s.content, STR("\n50000")) && contains(s.content, "\n40000\n"),
		"%s: the last of them", name);
}

static void ask_both(struct act acts[2], struct buf outs[2], const char *second)
{
	static struct buf ins[2] = {BUF_INIT(1 << 16), BUF_INIT(1 << 16)};
	struct ask one = {.command = "read x <go; echo one"}, two = {.command = second};

	arena_reset(&drv.arena);
	if (begin_ask(&acts[0], &ins[0], &outs[0], &one) != ACT_WAIT ||
		begin_ask(&acts[1], &ins[1], &outs[1], &two) != ACT_WAIT)
		ok(false, "%s: both are taken", name);
}

static void check_queue(void)
{
	struct buf outs[2] = {BUF_INIT(1 << 16), BUF_INIT(1 << 16)};
	struct act acts[2];

	ask_both(acts, outs, "echo two");
	is_int(drv.waiting, 2, "%s: two commands at once", name);
	go();
	while (drv.waiting && driver_run())
		;
	is_done(look(&outs[0]), 0, "one", "the first");
	is_done(look(&outs[1]), 0, "two", "the second");
	/* The one in line hangs up. */
	ask_both(acts, outs, "echo three >three");
	act_abandon(&acts[1]);
	drv.waiting--;
	go();
	while (drv.waiting && driver_run())
		;
	is_done(look(&outs[0]), 0, "one", "who stays gets an answer");
	is_done(RUN("cat three 2>&1 >/dev/null; echo on"), 0, NULL, "who left");
	is_int(access(in_home("three"), F_OK), -1, "%s: is not served", name);
	/* The one who has the shell hangs up: the command goes on. */
	ask_both(acts, outs, "");
	act_abandon(&acts[0]);
	drv.waiting--;
	go();
	while (drv.waiting && driver_run())
		;
	is_done(look(&outs[1]), 0, "one", "the next one gets the output");
	buf_free(&outs[0]);
	buf_free(&outs[1]);
}

/* It ends between two requests: whoever comes next is told. */
static void check_leftover(void)
{
	struct seen s;

	RUN("read x <go; echo left; (exit 9)", .timeout = "0.1");
	go();
	await_state(SHELL_DONE);
	is_done(POLL(), 9, "left", "an end that nobody waited for");
	RUN("read x <go; echo left; (exit 9)", .timeout = "0.1");
	go();
	await_state(SHELL_DONE);
	is_done(INPUT("echo no"), 9, "left", "input that comes too late is not executed");
	RUN("read x <go; echo left; (exit 9)", .timeout = "0.1");
	go();
	await_state(SHELL_DONE);
	s = RUN("echo new");
	is_view(s.content,
		"left\n[The previous command completed with exit code 9.]\nnew",
		"%s: a new command comes behind what was left", name);
	is_view(s.prefix, OF_PREVIOUS, "%s: which is told", name);
	is_view(s.suffix, DONE(0), "%s: and its own end", name);
}

static void check_bad_requests(void)
{
	struct seen s = RUN("a\0b", .n = 3);

	is_view(s.observation, "error", "%s: NUL in a command", name);
	is_done(RUN("echo on"), 0, "on", "after it");
}

static void check_all(const struct shell_row *row)
{
	name = row->name;
	if (!shell_wanted(row))
		return;
	open_home(row);
	open_session();
	check_shape();
	check_codes();
	check_broken_text();
	check_state();
	check_idle();
	check_timeout();
	check_no_change();
	check_slow_output();
	check_seconds();
	check_input();
	check_keys();
	check_background();
	check_bytes();
	check_ways_in();
	check_several();
	check_environment();
	check_length();
	check_queue();
	check_leftover();
	check_bad_requests();
	close_session();
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shell_rows); i++)
		check_all(&shell_rows[i]);
	driver_free();
	return done_testing();
}
