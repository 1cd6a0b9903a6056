#include "base/clock.h"
#include "base/fd.h"
#include "base/lock.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

static char path[] = "/tmp/od-lock-XXXXXX";

static int open_file(void)
{
	return fd_open(path, O_RDWR, 0);
}

/* A child that holds the lock until go[1] is closed; it has the lock on return. */
static pid_t holder(int go[2])
{
	int there[2];
	pid_t pid;
	char c = 0;

	if (fd_pipe(go) < 0 || fd_pipe(there) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int fd = open_file();

		fd_close(&go[1]);
		if (lock_file(fd, 0) || write(there[1], "x", 1) != 1)
			_exit(1);
		_exit(fd_wait(go[0], POLLHUP, clock_ms() + PATIENCE_MS) != 1);
	}
	fd_close(&go[0]);
	fd_close(&there[1]);
	if (fd_wait(there[0], POLLIN, clock_ms() + PATIENCE_MS) != 1 ||
		read(there[0], &c, 1) != 1)
		ok(false, "a process has the lock");
	fd_close(&there[0]);
	return pid;
}

static void check_deadline(void)
{
	int go[2], fd = open_file();
	pid_t pid = holder(go);
	uint64_t before = clock_ms();
	struct sigaction act;

	is_int(lock_file(fd, 0), -EBUSY, "a lock that another process has");
	is_int(lock_file(fd, before + 40), -EBUSY, "is not given at the deadline");
	ok(clock_ms() - before >= 40, "and waited for until then");
	sigaction(SIGALRM, NULL, &act);
	ok(act.sa_handler == SIG_DFL, "SIGALRM is as before");
	fd_close(&go[1]);
	is_int(lock_file(fd, clock_ms() + PATIENCE_MS), 0,
		"the end of that process gives it");
	is_int(lock_file(fd, 0), 0, "a lock that one has is given again");
	waitpid(pid, NULL, 0);
	fd_close(&fd);
}

static void check_killed(void)
{
	int go[2], fd = open_file();
	pid_t pid = holder(go), killer;

	fflush(stdout);
	killer = fork();
	if (killer == 0)
		_exit(kill(pid, SIGKILL) < 0);
	is_int(lock_file(fd, clock_ms() + PATIENCE_MS), 0,
		"a process that is killed loses it");
	waitpid(pid, NULL, 0);
	waitpid(killer, NULL, 0);
	fd_close(&go[1]);
	fd_close(&fd);
	is_int(lock_file(-1, 0), -EBADF, "no file");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	check_deadline();
	check_killed();
	unlink(path);
	return done_testing();
}
