#include "proc/spawn.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	OOM_SCORE_CHILD = 500,
	CLOSE_MAX = 65536, /* where neither close_range nor a sane limit helps */
};

enum step {
	STEP_SESSION,
	STEP_TTY,
	STEP_FDS,
	STEP_GROUPS,
	STEP_GID,
	STEP_UID,
	STEP_CWD,
	STEP_EXEC,
};

static const char *const step_words[] = {
	[STEP_SESSION] = "starting a session",
	[STEP_TTY] = "taking the terminal",
	[STEP_FDS] = "setting up standard input and output",
	[STEP_GROUPS] = "setting supplementary groups (needs CAP_SETGID)",
	[STEP_GID] = "setting the group id (needs CAP_SETGID)",
	[STEP_UID] = "setting the user id (needs CAP_SETUID)",
	[STEP_CWD] = "entering a directory",
	[STEP_EXEC] = "executing the program",
};

struct failure {
	enum step step;
	int err;
};

static const int kept_limits[] = {RLIMIT_DATA, RLIMIT_NOFILE, RLIMIT_CORE};
static struct rlimit remembered[ARRAY_LEN(kept_limits)];
static bool limits_known;

void spawn_remember_limits(void)
{
	if (limits_known)
		return;
	limits_known = true;
	for (size_t i = 0; i < ARRAY_LEN(kept_limits); i++)
		if (getrlimit(kept_limits[i], &remembered[i]) < 0)
			limits_known = false;
}

void spawn_close_from(int first)
{
	struct rlimit lim;
	long top = CLOSE_MAX;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < CLOSE_MAX)
		top = (long)lim.rlim_cur;
	for (int fd = first; fd < top; fd++)
		close(fd);
}

/* From here to exec runs in the child: async-signal-safe calls only. */

static void default_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		sigaction(s, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void raise_oom_score(void)
{
	static const char text[] = "500\n";
	int fd;

	_Static_assert(OOM_SCORE_CHILD == 500, "text and number agree");
	/* Below a process that hides itself, this file would be root's. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = fd_open("/proc/self/oom_score_adj", O_WRONLY, 0);
	/* No /proc, or a score that may not be changed: the child still runs. */
	if (fd >= 0 && write(fd, text, sizeof(text) - 1) < 0)
		errno = 0;
	fd_close(&fd);
}

static int take_tty(int slave)
{
	/* Opening the slave as session leader may have made it ours already. */
	if (ioctl(slave, TIOCSCTTY, 0) < 0 && errno != EPERM)
		return -1;
	return tcsetpgrp(slave, getpid());
}

/* The three may be sources of one another: copies above 2 come first. */
static int wire(const struct spawn *s)
{
	int high[3];

	for (int i = 0; i < 3; i++) {
		int from = s->tty >= 0 ? s->tty : s->fds[i];

		if (from < 0)
			from = fd_open("/dev/null", O_RDWR, 0);
		high[i] = from < 0 ? from : fd_dup(from, 3);
		if (high[i] < 0) {
			errno = -high[i];
			return -1;
		}
	}
	for (int i = 0; i < 3; i++)
		if (dup2(high[i], i) < 0 || fd_blocking(i) < 0)
			return -1;
	return 0;
}

static int become(const struct spawn_user *u, enum step *step)
{
	if (!u || u->uid == (uid_t)-1)
		return 0;
	*step = STEP_GROUPS;
	/* A user namespace may deny setgroups where nothing would change anyway. */
	if (setgroups(u->ngroups, u->groups) < 0 && (geteuid() == 0 || errno != EPERM))
		return -1;
	*step = STEP_GID;
	if (setresgid(u->gid, u->gid, u->gid) < 0)
		return -1;
	*step = STEP_UID;
	return setresuid(u->uid, u->uid, u->uid);
}

static void child(const struct spawn *s, int report)
{
	struct failure f = {.step = STEP_FDS};
	int high = fd_dup(report, 3);

	/* The pipe is among 0, 1 and 2 where our own standard descriptors are closed. */
	errno = -high;
	if (high < 0)
		goto fail;
	report = high;
	f.step = STEP_SESSION;
	if (setsid() < 0)
		goto fail;
	f.step = STEP_TTY;
	if (s->tty >= 0 && take_tty(s->tty) < 0)
		goto fail;
	f.step = STEP_FDS;
	if (wire(s) < 0 || dup2(report, 3) < 0)
		goto fail;
	report = 3;
	if (fcntl(report, F_SETFD, FD_CLOEXEC) < 0)
		goto fail;
	spawn_close_from(4);
	default_signals();
	if (limits_known)
		for (size_t i = 0; i < ARRAY_LEN(kept_limits); i++)
			setrlimit(kept_limits[i], &remembered[i]);
	raise_oom_score();
	/* Kept across exec: those that leave the session stay below it (proc/tree). */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (become(s->user, &f.step) < 0)
		goto fail;
	f.step = STEP_CWD;
	if ((!s->cwd || chdir(s->cwd) < 0) && chdir("/") < 0)
		goto fail;
	f.step = STEP_EXEC;
	execve(s->path, (char *const *)(uintptr_t)s->argv,
		(char *const *)(uintptr_t)s->env);
fail:
	f.err = errno;
	if (write(report, &f, sizeof(f)) < 0)
		_exit(126);
	_exit(127);
}

/* Reads the child's report: nothing means that exec closed the pipe. */
static int outcome(int fd, pid_t pid, struct spawn_error *e)
{
	struct failure f;
	ssize_t n;

	do
		n = read(fd, &f, sizeof(f));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(f))
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	e->step = step_words[f.step];
	return -f.err;
}

int spawn(const struct spawn *s, pid_t *pid, struct spawn_error *e)
{
	sigset_t all, before;
	int report[2];
	pid_t made;
	int r = fd_pipe(report);

	e->step = "making a pipe";
	if (r < 0)
		return r;
	r = fd_blocking(report[0]);
	if (r < 0)
		goto out;
	/* The child must not run our handlers: they write into our self-pipe. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	made = fork();
	if (made == 0)
		child(s, report[1]);
	r = made < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	e->step = "forking";
	fd_close(&report[1]);
	if (r == 0)
		r = outcome(report[0], made, e);
	if (r == 0)
		*pid = made;
out:
	fd_close(&report[0]);
	fd_close(&report[1]);
	return r;
}
