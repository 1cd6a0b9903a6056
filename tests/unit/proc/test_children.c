#include "proc/children.h"
#include "proc/spawn.h"
#include "tests/tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 200 };

static struct loop *loop;

struct kid {
	struct child child;
	int status;
	int told;
	bool zombie; /* it was not reaped yet when fn was called */
};

static int left;

static struct kid *kid_of(struct child *c)
{
	return container_of(c, struct kid, child);
}

static void overdue(struct timer *t)
{
	(void)t;
	ok(false, "the test ends in time");
	loop_stop(loop);
}

/* Runs the loop until nobody is left. */
static void wait_for(int n)
{
	struct timer limit = {0};

	left = n;
	timer_set(loop, &limit, 20000, overdue);
	if (loop_run(loop))
		ok(false, "the loop runs");
	timer_cancel(loop, &limit);
}

static void one_less(void)
{
	if (--left == 0)
		loop_stop(loop);
}

static void ended(struct child *c, int status)
{
	struct kid *k = kid_of(c);
	siginfo_t si = {0};

	k->status = status;
	k->told++;
	/* Its number is still its own. */
	k->zombie = waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid;
	one_less();
}

static pid_t start(const char *text)
{
	static const char *const env[] = {NULL};
	const char *const argv[] = {"/bin/sh", "-c", text, NULL};
	struct spawn_report e;
	struct spawn s = {
		.path = argv[0],
		.argv = argv,
		.env = env,
		.tty = -1,
		.fds = {-1, -1, -1},
	};
	pid_t pid = -1;

	if (spawn(&s, &pid, &e) < 0)
		ok(false, "a child starts: %s", e.step);
	spawn_report_close(&e);
	return pid;
}

static struct kid run(const char *text)
{
	struct kid k = {.status = -1};

	children_watch(&k.child, start(text), ended);
	wait_for(1);
	return k;
}

static void check_statuses(void)
{
	struct kid k = run("exit 0");

	ok(WIFEXITED(k.status) && WEXITSTATUS(k.status) == 0, "exit 0");
	is_int(k.told, 1, "told once");
	ok(k.zombie, "before the child is reaped");
	is_int(k.child.pid, 0, "it is not watched any more");
	k = run("exit 255");
	ok(WIFEXITED(k.status) && WEXITSTATUS(k.status) == 255, "exit 255");
	k = run("kill -9 $$");
	ok(WIFSIGNALED(k.status) && WTERMSIG(k.status) == SIGKILL, "SIGKILL");
	k = run("ulimit -c 0; kill -SEGV $$");
	ok(WIFSIGNALED(k.status) && WTERMSIG(k.status) == SIGSEGV, "SIGSEGV");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "all have been reaped");
}

static void check_many(void)
{
	static struct kid kids[MANY];
	int wrong = 0;

	/* They end while we do not look: their signals are one. */
	for (int i = 0; i < MANY; i++) {
		char text[32];

		snprintf(text, sizeof(text), "exit %d", i);
		children_watch(&kids[i].child, start(text), ended);
	}
	wait_for(MANY);
	for (int i = 0; i < MANY; i++)
		wrong += kids[i].told != 1 || WEXITSTATUS(kids[i].status) != i;
	is_int(wrong, 0, "%d children at once, each is told of its own status", MANY);
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "all have been reaped");
}

/* Nobody watches the first: it is reaped all the same. */
static void check_unwatched(void)
{
	struct kid k = {0}, forgotten = {0};
	pid_t unwatched = start("exit 3");

	children_watch(&forgotten.child, start("exit 4"), ended);
	children_forget(&forgotten.child);
	children_forget(&forgotten.child);
	children_watch(&k.child, start("sleep 0.05"), ended);
	wait_for(1);
	is_int(k.told, 1, "the watched child is told of");
	is_int(forgotten.told, 0, "the forgotten is not");
	is_int(kill(unwatched, 0), -1, "the unwatched child is reaped");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and so are the others");
}

static struct kid second;

static void start_another(struct child *c, int status)
{
	kid_of(c)->status = status;
	/* The same object again, and one more beside it. */
	children_watch(c, start("exit 7"), ended);
	children_watch(&second.child, start("exit 8"), ended);
	one_less();
}

static void check_again(void)
{
	struct kid k = {0};

	children_watch(&k.child, start("exit 6"), start_another);
	wait_for(3);
	is_int(WEXITSTATUS(k.status), 7, "a child may be started when another ends");
	is_int(WEXITSTATUS(second.status), 8, "and more than one");
}

static struct kid victim;

static void forget_victim(struct child *c, int status)
{
	(void)c;
	(void)status;
	children_forget(&victim.child);
	one_less();
}

/* Both have ended before the loop looks; the first to be told forgets the other. */
static void check_forget_inside(void)
{
	struct kid k = {0}, last = {0};
	siginfo_t si;
	pid_t first = start("exit 0"), other;

	waitid(P_PID, (id_t)first, &si, WEXITED | WNOWAIT);
	other = start("exit 0");
	waitid(P_PID, (id_t)other, &si, WEXITED | WNOWAIT);
	children_watch(&k.child, first, forget_victim);
	children_watch(&victim.child, other, forget_victim);
	wait_for(1);
	ok(k.child.pid == 0 && victim.child.pid == 0,
		"an end may make others be forgotten");
	children_watch(&last.child, start("exit 0"), ended);
	wait_for(1);
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "all have been reaped");
}

static void check_stopped(void)
{
	struct kid k = {0};
	pid_t pid = start("kill -STOP $$; exit 9");
	int status;

	waitpid(pid, &status, WUNTRACED);
	children_watch(&k.child, pid, ended);
	kill(pid, SIGCONT);
	wait_for(1);
	is_int(WEXITSTATUS(k.status), 9, "a stopped child has not ended");
	is_int(k.told, 1, "and is told of once");
}

int main(void)
{
	int err;

	loop = loop_new(&err);
	if (!loop || children_init(loop) < 0)
		return 1;
	check_statuses();
	check_many();
	check_unwatched();
	check_again();
	check_forget_inside();
	check_stopped();
	loop_del(loop);
	return done_testing();
}
