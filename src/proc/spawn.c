#include "proc/spawn.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	OOM_SCORE_CHILD = 500,
	CHANNEL_FD = 3,    /* of a child */
	ANSWERS_FD = 4,    /* of a child, too */
	REPORT_FD = 5,     /* of a child until its exec */
	CLOSE_MAX = 65536, /* if neither close_range nor the limit bounds the numbers */
};

static const char *const step_words[] = {
	[SPAWN_SESSION] = "starting a session",
	[SPAWN_IDENTITY] = "finding the user",
	[SPAWN_TTY] = "taking the terminal",
	[SPAWN_FDS] = "setting up standard input and output",
	[SPAWN_GROUPS] = "setting supplementary groups (needs CAP_SETGID)",
	[SPAWN_GID] = "setting the group id (needs CAP_SETGID)",
	[SPAWN_UID] = "setting the user id (needs CAP_SETUID)",
	[SPAWN_CWD] = "entering a directory",
	[SPAWN_GATE] = "waiting for the server",
	[SPAWN_EXEC] = "executing the program",
};

/* Sent to the parent: a step that may take long begins (err 0), or has failed. */
struct message {
	enum spawn_step step;
	int err;
};

static const int kept_limits[] = {RLIMIT_DATA, RLIMIT_NOFILE, RLIMIT_CORE};
static struct rlimit remembered[ARRAY_LEN(kept_limits)];
static bool limits_known;

void spawn_save_limits(void)
{
	struct rlimit files;

	if (limits_known)
		return;
	limits_known = true;
	for (size_t i = 0; i < ARRAY_LEN(kept_limits); i++)
		if (getrlimit(kept_limits[i], &remembered[i]) < 0)
			limits_known = false;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	/* If the limit cannot be raised, fewer clients are served. */
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		errno = 0;
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

void spawn_reset_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		sigaction(s, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void spawn_write_oom_score(const char *process)
{
	static const char text[] = "500\n";
	char path[64];
	int fd;

	_Static_assert(OOM_SCORE_CHILD == 500, "text and number agree");
	snprintf(path, sizeof(path), "/proc/%s/oom_score_adj", process);
	fd = fd_open(path, O_WRONLY, 0);
	/* Without /proc, or if the score may not be changed, the child still runs. */
	if (fd >= 0 && write(fd, text, sizeof(text) - 1) < 0)
		errno = 0;
	fd_close(&fd);
}

void spawn_raise_oom_score(void)
{
	spawn_write_oom_score("self");
}

/*
 * Until its exec, a child of a server without root cannot open its own oom_score_adj: it
 * is not dumpable, so that the file belongs to root.
 */
static void spawn_raise_oom_score_of(pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)pid);
	if (geteuid() != 0)
		spawn_write_oom_score(number);
}

static int spawn_set_tty(int slave, const struct spawn_user *u)
{
	/*
	 * Opening the slave as session leader may have made it the controlling terminal.
	 */
	if (ioctl(slave, TIOCSCTTY, 0) < 0 && errno != EPERM)
		return -1;
	/* The user becomes the owner of the terminal: writing to /dev/stderr opens it. */
	if (u && u->uid != (uid_t)-1 && fchown(slave, u->uid, (gid_t)-1) < 0)
		errno = 0;
	return tcsetpgrp(slave, getpid());
}

/* The three may be sources of one another: they are copied above 2 first. */
static int spawn_setup_stdio(const struct spawn *s)
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
		if (dup2(high[i], i) < 0 || fd_set_blocking(i) < 0)
			return -1;
	return 0;
}

/*
 * Puts from at number to, or closes to if from is not given. The sources lie above
 * REPORT_FD by now.
 */
static int spawn_setup_fd(int from, int to)
{
	if (from <= 0)
		close(to);
	else if (dup2(from, to) < 0 || fd_set_blocking(to) < 0)
		return -1;
	return 0;
}

static int spawn_setup_report(int report)
{
	if (dup2(report, REPORT_FD) < 0)
		return -1;
	return fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC);
}

static int spawn_set_identity(const struct spawn_user *u, enum spawn_step *step)
{
	if (!u || u->uid == (uid_t)-1)
		return 0;
	*step = SPAWN_GROUPS;
	/* A user namespace may deny setgroups even if nothing would change. */
	if (setgroups(u->ngroups, u->groups) < 0 && (geteuid() == 0 || errno != EPERM))
		return -1;
	*step = SPAWN_GID;
	if (setresgid(u->gid, u->gid, u->gid) < 0)
		return -1;
	*step = SPAWN_UID;
	return setresuid(u->uid, u->uid, u->uid);
}

int spawn_set_user(const struct spawn_user *u)
{
	enum spawn_step step;

	return spawn_set_identity(u, &step);
}

static void spawn_send_step(int report, enum spawn_step step, int err)
{
	struct message m = {.step = step, .err = err};

	/* If the parent has closed the socket or ended, the child goes on. */
	if (send(report, &m, sizeof(m), MSG_NOSIGNAL) < 0)
		errno = err;
}

/* Returns 0 once the parent has opened the gate. If the parent dies, it fails. */
static int spawn_wait_gate(int report)
{
	struct pollfd w = {.fd = report, .events = POLLIN};
	char go;

	while (poll(&w, 1, -1) < 0 && errno == EINTR)
		;
	if (read(report, &go, 1) == 1)
		return 0;
	errno = ECANCELED;
	return -1;
}

/*
 * As execvp: after a program that may not be executed, the later paths are tried. A
 * folder that may not be searched counts as one without the program.
 */
static void spawn_execute(const struct spawn *s)
{
	const char *const one[] = {s->path, NULL};
	int err = ENOENT;

	for (const char *const *path = s->paths ? s->paths : one; *path; path++) {
		execve(*path, (char *const *)(uintptr_t)s->argv,
			(char *const *)(uintptr_t)s->env);
		if (errno == EACCES && s->paths && access(*path, F_OK) < 0)
			continue;
		if (errno != ENOENT && errno != ENOTDIR)
			err = errno;
		if (err != ENOENT && err != EACCES)
			break;
	}
	errno = err;
}

static void spawn_run_child(struct spawn *s, int report)
{
	int channel = s->channel > 0 ? fd_dup(s->channel, REPORT_FD + 1) : 0;
	int answers = s->answers > 0 ? fd_dup(s->answers, REPORT_FD + 1) : 0;
	enum spawn_step step = SPAWN_FDS;
	int high = fd_dup(report, REPORT_FD + 1);

	/* If our standard descriptors are closed, the socket may be 0, 1 or 2. */
	errno = -(high < 0 ? high : channel < 0 ? channel : answers);
	/* F_DUPFD fails with EINVAL if the number is not below RLIMIT_NOFILE. */
	if (errno == EINVAL)
		errno = EMFILE;
	if (high < 0 || channel < 0 || answers < 0)
		goto fail;
	report = high;
	step = SPAWN_SESSION;
	if (setsid() < 0)
		goto fail;
	step = SPAWN_IDENTITY;
	if (s->find_identity && (errno = -s->find_identity(s, s->arg)) != 0)
		goto fail;
	step = SPAWN_TTY;
	if (s->tty >= 0 && spawn_set_tty(s->tty, s->user) < 0)
		goto fail;
	step = SPAWN_FDS;
	if (spawn_setup_stdio(s) < 0 || spawn_setup_fd(channel, CHANNEL_FD) < 0 ||
		spawn_setup_fd(answers, ANSWERS_FD) < 0 || spawn_setup_report(report) < 0)
		goto fail;
	report = REPORT_FD;
	spawn_close_from(REPORT_FD + 1);
	spawn_reset_signals();
	if (limits_known)
		for (size_t i = 0; i < ARRAY_LEN(kept_limits); i++)
			setrlimit(kept_limits[i], &remembered[i]);
	spawn_raise_oom_score();
	/*
	 * Kept across exec: processes that leave the session stay descendants
	 * (proc/tree).
	 */
	prctl(PR_SET_CHILD_SUBREAPER, s->orphans_leave ? 0 : 1, 0, 0, 0);
	if (spawn_set_identity(s->user, &step) < 0)
		goto fail;
	/*
	 * Until its exec the child has our memory. Processes of the same user must not be
	 * able to open it at any moment.
	 */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* A change of identity clears the signal, so that it is set after it. */
	if (s->dies_with_parent)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	step = SPAWN_CWD;
	spawn_send_step(report, step, 0);
	if ((!s->cwd || chdir(s->cwd) < 0) && (s->cwd_needed || chdir("/") < 0))
		goto fail;
	if (s->folder && chdir(s->folder) == 0)
		s->argv = s->folder_argv;
	step = SPAWN_GATE;
	if (s->gated && spawn_wait_gate(report) < 0)
		goto fail;
	step = SPAWN_EXEC;
	spawn_send_step(report, step, 0);
	spawn_execute(s);
fail:
	if (s->failure)
		*s->failure = errno;
	spawn_send_step(report, step, errno);
	_exit(127);
}

int spawn(const struct spawn *s, pid_t *pid, struct spawn_report *report)
{
	struct spawn copy = *s;
	sigset_t all, before;
	int pair[2];
	pid_t made;
	int r = fd_socketpair(SOCK_SEQPACKET, pair);

	*report = (struct spawn_report){.fd = -1, .step = "making a socket"};
	if (r < 0)
		return r;
	/* The child must not run our handlers, which write into our self-pipe. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	made = fork();
	if (made == 0)
		spawn_run_child(&copy, pair[1]);
	r = made < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	report->step = "forking";
	fd_close(&pair[1]);
	if (r < 0) {
		fd_close(&pair[0]);
		return r;
	}
	*pid = made;
	*report = (struct spawn_report){
		.fd = pair[0], .pid = made, .step = step_words[SPAWN_SESSION]};
	return 0;
}

int spawn_check_folder(const struct spawn_user *u, const char *folder)
{
	sigset_t all, before;
	int status = 0;
	pid_t made;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	made = fork();
	if (made == 0)
		_exit(spawn_set_user(u) < 0 || chdir(folder) < 0 ? errno : 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (made < 0)
		return -errno;
	while (waitpid(made, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int spawn_replace(const struct spawn *s)
{
	enum spawn_step step;

	spawn_reset_signals();
	spawn_raise_oom_score();
	if (spawn_set_identity(s->user, &step) < 0)
		return -errno;
	if (chdir(s->cwd) < 0 && chdir("/") < 0)
		return -errno;
	spawn_close_from(3);
	execve(s->path, (char *const *)(uintptr_t)s->argv,
		(char *const *)(uintptr_t)s->env);
	return -errno;
}

int spawn_read_outcome(struct spawn_report *report)
{
	struct message m;
	ssize_t n;

	while (report->fd >= 0) {
		n = read(report->fd, &m, sizeof(m));
		/* If a child ends at the gate, read fails once before the report. */
		if (n < 0 && (errno == EINTR || errno == ECONNRESET))
			continue;
		if (n < 0)
			return -errno;
		if (n != (ssize_t)sizeof(m))
			break;
		report->at = m.step;
		report->step = step_words[m.step];
		if (m.err) {
			spawn_report_close(report);
			return -m.err;
		}
	}
	/* The socket closes by the exec, or by the end of the child. */
	spawn_report_close(report);
	if (report->at != SPAWN_EXEC)
		return -EINTR;
	spawn_raise_oom_score_of(report->pid);
	return 0;
}

void spawn_open_gate(struct spawn_report *report)
{
	/* The exit of a dead child is reported soon. */
	if (report->fd >= 0 && send(report->fd, "", 1, MSG_NOSIGNAL) < 0)
		errno = 0;
}

void spawn_report_close(struct spawn_report *report)
{
	fd_close(&report->fd);
}
