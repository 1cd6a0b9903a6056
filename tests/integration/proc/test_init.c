#include "tests/support/init_stage.h"

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
	is_int(run_init(always_crashes), EXIT_ENVIRONMENT,
		"a server that always crashes");
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
		is_int(end_of(pid), 5, "signal %d lets the server end by itself",
			stops[i]);
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
	if (!is_zero(status, "SigBlk:") || !is_zero(status, "SigIgn:") ||
		!is_zero(status, "SigCgt:"))
		return 2;
	if (getsid(0) == getsid(getppid()))
		return 3;
	return fcntl(s->sock, F_GETFD) & FD_CLOEXEC ? 0 : 4;
}

int main(void)
{
	if (!stage_open())
		return 1;
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
	return done_testing();
}
