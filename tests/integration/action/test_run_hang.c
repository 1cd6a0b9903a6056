/*
 * A shell that hangs itself up when it is interrupted. This program plays it: with
 * OD_PLAY in its environment it takes the lines that a bash would get, and shows the
 * marks that are wanted of it.
 */
#include "tests/support/run_driver.h"

#include "shell/shell.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

/* --- The shell ------------------------------------------------------------------ */

static char nonce[33], id[17];

/* The n characters behind what stands before them, if that is there. */
static void note(const char *line, const char *before, char *out, size_t n)
{
	const char *at = strstr(line, before);

	if (at)
		snprintf(out, n + 1, "%s", at + strlen(before));
}

static void mark(char kind, int status)
{
	char cwd[256];

	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	printf("\033]7777;%s;%c;%s;%d;;%s;%s;/bin;%s\a", nonce, kind, id, status, cwd,
		nonce, nonce);
	fflush(stdout);
}

static uint32_t word = 2;

static void wait_on(int operation, const struct timespec *limit)
{
	for (;;)
		syscall(SYS_futex, &word, operation, word, limit, NULL, 0);
}

static void hang(int signo)
{
	(void)signo;
	wait_on(FUTEX_WAIT_PRIVATE, NULL);
}

static void hang_for_a_while(int signo)
{
	static const struct timespec hour = {.tv_sec = 3600};

	(void)signo;
	wait_on(FUTEX_WAIT_PRIVATE, &hour);
}

static void hang_with_others(int signo)
{
	(void)signo;
	wait_on(FUTEX_WAIT, NULL);
}

static void go_on(int signo)
{
	(void)signo;
}

static const struct play {
	const char *command;
	void (*interrupted)(int signo);
} plays[] = {
	{"loop", hang},
	{"loop: a while", hang_for_a_while},
	{"loop: with others", hang_with_others},
	{"loop: on", go_on},
};

static void play_command(const char *line)
{
	char quoted[64];

	mark('s', 0);
	for (size_t i = 0; i < ARRAY_LEN(plays); i++) {
		snprintf(quoted, sizeof(quoted), "'%s'", plays[i].command);
		if (!strstr(line, quoted))
			continue;
		signal(SIGINT, plays[i].interrupted);
		signal(SIGQUIT, plays[i].interrupted);
		puts("looping");
		fflush(stdout);
		for (;;)
			pause();
	}
	printf("on\n");
}

static int play(void)
{
	static char line[8192];
	bool ready = false;

	while (fgets(line, sizeof(line), stdin)) {
		note(line, "]7777;", nonce, sizeof(nonce) - 1);
		note(line, "__od_id=", id, sizeof(id) - 1);
		if (ready)
			play_command(line);
		ready = true;
		mark('p', 0);
	}
	return 0;
}

/* --- The tests ------------------------------------------------------------------ */

static char self[256];

/* program: as what the shell is known. */
static void open_play(const char *program)
{
	open_home(&shell_rows[0]);
	drv.env[4] = "OD_PLAY=1";
	drv.setup.path = program;
	open_session();
	is_view(RUN("anything").content, "on", "a shell is played");
}

static pid_t shell_now(void)
{
	return shell_pid(session_shell(drv.box.session));
}

/* Runs it until it waits for keys. */
static void begin(const char *command)
{
	struct seen s = RUN(command, .timeout = "0.1");

	for (int i = 0; i < 100 && !contains(s.content, "looping"); i++)
		s = POLL(.timeout = "0.1");
	ok(contains(s.content, "looping") && s.exit_code == -1, "`%s` runs", command);
}

static void check_hung(const char *key)
{
	struct seen s;
	pid_t before;

	open_play(self);
	before = shell_now();
	begin("loop");
	s = INPUT(key, .blocking = true);
	is_int(s.exit_code, 130, "%s hangs the shell: the command has ended", key);
	ok(contains(s.suffix, "exit code 130. CTRL+") &&
			contains(s.suffix, "The shell hung in a lock of its own") &&
			contains(s.suffix, "in the same directory, without the"),
		"%s: which is told", key);
	is_view(s.working_dir, drv.dir, "%s: the directory is kept", key);
	s = RUN("anything");
	is_view(s.content, "on", "%s: a new shell", key);
	is_int(s.exit_code, 0, "%s: works", key);
	is_view(s.suffix, DONE(0), "%s: without more words", key);
	ok(shell_now() > 0 && shell_now() != before, "%s: another process", key);
	close_session();
}

/* Nobody waits for the answer: the next one is told. */
static void check_later(void)
{
	struct seen s;

	open_play(self);
	begin("loop");
	s = INPUT("C-c", .timeout = "0.01");
	is_int(s.exit_code, -1, "an answer before anybody can know");
	while (shell_now())
		let_pass(20);
	s = POLL();
	is_int(s.exit_code, 130, "the next one gets the end");
	ok(contains(s.suffix, "hung in a lock"), "and what happened");
	close_session();
}

/* Who sleeps otherwise, or for a reason, is left alone. */
static void check_left_alone(const char *command, const char *program)
{
	pid_t before;

	open_play(program);
	before = shell_now();
	begin(command);
	is_int(INPUT("C-c", .timeout = "0.8").exit_code, -1, "`%s` goes on", command);
	is_int(shell_now(), before, "`%s`: the shell is left alone", command);
	kill(before, SIGKILL);
	is_int(POLL(.blocking = true).exit_code, 137, "`%s`: until it ends", command);
	close_session();
}

/* As one that has executed another program in its place. */
static void check_another_program(void)
{
	static char script[128];
	char text[300];
	int fd;

	snprintf(script, sizeof(script), "/tmp/od-hang-XXXXXX");
	fd = mkstemp(script);
	snprintf(text, sizeof(text), "#!%s\n", self);
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0 || fchmod(fd, 0700) < 0)
		exit(1);
	fd_close(&fd);
	check_left_alone("loop", script);
	unlink(script);
}

int main(void)
{
	if (getenv("OD_PLAY"))
		return play();
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		exit(1);
	check_hung("C-c");
	check_hung("C-\\");
	check_later();
	check_left_alone("loop: a while", self);
	check_left_alone("loop: with others", self);
	check_left_alone("loop: on", self);
	check_another_program();
	driver_free();
	return done_testing();
}
