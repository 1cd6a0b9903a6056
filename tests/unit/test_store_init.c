#include "base/clock.h"
#include "base/exit.h"
#include "base/fd.h"
#include "proc/init.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES = 1030, LIVES = 40 };

/* What the lives of a server and the test tell each other; outlives them all. */
static struct shared {
	int life; /* counted from 1 */
	uint64_t born[64];
	int fds; /* open in the first life */
	pid_t pids[64];
	int taken;
	int exits;
	int status;
	char names[NAMES][STORE_NAME];
	char text[64];
	long number;
} *shared;

static int ready_pipe[2];

/* Runs init with serve as its server, the test going on at once. */
static pid_t start_init(serve_fn *serve)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	fd_close(&ready_pipe[0]);
	fd_close(&ready_pipe[1]);
	if (fd_pipe(ready_pipe) < 0)
		ok(false, "a pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(init_run(serve, NULL));
	}
	return pid;
}

static int end_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int run_init(serve_fn *serve)
{
	return end_of(start_init(serve));
}

static void say_ready(void)
{
	if (write(ready_pipe[1], "x", 1) != 1)
		_exit(98);
}

static void wait_ready(void)
{
	struct pollfd w = {.fd = ready_pipe[0], .events = POLLIN};
	char c;

	if (poll(&w, 1, 10000) != 1 || read(ready_pipe[0], &c, 1) != 1)
		ok(false, "the server is ready in time");
}

static int new_life(void)
{
	shared->born[shared->life++ % 64] = clock_ms();
	return shared->life;
}

static _Noreturn void die(int signo)
{
	raise(signo);
	_exit(99);
}

static int with_text(const char *text)
{
	int fd = fd_memory("test", 64);

	if (fd < 0 || pwrite(fd, text, strlen(text), 0) < 0)
		_exit(98);
	return fd;
}

static void put(struct store *s, const char *name, const char *text, pid_t pid)
{
	int fd = with_text(text);

	if (store_put(s, name, fd, pid) < 0)
		_exit(97);
	fd_close(&fd);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 2000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Takes what comes back: names into shared, the content of the last one too. */
static void take_all(struct store *s)
{
	struct store_record r;
	int fd;

	shared->taken = 0;
	while (store_take(s, &r, &fd) == 0 && r.op != STORE_END) {
		if (r.op != STORE_PUT || fd < 0 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			_exit(96);
		memcpy(shared->names[shared->taken++], r.name, STORE_NAME);
		if (pread(fd, shared->text, sizeof(shared->text) - 1, 0) < 0)
			shared->text[0] = '\0';
		if (r.exited) {
			shared->exits++;
			shared->status = r.status;
		}
		fd_close(&fd);
	}
	shared->number = store_next(s, &r, &fd);
}

/* --- Without init, and with one that is gone --- */

static void check_no_init(void)
{
	struct store s = {.sock = -1};
	struct store_record r = {.op = STORE_PUT};
	int fd = 5;

	is_int(store_put(&s, "name", 0, 0), 0, "without init nothing is kept, and that is well");
	store_drop(&s, "name");
	is_int(store_next(&s, &r, &fd), -EAGAIN, "nothing comes");
	is_int(fd, -1, "no descriptor either");
	is_int(store_take(&s, &r, &fd), 0, "what comes back");
	is_int(r.op, STORE_END, "is nothing");
}

static void check_gone(void)
{
	struct store_record r = {.op = STORE_PUT};
	struct store s;
	int pair[2], fd = 5;

	if (fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return;
	s.sock = pair[0];
	is_int(store_next(&s, &r, &fd), -EAGAIN, "init has said nothing yet");
	if (fd_send_record(pair[1], "short", 5, 0) == 0)
		is_int(store_next(&s, &r, &fd), -EBADMSG, "a record of another size");
	is_int(fd, -1, "its descriptor is closed");
	fd_close(&pair[1]);
	is_int(store_next(&s, &r, &fd), ERR_CLOSED, "init is gone");
	is_int(store_take(&s, &r, &fd), ERR_CLOSED, "at start-up too");
	is_int(store_put(&s, "name", 0, 0), -EPIPE, "nobody keeps anything");
	store_drop(&s, "name");
	fd_close(&pair[0]);
}

/* --- Entries --- */

static int keeps(struct store *s, void *arg)
{
	(void)arg;
	if (new_life() == 1) {
		take_all(s);
		shared->fds = count_fds();
		put(s, "first", "1", 0);
		put(s, "second", "old", 0);
		put(s, "third", "3", 0);
		put(s, "second", "new", 0);
		store_drop(s, "first");
		store_drop(s, "never put");
		put(s, "fourth", "4", 0);
		store_drop(s, "fourth");
		die(SIGKILL);
	}
	if (count_fds() != shared->fds)
		return 2;
	take_all(s);
	return 0;
}

static void check_entries(void)
{
	is_int(run_init(keeps), 0, "a server is killed and started again");
	is_int(shared->life, 2, "in its second life");
	is_int(shared->taken, 2, "it gets back what it has not dropped");
	ok(!strcmp(shared->names[0], "second") != !strcmp(shared->names[1], "second"),
		"the replaced entry once");
	is_int(shared->number, -EAGAIN, "and nothing more");
}

static int replaces(struct store *s, void *arg)
{
	(void)arg;
	if (new_life() == 1) {
		put(s, "name", "old", 0);
		put(s, "name", "new", 0);
		die(SIGKILL);
	}
	take_all(s);
	return shared->taken;
}

static void check_replaced(void)
{
	is_int(run_init(replaces), 1, "an entry that was put twice comes back once");
	is_str(shared->text, "new", "as it was put last");
}

static int long_names(struct store *s, void *arg)
{
	char name[STORE_NAME + 1];

	(void)arg;
	memset(name, 'n', STORE_NAME);
	name[STORE_NAME] = '\0';
	if (new_life() == 1) {
		shared->number = store_put(s, name, 0, 0);
		if (shared->number != -ENAMETOOLONG)
			return 1;
		name[STORE_NAME - 1] = '\0';
		put(s, name, "x", 0);
		die(SIGKILL);
	}
	take_all(s);
	return shared->taken == 1 && strlen(shared->names[0]) == STORE_NAME - 1 ? 0 : 2;
}

/* Dies in the middle of taking: nothing may be missing the next time. */
static int dies_taking(struct store *s, void *arg)
{
	struct store_record r;
	char name[32];
	int life = new_life(), fd;

	(void)arg;
	for (int i = 0; life == 1 && i < 5; i++) {
		snprintf(name, sizeof(name), "entry %d", i);
		put(s, name, "x", 0);
	}
	for (int i = 0; i < life - 1 && life < 6; i++)
		if (store_take(s, &r, &fd) < 0 || r.op != STORE_PUT)
			return 1;
	if (life < 6)
		die(SIGKILL);
	take_all(s);
	return shared->taken == 5 ? 0 : 2;
}

/* Dies over and over while init is still sending, each time a bit later. */
static int dies_at_once(struct store *s, void *arg)
{
	char name[32];
	int life = new_life();
	uint64_t end = clock_us() + 20 * (uint64_t)life;

	(void)arg;
	for (int i = 0; life == 1 && i < 200; i++) {
		snprintf(name, sizeof(name), "entry %d", i);
		put(s, name, "x", 0);
	}
	while (life < LIVES && clock_us() < end)
		;
	if (life < LIVES)
		die(SIGKILL);
	take_all(s);
	return shared->taken == 200 ? 0 : 2;
}

/* More than init keeps: the rest is let go of, what is kept stays. */
static int too_many(struct store *s, void *arg)
{
	struct store_record r;
	char name[32];
	int life = new_life(), fd = with_text("x");

	(void)arg;
	for (int i = 0; life == 1 && i < NAMES; i++) {
		snprintf(name, sizeof(name), "entry %d", i);
		if (store_put(s, name, fd, 0) < 0)
			return 1;
	}
	if (life == 1) {
		/* Room for one that was refused before. */
		store_drop(s, "entry 500");
		put(s, "last", "x", 0);
		die(SIGKILL);
	}
	for (fd = -1; store_take(s, &r, &fd) == 0 && r.op != STORE_END; fd_close(&fd))
		memcpy(shared->names[shared->taken++], r.name, STORE_NAME);
	return 0;
}

static void check_too_many(void)
{
	struct rlimit before, high;
	bool last = false;

	getrlimit(RLIMIT_NOFILE, &before);
	high = before;
	high.rlim_cur = before.rlim_max > 4096 ? 4096 : before.rlim_max;
	if (high.rlim_cur < 1100) {
		skip("more entries than init keeps", "needs more descriptors");
		return;
	}
	setrlimit(RLIMIT_NOFILE, &high);
	is_int(run_init(too_many), 0, "more entries than init keeps");
	setrlimit(RLIMIT_NOFILE, &before);
	is_int(shared->taken, 1024, "those that it does keep come back");
	for (int i = 0; i < shared->taken; i++)
		last |= !strcmp(shared->names[i], "last");
	ok(last, "a dropped one makes room");
}

/* --- Processes of entries --- */

/* A child that ends with code when the last writer of the pipe is gone, or at a byte. */
static pid_t lingering(const int pair[2], int code)
{
	pid_t pid = fork();
	char c;

	if (pid == 0) {
		close(pair[1]);
		fcntl(pair[0], F_SETFL, 0);
		_exit(read(pair[0], &c, 1) < 0 ? 95 : code);
	}
	return pid;
}

static int loses_a_child(struct store *s, void *arg)
{
	siginfo_t si;
	int pair[2];

	(void)arg;
	if (new_life() == 1) {
		if (fd_pipe(pair) < 0)
			return 1;
		shared->pids[0] = lingering(pair, 42);
		put(s, "child", "x", shared->pids[0]);
		put(s, "other", "y", 0);
		/* It has ended, but we do not get to reap it. */
		fd_close(&pair[1]);
		waitid(P_PID, (id_t)shared->pids[0], &si, WEXITED | WNOWAIT);
		die(SIGKILL);
	}
	take_all(s);
	return 0;
}

static void check_died_meanwhile(void)
{
	is_int(run_init(loses_a_child), 0, "a child ends with the server");
	is_int(shared->taken, 2, "its entry comes back");
	is_int(shared->exits, 1, "with a status");
	ok(WIFEXITED(shared->status) && WEXITSTATUS(shared->status) == 42, "which is right");
}

static int learns_later(struct store *s, void *arg)
{
	struct pollfd w = {.fd = s->sock, .events = POLLIN};
	struct store_record r;
	int pair[2], fd;

	(void)arg;
	if (new_life() == 1) {
		if (fd_pipe(pair) < 0)
			return 1;
		shared->pids[0] = lingering(pair, 43);
		if (store_put(s, "writer", pair[1], shared->pids[0]) < 0)
			return 2;
		die(SIGKILL);
	}
	if (store_take(s, &r, &fd) < 0 || r.op != STORE_PUT || r.exited
		|| r.pid != shared->pids[0])
		return 3;
	if (write(fd, "x", 1) != 1)
		return 4;
	if (store_take(s, &r, &fd) < 0)
		return 5;
	if (r.op != STORE_END)
		return 6;
	if (poll(&w, 1, 10000) != 1 || store_next(s, &r, &fd) < 0 || fd != -1)
		return 7;
	if (r.op != STORE_EXIT || strcmp(r.name, "writer") || r.pid != shared->pids[0])
		return 8;
	shared->status = r.status;
	return store_next(s, &r, &fd) == -EAGAIN ? 0 : 9;
}

static void check_learns_later(void)
{
	is_int(run_init(learns_later), 0, "a child of an earlier life ends: the server is told");
	ok(WIFEXITED(shared->status) && WEXITSTATUS(shared->status) == 43, "its status");
}

static int killed_child(struct store *s, void *arg)
{
	(void)arg;
	if (new_life() == 1) {
		siginfo_t si;
		pid_t pid = fork();

		while (pid == 0)
			pause();
		put(s, "child", "x", pid);
		kill(pid, SIGTERM);
		waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
		die(SIGKILL);
	}
	if (shared->life == 2)
		die(SIGKILL);
	take_all(s);
	return shared->exits == 1 && WIFSIGNALED(shared->status) ? WTERMSIG(shared->status) : 0;
}

/* --- Orphans --- */

static bool all_gone(uint64_t until)
{
	int left = 1;

	while (left && clock_ms() < until) {
		left = 0;
		for (int i = 0; i < 50; i++)
			left += kill(shared->pids[i], 0) == 0;
		sched_yield();
	}
	return !left;
}

static int leaves_orphans(struct store *s, void *arg)
{
	pid_t init = getppid();

	(void)s;
	(void)arg;
	for (int i = 0; i < 50; i++) {
		pid_t middle = fork();

		if (middle == 0) {
			pid_t pid = fork();

			if (pid == 0) {
				while (getppid() != init)
					sched_yield();
				_exit(3);
			}
			shared->pids[i] = pid;
			_exit(pid < 0);
		}
		waitpid(middle, NULL, 0);
	}
	return all_gone(clock_ms() + 10000) ? 0 : 1;
}

/* --- Ends and signals --- */

static int returns_zero(struct store *s, void *arg)
{
	(void)s;
	(void)arg;
	new_life();
	return 0;
}

static int returns_seven(struct store *s, void *arg)
{
	(void)s;
	(void)arg;
	new_life();
	return 7;
}

static int always_crashes(struct store *s, void *arg)
{
	(void)s;
	(void)arg;
	new_life();
	die(SIGABRT);
}

static void check_crashes(void)
{
	is_int(run_init(always_crashes), EXIT_ENVIRONMENT, "a server that always crashes");
	is_int(shared->life, 5, "is given up after five crashes");
	for (int i = 1; i < shared->life && i < 5; i++)
		ok(shared->born[i] - shared->born[i - 1] >= 100ull << (i - 1),
			"start %d comes after %d ms or more", i + 1, 100 << (i - 1));
}

static int killed_often(struct store *s, void *arg)
{
	(void)s;
	(void)arg;
	if (new_life() < 12)
		die(SIGKILL);
	return 4;
}

/* Every kind of death but too many crashes: it goes on. */
static int crashes_sometimes(struct store *s, void *arg)
{
	static const int deaths[] = {SIGSEGV, SIGKILL, SIGABRT, SIGKILL, SIGTERM};

	(void)s;
	(void)arg;
	if (new_life() <= (int)ARRAY_LEN(deaths))
		die(deaths[shared->life - 1]);
	return 6;
}

/* Counts SIGTERMs until there are as many as are asked for. */
static int waits(struct store *s, int signals)
{
	sigset_t term;
	int signo;

	(void)s;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	new_life();
	say_ready();
	for (int i = 0; i < signals; i++) {
		sigwait(&term, &signo);
		shared->number++;
		say_ready();
	}
	return 5;
}

static int waits_once(struct store *s, void *arg)
{
	(void)arg;
	return waits(s, 1);
}

static int waits_twice(struct store *s, void *arg)
{
	(void)arg;
	return waits(s, 2);
}

static int dies_of_signals(struct store *s, void *arg)
{
	(void)s;
	(void)arg;
	say_ready();
	while (pause() < 0)
		;
	return 0;
}

static int crashes_to_wait(struct store *s, void *arg)
{
	(void)s;
	(void)arg;
	if (new_life() == 3)
		say_ready();
	die(SIGABRT);
}

static void check_stop_signals(void)
{
	static const int stops[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	pid_t pid;

	for (size_t i = 0; i < ARRAY_LEN(stops); i++) {
		pid = start_init(waits_once);
		wait_ready();
		kill(pid, stops[i]);
		is_int(end_of(pid), 5, "signal %d lets the server end by itself", stops[i]);
	}
	pid = start_init(waits_twice);
	wait_ready();
	kill(pid, SIGTERM);
	wait_ready();
	kill(pid, SIGINT);
	is_int(end_of(pid), 5, "a second signal reaches the server too");
	is_int(shared->number, 2, "as a second one");
	pid = start_init(dies_of_signals);
	wait_ready();
	kill(pid, SIGTERM);
	is_int(end_of(pid), 0, "a server that dies of SIGTERM is not started again");
	pid = start_init(crashes_to_wait);
	wait_ready();
	kill(pid, SIGTERM);
	is_int(end_of(pid), 0, "a signal while no server runs ends init");
}

/* But for signals 32 and 33: the C library's own, which make's posix_spawn ignores. */
static bool is_zero(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at && (strtoull(at + strlen(name), NULL, 16) & ~0x180000000ull) == 0;
}

/* What the server starts with. */
static int looks_at_itself(struct store *s, void *arg)
{
	char status[4096] = "";
	int fd = fd_open("/proc/self/status", O_RDONLY, 0);

	(void)arg;
	if (fd < 0 || read(fd, status, sizeof(status) - 1) < 0)
		return 1;
	if (!is_zero(status, "SigBlk:") || !is_zero(status, "SigIgn:")
		|| !is_zero(status, "SigCgt:"))
		return 2;
	if (getsid(0) == getsid(getppid()))
		return 3;
	return fcntl(s->sock, F_GETFD) & FD_CLOEXEC ? 0 : 4;
}

int main(void)
{
	struct rlimit no_core = {0};

	setrlimit(RLIMIT_CORE, &no_core);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (shared == MAP_FAILED || fd_pipe(ready_pipe) < 0)
		return 1;
	/* An init that hangs is a failure, not a test without an end. */
	alarm(120);
	check_no_init();
	check_gone();
	check_entries();
	check_replaced();
	is_int(run_init(long_names), 0, "names have 47 bytes at most");
	is_int(run_init(dies_taking), 0, "killed while it takes: nothing is missing");
	is_int(run_init(dies_at_once), 0, "killed while init is sending: nothing is missing");
	check_too_many();
	check_died_meanwhile();
	check_learns_later();
	is_int(run_init(killed_child), SIGTERM, "a status waits through two lives");
	is_int(run_init(leaves_orphans), 0, "orphans are reaped");
	is_int(run_init(returns_zero), 0, "exit code 0 is passed on");
	is_int(run_init(returns_seven), 7, "exit code 7 is passed on");
	is_int(shared->life, 1, "a server that ends by itself is not started again");
	check_crashes();
	is_int(run_init(killed_often), 4, "SIGKILL is no crash");
	is_int(run_init(crashes_sometimes), 6, "a few crashes are survived");
	check_stop_signals();
	is_int(run_init(looks_at_itself), 0,
		"a server has default signals, a session of its own, a CLOEXEC socket");
	munmap(shared, sizeof(*shared));
	return done_testing();
}
