/* The end of a program: the order of SIGTERM, SIGHUP and SIGKILL to its descendants. */
#include "base/clock.h"
#include "tests/support/tree_stage.h"

#include <stdio.h>

/* The grace: if tree_end misses the end of a process, it waits for half of it. */
enum { POLITE_MS = 120000 };

/*
 * Ends a child that ignores signals, and without grace also a child that does not, which
 * would have to end in time. The caller is the root, as init is.
 */
static int last_words(uint64_t grace)
{
	struct tree t = {.root = getpid()};
	uint64_t before;

	if (tree_adopt_orphans() < 0)
		return 1;
	child(daemonized);
	if (!grace)
		child(own_session);
	if (!come(grace ? 1 : 2))
		return 5;
	before = clock_ms();
	tree_end(&t, grace);
	if (t.live || t.survivors_n)
		return 2;
	if (t.killed != (grace ? 1 : 2))
		return 3;
	return clock_ms() - before >= grace ? 0 : 4;
}

static void check_end(uint64_t grace)
{
	pid_t pid;

	stage();
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(last_words(grace));
	is_int(status_of(pid), 0, "the end of a program, with %d ms for the others",
		(int)grace);
	ok(all_gone(), "all others are gone");
	unstage();
}

/* Who hears what is asked says so here. */
static int heard[2];

static void take_leave(int signo)
{
	/* For what must not be lost; another signal would end it. */
	if (signo == SIGTERM)
		poll(NULL, 0, 50);
	_exit(write(heard[1], signo == SIGTERM ? "t" : "h", 1) != 1);
}

static void careful(void)
{
	signal(SIGTERM, take_leave);
}

static void like_a_shell(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, take_leave);
}

static int polite(void)
{
	struct tree t = {.root = getpid()};
	uint64_t before = clock_ms();

	if (tree_adopt_orphans() < 0)
		return 1;
	child(careful);
	child(like_a_shell);
	if (!come(2))
		return 2;
	if (!tree_can_terminate(t.root))
		return 3;
	tree_end(&t, POLITE_MS);
	return t.killed ? 4 : clock_ms() - before < POLITE_MS / 2 ? 0 : 5;
}

static void check_polite(void)
{
	char words[4] = "";
	pid_t pid;

	stage();
	if (fd_pipe(heard) < 0)
		ok(false, "a pipe");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(polite());
	is_int(status_of(pid), 0, "nobody has to be killed or is waited for in vain");
	ok(read(heard[0], words, 2) == 2 || read(heard[0], words + 1, 1) == 1, "two end");
	is_str(words, "th", "a hang-up comes when SIGTERM has been heeded");
	ok(all_gone(), "all are gone");
	fd_close(&heard[0]);
	fd_close(&heard[1]);
	unstage();
}

static int alone(void)
{
	struct tree t = {.root = getpid()};
	uint64_t before = clock_ms();

	tree_end(&t, WAIT_MS);
	return t.killed == 0 && clock_ms() - before < WAIT_MS ? 0 : 1;
}

int main(void)
{
	pid_t pid;

	check_end(0);
	check_end(100);
	check_polite();
	pid = fork();
	if (pid == 0)
		_exit(alone());
	is_int(status_of(pid), 0, "where nobody is nothing is waited for");
	return done_testing();
}
