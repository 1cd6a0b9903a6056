#include "tests/support/tree_stage.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void wait_there(int n)
{
	ok(come(n), "all have come to their places");
}

typedef void actor_fn(void);

/* Starts a root, as spawn would: a leader and a subreaper. */
static pid_t start(actor_fn *fn)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setsid();
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn();
		_exit(0);
	}
	return pid;
}

/* Kills all others, looking again until nobody is left; the number of looks. */
static int kill_all(struct tree *t)
{
	uint64_t end = clock_ms() + WAIT_MS;
	int looks = 1;

	while (tree_kill(t) > 0 && clock_ms() < end) {
		poll(NULL, 0, 1);
		looks++;
	}
	return looks;
}

static void end_root(pid_t root)
{
	int status = 0;

	is_int(kill(root, SIGKILL), 0, "the root is as it was");
	is_int(waitpid(root, &status, 0), root, "it ends");
	is_int(WTERMSIG(status), SIGKILL, "by our signal");
}

static void as_it_is(void)
{
}

static void own_group(void)
{
	setpgid(0, 0);
}

static void deaf_and_away(void)
{
	deaf();
	setsid();
}

static void stopped(void)
{
	setsid();
	say_there();
	raise(SIGSTOP);
}

static void with_grandchild(void)
{
	setsid();
	if (fork() == 0) {
		setsid();
		stay();
	}
}

static void odd_name(void)
{
	prctl(PR_SET_NAME, ") Z 1 1 1 (");
}

static void family(void)
{
	child(as_it_is);
	child(own_session);
	child(own_group);
	child(deaf);
	child(deaf_and_away);
	child(stopped);
	child(daemonized);
	child(with_grandchild);
	child(odd_name);
	stay();
}

static void check_family(void)
{
	struct tree t = {0};
	pid_t other;

	stage();
	other = start(stay);
	t.root = start(family);
	/* Ten below the root and the root; a stranger. */
	wait_there(12);
	is_int(tree_signal(t.root, 0), 10, "all descendants are seen");
	is_int(tree_signal(other, 0), 0, "a stranger has none of them");
	is_int(tree_signal(t.root, SIGTERM), 10, "the polite signal");
	kill_all(&t);
	is_int(t.live, 0, "nobody is left");
	is_int(t.survivors_n, 0, "so that nobody is named");
	/* Three do not hear, and the stopped one cannot. */
	ok(t.killed >= 4 && t.killed <= 10, "those are counted who were still there: %d",
		(int)t.killed);
	ok(!t.blind, "there is a /proc");
	is_int(kill(other, 0), 0, "a stranger lives on");
	end_root(t.root);
	end_root(other);
	ok(all_gone(), "all are gone");
	unstage();
}

static void five_hundred(void)
{
	for (int i = 0; i < 250; i++) {
		child(daemonized);
		child(deaf_and_away);
	}
	stay();
}

static void check_many(void)
{
	struct tree t = {0};
	uint64_t before;
	int looks;

	stage();
	t.root = start(five_hundred);
	wait_there(501);
	before = clock_ms();
	looks = kill_all(&t);
	printf("# %d looks, %d ms\n", looks, (int)(clock_ms() - before));
	is_int(t.killed, 500, "500 that have escaped are killed");
	is_int(t.live, 0, "nobody is left");
	end_root(t.root);
	ok(all_gone(), "all 501 are gone");
	unstage();
}

/* Shared by all processes: a bomb ends with the test, whatever that shows. */
static volatile bool *bomb_over;

/* Two for each that ends, as long as the number allows. */
static void multiply(void)
{
	struct rlimit few = {.rlim_cur = 200, .rlim_max = 200};

	signal(SIGCHLD, SIG_IGN);
	setrlimit(RLIMIT_NPROC, &few);
	if (setresuid(NOBODY - 7, NOBODY - 7, NOBODY - 7) < 0)
		_exit(1);
	if (fork())
		stay();
	say_there();
	while (!*bomb_over)
		if (fork() == 0)
			setsid();
	_exit(0);
}

static void check_bomb(void)
{
	struct tree t = {0};
	uint64_t before;
	int looks;

	if (geteuid()) {
		skip("a fork bomb", "a limit for it needs root");
		return;
	}
	bomb_over = mmap(NULL, sizeof(*bomb_over), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bomb_over == MAP_FAILED) {
		ok(false, "shared memory");
		return;
	}
	stage();
	t.root = start(multiply);
	wait_there(2);
	while (tree_signal(t.root, 0) < 150)
		poll(NULL, 0, 1);
	before = clock_ms();
	looks = kill_all(&t);
	printf("# %d looks, %d ms\n", looks, (int)(clock_ms() - before));
	is_int(t.live, 0, "a fork bomb is over");
	ok(t.killed >= 150, "so many were killed: %d", (int)t.killed);
	*bomb_over = true;
	end_root(t.root);
	ok(all_gone(), "and nobody is left");
	unstage();
}

static void chain(void)
{
	for (int i = 0; i < 300; i++) {
		setsid();
		if (fork())
			stay();
	}
	stay();
}

static void check_chain(void)
{
	struct tree t = {0};

	stage();
	t.root = start(chain);
	wait_there(301);
	is_int(tree_signal(t.root, 0), 300, "a child of a child of a child");
	kill_all(&t);
	end_root(t.root);
	ok(all_gone(), "all of them are gone");
	unstage();
}

static void check_now(void)
{
	pid_t root;
	int status = 0;

	stage();
	root = start(family);
	wait_there(11);
	tree_kill_now(root);
	is_int(waitpid(root, &status, 0), root, "all at once: the root");
	ok(all_gone(), "and all others are gone");
	unstage();
}

/* In a process that is no subreaper and may not kill root's: names who is left. */
static int powerless(pid_t root)
{
	struct tree t = {.root = root};

	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	if (tree_kill(&t) != -EPERM)
		return 2;
	if (t.live != 2 || t.killed != 0 || t.survivors_n != 2)
		return 3;
	for (size_t i = 0; i < t.survivors_n; i++)
		if (t.survivors[i].err != -EPERM || t.survivors[i].pid <= 0)
			return 4;
	return strcmp(t.survivors[0].name, "somebody") ? 5 : 0;
}

static void somebody(void)
{
	prctl(PR_SET_NAME, "somebody");
}

static void two(void)
{
	child(somebody);
	child(somebody);
	stay();
}

static void check_powerless(void)
{
	pid_t root, pid;

	if (geteuid()) {
		skip("those that may not be killed", "needs root to begin with");
		return;
	}
	stage();
	root = start(two);
	wait_there(3);
	pid = fork();
	if (pid == 0)
		_exit(powerless(root));
	is_int(status_of(pid), 0, "those that may not be killed are named");
	tree_kill_now(root);
	is_int(waitpid(root, NULL, 0), root, "they end by one who may");
	ok(all_gone(), "all are gone");
	unstage();
}

static int blind(pid_t root, const char *empty)
{
	struct tree t = {.root = root};

	if (chroot(empty) < 0)
		return 1;
	if (tree_signal(root, 0) >= 0)
		return 2;
	if (tree_kill(&t) != 0)
		return 3;
	return t.blind ? 0 : 4;
}

static void check_blind(void)
{
	char empty[] = "/tmp/od-tree-XXXXXX";
	pid_t root, pid;
	int status = 0;

	if (geteuid() || !mkdtemp(empty)) {
		skip("no /proc", "chroot needs root");
		return;
	}
	stage();
	root = start(two);
	wait_there(3);
	pid = fork();
	if (pid == 0)
		_exit(blind(root, empty));
	is_int(status_of(pid), 0, "without /proc that is told");
	is_int(waitpid(root, &status, 0), root, "the group is killed all the same");
	ok(all_gone(), "all of it");
	unstage();
	rmdir(empty);
}

/* The one who is in front tells so here. */
static int told[2];

static pid_t job(bool stops)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (stops)
			raise(SIGSTOP);
		for (;;)
			pause();
	}
	setpgid(pid, pid);
	return pid;
}

static void front_leader(void)
{
	pid_t background = job(false), front = job(false), last = job(true);

	if (background < 0 || waitpid(last, NULL, WUNTRACED) != last ||
		write(told[1], &front, sizeof(front)) != sizeof(front))
		_exit(97);
	stay();
}

static void check_front(void)
{
	struct tree t = {0};
	pid_t front = 0, found;
	uint64_t end = clock_ms() + WAIT_MS;

	stage();
	is_int(fd_pipe(told), 0, "a pipe");
	t.root = start(stay);
	wait_there(1);
	is_int(tree_guess_foreground(t.root), t.root,
		"a shell without children is in front");
	end_root(t.root);
	t = (struct tree){.root = start(front_leader)};
	wait_there(1);
	is_int(read(told[0], &front, sizeof(front)), sizeof(front), "its second child");
	/* As long as it runs, it is in front itself. */
	while ((found = tree_guess_foreground(t.root)) == t.root && clock_ms() < end)
		poll(NULL, 0, 1);
	is_int(found, front, "is in front: the third is stopped");
	kill_all(&t);
	end_root(t.root);
	is_int(tree_guess_foreground(t.root), t.root, "of nobody it is that one");
	fd_close(&told[0]);
	fd_close(&told[1]);
	unstage();
}

static void parent_of_one(void)
{
	child(as_it_is);
	stay();
}

static void check_moment(void)
{
	struct tree first = {.moment = 1}, second = {.moment = 1};

	stage();
	first.root = start(parent_of_one);
	wait_there(2);
	is_int(tree_kill(&first), 1, "the tree of a moment is killed");
	second.root = start(parent_of_one);
	wait_there(2);
	is_int(tree_kill(&second), 0, "a younger tree is not in the list of that moment");
	second.moment = 2;
	is_int(tree_kill(&second), 1, "it is in the list of the next moment");
	end_root(first.root);
	end_root(second.root);
	ok(all_gone(), "all of both trees are gone");
	unstage();
}

int main(void)
{
	check_family();
	check_front();
	check_moment();
	check_many();
	check_bomb();
	check_chain();
	check_now();
	check_powerless();
	check_blind();
	return done_testing();
}
