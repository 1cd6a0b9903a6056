/* A server that is killed, and the next one that goes on with its session. */
#include "base/clock.h"
#include "tests/support/run_driver.h"
/* What a dead process leaves is the inside of its session. */
#include "shell/shell_private.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static const char *name;
static struct child watcher; /* init's part: the shell is not the new server's child */
static struct session *dead[4000];
static size_t dead_n;

static struct shell *shell(void)
{
	return session_shell(drv.box.session);
}

static void shell_is_gone(struct child *c, int status)
{
	(void)c;
	shell_exited(shell(), status);
	driver_stop();
}

/* What init has when the server is killed. */
struct left {
	int master, spool;
	pid_t pid;
};

/* Nothing of the session is ever touched again; init has copies of its fds. */
static struct left die(void)
{
	struct shell *s = shell();
	struct left left = {
		.master = s->tty.fd < 0 ? -1 : fd_dup(s->tty.fd, 3),
		.spool = fd_dup(s->output.spool.fd, 3),
		.pid = s->rec->pid,
	};

	children_forget(&s->child);
	fd_close(&s->tty.fd);
	fd_close(&s->output.spool.fd);
	if (dead_n < ARRAY_LEN(dead))
		dead[dead_n++] = drv.box.session;
	loop_del(drv.loop);
	drv.waiting = 0;
	return left;
}

static void adopt(const struct left *left, const int *status)
{
	make_session();
	if (shell_adopt(shell(), left->master, left->pid, status, left->spool) < 0)
		ok(false, "%s: the session is taken over", name);
	if (!status && shell_state(shell()) != SHELL_NONE) {
		children_watch(&watcher, left->pid, shell_is_gone);
		/* It may have ended while nobody listened. */
		raise(SIGCHLD);
	}
}

static void crash(void)
{
	struct left left = die();

	adopt(&left, NULL);
}

static void end_session(void)
{
	children_forget(&watcher);
	close_session();
}

static void is_done(struct seen s, int code, const char *content, const char *what)
{
	if (content)
		is_view(s.content, content, "%s: %s: output", name, what);
	is_int(s.exit_code, code, "%s: %s: exit code", name, what);
}

/* bash adds a word of its own to the output. */
static void is_ended(struct seen s, int code, const char *what)
{
	is_int(s.exit_code, code, "%s: %s: exit code", name, what);
	ok(str_starts(s.content, STR("last")), "%s: %s: output", name, what);
	ok(contains(s.suffix, "The shell has ended."), "%s: %s: in words", name, what);
}

/* The files of a command are one way to see how far it is without reading from it. */
static void wait_for_file(const char *file)
{
	uint64_t until = clock_ms() + 10000;

	while (access(in_home(file), F_OK) < 0 && clock_ms() < until)
		sched_yield();
	ok(access(in_home(file), F_OK) == 0, "%s: the command goes on by itself", name);
}

/* A command that nobody gets to read from. */
static void begin_unread(const char *command)
{
	static struct act act;
	static struct buf in = BUF_INIT(1 << 16), out = BUF_INIT(1 << 16);
	struct ask ask = {.command = command};

	arena_reset(&drv.arena);
	if (begin_ask(&act, &in, &out, &ask) != ACT_WAIT)
		ok(false, "%s: the command is taken", name);
}

static void check_idle(void)
{
	char want[128];
	struct seen s;

	RUN("mkdir -p sub && cd sub && V=1 && export E=2; (exit 4)");
	crash();
	crash();
	s = POLL();
	is_done(s, 4, "", "the answer may be lost, so it comes again");
	ok(contains(s.suffix, "told already"), "%s: in words, after two crashes", name);
	is_view(POLL().content, NOTHING_TO_READ, "%s: but only once", name);
	crash();
	is_int(shell_state(shell()), SHELL_IDLE, "%s: the prompt is still there", name);
	snprintf(want, sizeof(want), "4 1 2 %s/sub", drv.dir);
	s = RUN("echo $? $V $E $PWD");
	is_done(s, 0, want, "everything is as it was");
	ok(!contains(s.suffix, "told already"), "%s: and no more is told", name);
	POLL();
	snprintf(want, sizeof(want), "%s/sub", drv.dir);
	is_view(session_cwd(drv.box.session), want, "%s: the directory too", name);
	RUN("cd ..");
	POLL();
	RUN("sleep 0.3 & true");
	POLL();
	crash();
	let_pass(500);
	is_done(RUN("echo on >/dev/null; echo $V"), 0, NULL, "a job ends meanwhile");
}

static void check_running(void)
{
	RUN("echo 1; read x <go; echo 2; (exit 5)", .timeout = "0.3");
	crash();
	go();
	is_done(POLL(), 5, "1\n2", "what may not have been read comes again");
	RUN("echo 1; read x <go; echo 2; (exit 5)", .timeout = "0.3");
	POLL(.timeout = "0.1");
	crash();
	is_int(shell_state(shell()), SHELL_RUNNING, "%s: it still runs", name);
	is_view(RUN("ls").suffix, REFUSED("ls"), "%s: and refuses others", name);
	go();
	is_done(POLL(), 5, "2", "what was read does not");
	RUN("echo 1; read x; echo \"got $x\"", .timeout = "0.3");
	POLL(.timeout = "0.1");
	crash();
	is_done(INPUT("text"), 0, "got text", "it takes input");
	RUN("sleep 100", .timeout = "0.3");
	crash();
	is_int(INPUT("C-c").exit_code, 130, "%s: and keys", name);
	RUN("echo 1; read x <go; echo 2", .timeout = "0.3");
	POLL(.timeout = "0.1");
	for (int i = 0; i < 5; i++)
		crash();
	go();
	is_done(POLL(), 0, "2", "five crashes");
}

static void check_document(void)
{
	RUN("cat <<EOF", .timeout = "0.3");
	crash();
	INPUT("one", .timeout = "0.1");
	POLL(.timeout = "0.1");
	crash();
	INPUT("two", .timeout = "0.1");
	is_int(shell_state(shell()), SHELL_RUNNING, "%s: a document waits on", name);
	is_done(INPUT("EOF"), 0, "one\ntwo", "a document over two crashes");
	is_done(RUN("echo on"), 0, "on", "after it");
	RUN("cat <<EOF", .timeout = "0.3");
	crash();
	is_int(INPUT("C-c").exit_code, 130, "%s: C-c in a document after a crash", name);
}

static void check_unread(void)
{
	begin_unread("echo a; echo b; echo x >flag; (exit 3)");
	wait_for_file("flag");
	crash();
	is_done(POLL(), 3, "a\nb", "output that nobody had read");
	RUN("rm flag; echo 1; read x <go; echo 2; (exit 6)", .timeout = "0.3");
	go();
	await_state(SHELL_DONE);
	crash();
	is_done(POLL(), 6, "1\n2", "an end that nobody had asked for");
}

static void check_long(void)
{
	struct seen s;

	RUN("seq 300000; read x <go; echo end", .timeout = "0.5");
	crash();
	go();
	s = POLL();
	ok(str_ends(s.content, STR("\n299999\n300000\nend")), "%s: after much output",
		name);
	is_int(s.exit_code, 0, "%s: the end", name);
}

#define MUCH "seq 300000; read x <go; echo last; "
enum { MUCH_BYTES = 2288895 };

/* A command that has printed as much as MUCH, and the server is killed. */
static void crash_after_much(const char *command)
{
	begin_unread(command);
	for (int i = 0; i < 200 && spool_get_end(&shell()->output.spool) < MUCH_BYTES;
		i++)
		let_pass(50);
	crash();
	ok(shell_is_restoring(shell()), "%s: to restore it takes more than a step", name);
}

/* The bytes of the terminal go into the spool, and nobody looks at them. */
static void read_unseen(struct shell *s)
{
	struct pollfd w = {.fd = s->tty.fd, .events = POLLIN};
	ssize_t n = 1;

	while (n > 0 && poll(&w, 1, 300) == 1) {
		size_t room;
		char *p = spool_get_space(&s->output.spool, &room);

		n = read(s->tty.fd, p, room);
		if (n > 0)
			spool_commit(&s->output.spool, (size_t)n);
	}
}

static void check_restoring(void)
{
	struct buf want = BUF_INIT(1 << 20);
	struct seen s;

	go();
	s = RUN(MUCH "(exit 7)");
	buf_str(&want, s.content);
	ok(str_ends(s.content, STR("\n299999\n300000\nlast")), "%s: much output", name);
	POLL();
	crash_after_much(MUCH "(exit 7)");
	for (int i = 0; i < 3; i++) {
		let_pass(0);
		ok(shell_is_restoring(shell()), "%s: it is killed meanwhile", name);
		crash();
	}
	go();
	s = POLL();
	ok(str_eq(s.content, buf_view(&want)), "%s: as if there had been no crash", name);
	is_int(s.exit_code, 7, "%s: its exit code too", name);
	POLL();
	begin_unread("seq 300000; echo last; (exit 7)");
	read_unseen(shell());
	is_int(shell_state(shell()), SHELL_RUNNING, "%s: its end is not seen", name);
	crash();
	s = POLL();
	ok(str_eq(s.content, buf_view(&want)), "%s: an end that is seen late", name);
	is_int(s.exit_code, 7, "%s: its exit code too", name);
	buf_free(&want);
}

static void check_input_while_restoring(void)
{
	struct seen s;

	POLL();
	crash_after_much("seq 300000; read x; echo \"got $x\"");
	is_int(shell_type(shell(), STR("text\n")), 0, "%s: input is taken", name);
	s = POLL();
	ok(str_ends(s.content, STR("\n300000\ngot text")), "%s: and reaches it", name);
	POLL();
	/* bash ignores a key between one program and the next. */
	crash_after_much("seq 300000; sh -c 'echo x >asleep; exec sleep 100'");
	wait_for_file("asleep");
	is_int(shell_interrupt(shell()), 0, "%s: a key is taken", name);
	is_int(POLL().exit_code, 130, "%s: and ends it", name);
	is_done(RUN("echo on"), 0, "on", "after it");
}

static void is_ended_after_much(struct seen s, int code)
{
	ok(contains(s.content, "\n299999\n300000\nlast"), "%s: its last words", name);
	is_int(s.exit_code, code, "%s: its exit code", name);
	ok(contains(s.suffix, "The shell has ended."), "%s: in words", name);
	is_done(RUN("echo on"), 0, "on", "and there is a new one");
}

static void on_ended(void *arg, const struct tree *report)
{
	(void)report;
	*(int *)arg = (int)shell_state(shell());
	driver_stop();
}

static void check_ends_while_restoring(void)
{
	struct left left;
	int status = -1, state = -1;

	POLL();
	crash_after_much(MUCH "exit 7");
	go();
	is_ended_after_much(POLL(), 7);
	crash_after_much(MUCH "exit 8");
	left = die();
	go();
	if (waitpid(left.pid, &status, 0) != left.pid)
		ok(false, "%s: the shell ends", name);
	adopt(&left, &status);
	is_int(shell_pid(shell()), 0, "%s: the shell is known to have ended", name);
	is_ended_after_much(POLL(), 8);
	POLL();
	crash_after_much(MUCH);
	is_int(session_end(drv.box.session, on_ended, &state), 0, "%s: an end", name);
	while (state < 0 && driver_run())
		;
	is_int(state, SHELL_DONE, "%s: is told when the command has its own", name);
	ok(contains(POLL().suffix, "ended on request"), "%s: which says why", name);
	is_done(RUN("echo on"), 0, "on", "and there is a new one");
}

/* More than is kept, all in one line, so that its beginning is on the screen still. */
static void check_gap(void)
{
	struct seen s;

	RUN("echo first; head -c 20000000 /dev/zero | tr '\\0' '\\r'; echo second; "
	    "read x <go; echo end",
		.timeout = "0.1");
	for (int i = 0; i < 200 && spool_get_end(&shell()->output.spool) < 20000000; i++)
		let_pass(50);
	ok(spool_gap(&shell()->output.spool).to > SPOOL_HEAD, "%s: something is lost",
		name);
	crash();
	go();
	s = POLL();
	ok(str_starts(s.content, STR("first\n")), "%s: head", name);
	ok(contains(s.content, " bytes of output were lost when the server"), "%s: gap",
		name);
	ok(str_ends(s.content, STR("]\nsecond\nend")), "%s: and tail are shown again",
		name);
	is_int(s.exit_code, 0, "%s: and the end", name);
}

static void check_ends(void)
{
	struct left left;
	struct seen s;
	int status = -1;

	RUN("read x <go; echo last; exit 7", .timeout = "0.1");
	crash();
	go();
	s = POLL();
	is_ended(s, 7, "the shell ends in the second life");
	is_done(RUN("echo on"), 0, "on", "and there is a new one");
	RUN("read x <go; echo last; exit 8", .timeout = "0.1");
	left = die();
	go();
	if (waitpid(left.pid, &status, 0) != left.pid)
		ok(false, "%s: the shell ends", name);
	adopt(&left, &status);
	s = POLL();
	is_ended(s, 8, "the shell ends between two lives");
	is_done(RUN("echo on"), 0, "on", "and there is a new one");
	/* Its end has been seen, but not been told: no pty is left. */
	RUN("read x <go; echo last; exit 9", .timeout = "0.1");
	go();
	let_pass(300);
	crash();
	is_ended(POLL(), 9, "the shell ends in the first life");
	is_done(RUN("echo on"), 0, "on", "and there is a new one");
}

static void check_starting(const struct shell_row *row)
{
	open_home(row);
	make_session();
	session_start(drv.box.session, driver_ready, NULL);
	crash();
	is_int(shell_state(shell()), SHELL_NONE, "%s: a start is not taken over", name);
	is_done(RUN("echo on"), 0, "on", "but begun anew");
	end_session();
}

/* Killed after the note that a command runs, before its line was typed. */
static void check_not_typed(void)
{
	struct shell *s = shell();
	struct seen seen;

	POLL();
	if (shell_new_id(s->rec->id) < 0 ||
		handover_write(STR("echo no >typed"), "", NULL, s->rec->handover) < 0 ||
		shell_begin(s, STR(""), STR("")) < 0)
		ok(false, "%s: a command is begun", name);
	crash();
	seen = POLL(.blocking = true);
	is_int(seen.exit_code, -1, "%s: a command that was not typed", name);
	ok(contains(seen.suffix, "was not run"), "%s: is not run, in words", name);
	is_done(RUN("echo on; test -e typed"), 1, "on", "and it has not been");
}

/* One byte from the terminal into the spool, as if it were the last one read. */
static bool read_one(struct shell *s, bool commit, int ms)
{
	struct pollfd w = {.fd = s->tty.fd, .events = POLLIN};
	size_t room;
	char *p = spool_get_space(&s->output.spool, &room);
	int r;

	/* The end of a child interrupts the wait. */
	do
		r = poll(&w, 1, ms);
	while (r < 0 && errno == EINTR);
	if (r != 1 || read(s->tty.fd, p, 1) != 1)
		return false;
	if (commit)
		spool_commit(&s->output.spool, 1);
	return true;
}

/*
 * Killed at each place of the output, marks included, after the read or after
 * its commit: the rest comes in the next life.
 */
static void check_everywhere(const struct shell_row *row)
{
	enum { SURE = 20 /* bytes that come in any case; silence ends the others */ };
	int wrong = 0, lives = 0;
	bool more = true;

	for (int at = 0; more; at += 19, lives++) {
		struct seen s;

		open_home(row);
		open_session();
		begin_unread("read x <go; echo one; echo two; (exit 3)");
		go();
		for (int i = 0; i <= at && more; i++)
			more = read_one(
				shell(), i < at || at % 2, i < SURE ? 10000 : 2000);
		crash();
		s = POLL();
		if (s.exit_code != 3 || !str_eq(s.content, STR("one\ntwo"))) {
			tap_bytes("content", s.content.p, s.content.n);
			wrong++;
		}
		end_session();
	}
	ok(lives > 3, "%s: killed at %d places of the output", name, lives);
	is_int(wrong, 0, "%s: nothing is lost, and nothing comes twice", name);
}

static void check_strangers(void)
{
	int pair[2], other = fd_create_memory("other", 4096);

	open_home(&shell_rows[0]);
	make_session();
	if (fd_pipe(pair) < 0)
		return;
	is_int(shell_adopt(shell(), pair[0], 1, NULL, other), -EBADMSG,
		"what is no spool is not taken over");
	ok(fcntl(pair[0], F_GETFD) < 0 && fcntl(other, F_GETFD) < 0, "and closed");
	is_int(shell_state(shell()), SHELL_NONE, "there is no shell then");
	is_int(RUN("echo on").exit_code, 0, "but the next command gets one");
	fd_close(&pair[1]);
	close_session();
}

static void check_all(const struct shell_row *row)
{
	name = row->name;
	if (!shell_wanted(row))
		return;
	open_home(row);
	open_session();
	check_idle();
	check_running();
	check_document();
	check_unread();
	check_long();
	/* Which is no matter of the shell. */
	if (row == shell_rows) {
		check_restoring();
		check_input_while_restoring();
		check_ends_while_restoring();
	}
	check_gap();
	check_not_typed();
	check_ends();
	crash_after_much(MUCH);
	session_shut_down(drv.box.session);
	ok(shell_is_restoring(shell()), "%s: nobody's screen is not waited for", name);
	end_session();
	check_starting(row);
	check_everywhere(row);
}

int main(void)
{
	/* A shell that does not end is a failure, not a test without an end. */
	alarm(200);
	for (size_t i = 0; i < ARRAY_LEN(shell_rows); i++)
		check_all(&shell_rows[i]);
	if (shell_path(&shell_rows[0]))
		check_strangers();
	driver_free();
	return done_testing();
}
