#include "base/clock.h"
#include "base/fd.h"
#include "proc/pidwait.h"
#include "tests/tap.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

/* A child that ends when go[1] is closed. */
static pid_t waiting(int go[2])
{
	pid_t pid;

	if (fd_pipe(go) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		char c;

		fd_close(&go[1]);
		if (fd_wait(go[0], POLLHUP, clock_ms() + PATIENCE_MS) < 0)
			_exit(1);
		_exit(read(go[0], &c, 1) != 0);
	}
	fd_close(&go[0]);
	return pid;
}

/* Up to the deadline, as callers do it. */
static bool ends(pid_t pid, uint64_t ms)
{
	uint64_t deadline = clock_ms() + ms;

	while (kill(pid, 0) == 0 && clock_ms() < deadline) {
		siginfo_t end = {0};

		if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
			end.si_pid)
			return true;
		pidwait_end(pid, deadline);
	}
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static void check(const char *kernel)
{
	int go[2];
	pid_t pid = waiting(go), other;
	uint64_t before = clock_ms();

	ok(!ends(pid, 30), "%s: the deadline ends the wait for a process", kernel);
	ok(clock_ms() - before >= 30, "%s: not sooner", kernel);
	/* Lets the process end from outside, while this one waits. */
	fflush(stdout);
	other = fork();
	if (other == 0) {
		fd_close(&go[1]);
		_exit(0);
	}
	fd_close(&go[1]);
	ok(ends(pid, PATIENCE_MS), "%s: the end of a process ends the wait", kernel);
	ok(clock_ms() - before < PATIENCE_MS, "%s: before the deadline", kernel);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
	before = clock_ms();
	pidwait_end(pid, before + PATIENCE_MS);
	ok(clock_ms() - before < PATIENCE_MS, "%s: a process that has ended", kernel);
}

/* From now on the kernel answers pidfd_open as one before Linux 5.3 does. */
static bool forbid_pidfd(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_LEN(code), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(void)
{
	check("this kernel");
	if (forbid_pidfd()) {
		is_int(fd_open_pidfd(getpid()), -ENOSYS, "a kernel without pidfd_open");
		check("without pidfd_open");
	} else {
		skip("without pidfd_open", "this kernel has no seccomp filters");
	}
	return done_testing();
}
