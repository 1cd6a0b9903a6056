/* Children that wait in front of their exec, search the PATH, find their identity. */
#include "base/fd.h"
#include "proc/spawn.h"
#include "tests/support/spawn_run.h"
#include "tests/tap.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const argv_true[] = {"true", NULL};
static int *failure; /* shared with the children */

/* The outcome, once it is known. */
static int outcome(struct spawn_report *e)
{
	struct pollfd w = {.events = POLLIN};
	int r;

	while ((r = spawn_read_outcome(e)) == -EAGAIN) {
		w.fd = e->fd;
		if (poll(&w, 1, 10000) != 1)
			break;
	}
	return r;
}

static int run(const struct spawn *s, struct spawn_report *e)
{
	pid_t pid;
	int r = spawn(s, &pid, e);

	if (r < 0)
		return r;
	spawn_open_gate(e);
	r = outcome(e);
	end_of(pid);
	return r;
}

static void check_gate(void)
{
	struct spawn s = program(argv_true);
	struct spawn_report e;
	struct pollfd w = {.events = POLLIN};
	pid_t pid;

	s.path = "/bin/true";
	s.gated = true;
	s.failure = failure;
	is_int(spawn(&s, &pid, &e), 0, "a gated child");
	w.fd = e.fd;
	/* It tells that it enters its directory, and no more. */
	is_int(poll(&w, 1, 10000), 1, "it comes to its directory");
	is_int(spawn_read_outcome(&e), -EAGAIN, "and is not executed");
	is_int(kill(pid, 0), 0, "it waits");
	spawn_open_gate(&e);
	is_int(outcome(&e), 0, "until the gate is opened");
	is_int(end_of(pid), 0, "then it runs");

	is_int(spawn(&s, &pid, &e), 0, "one whose parent closes its end");
	spawn_report_close(&e);
	is_int(end_of(pid), 127, "ends");
	is_int(*failure, ECANCELED, "without having been executed");
	*failure = 0;
}

/* As nobody: 0 if files of a child in front of its gate are not those of its user. */
static int look_at_child(void)
{
	struct spawn s = program(argv_true);
	struct pollfd w = {.events = POLLIN};
	struct spawn_report e;
	struct stat st;
	char path[64];
	pid_t pid;
	int r;

	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
		return 2;
	s.path = "/bin/true";
	s.gated = true;
	if (spawn(&s, &pid, &e) < 0)
		return 3;
	w.fd = e.fd;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	if (poll(&w, 1, 10000) != 1 || stat(path, &st) < 0)
		return 4;
	r = st.st_uid == 65534;
	spawn_open_gate(&e);
	return outcome(&e) || end_of(pid) ? 5 : r;
}

static void check_memory(void)
{
	pid_t pid;

	if (geteuid() != 0) {
		skip("the memory of a child", "needs root");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(look_at_child());
	is_int(end_of(pid), 0, "nobody of its user can read what a child has of us");
}

/* From now on a process that lets others read its memory is killed. */
static int forbid_dumpable(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 5),
		BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_DUMPABLE, 0, 3),
		BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {
		.len = sizeof(rows) / sizeof(rows[0]), .filter = rows};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

enum { NO_SECCOMP = 77 };

/*
 * In a hidden process with the rights of uid. Returns 0 if its child stays hidden, and
 * NO_SECCOMP if the kernel, or an emulator, has no filters of system calls.
 */
static int hide_and_start(uid_t uid)
{
	static const char *const argv[] = {
		"/bin/sh", "-c", "read go; cat /proc/self/oom_score_adj", NULL};
	struct spawn s = program(argv);
	struct spawn_report e;
	pid_t pid;
	int in[2], from[2];

	if (setresuid(uid, uid, uid) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
		fd_pipe(in) < 0 || fd_pipe(from) < 0)
		return 2;
	if (forbid_dumpable() < 0)
		return errno == EINVAL ? NO_SECCOMP : 2;
	s.fds[0] = in[0];
	s.fds[1] = from[1];
	if (spawn(&s, &pid, &e) < 0)
		return 3;
	fd_close(&from[1]);
	if (outcome(&e) < 0)
		return 4;
	if (write(in[1], "\n", 1) != 1)
		return 5;
	read_all(from[0]);
	end_of(pid);
	return str_eq(buf_view(&out), STR("500\n")) ? 0 : 6;
}

static void check_hidden(void)
{
	static const uid_t uids[] = {0, 65534};
	pid_t pid;
	int r;

	if (geteuid() != 0) {
		skip("a hidden process and its child", "needs root");
		return;
	}
	for (size_t i = 0; i < sizeof(uids) / sizeof(uids[0]); i++) {
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			_exit(hide_and_start(uids[i]));
		r = end_of(pid);
		if (r == NO_SECCOMP)
			skip("a hidden process and its child", "needs seccomp");
		else
			is_int(r, 0,
				"the child of a hidden process is hidden up to its exec "
				"and has a raised OOM score");
	}
}

static void check_failure(void)
{
	struct spawn s = program(argv_true);
	struct spawn_report e;

	s.gated = true;
	s.failure = failure;
	s.path = "/no/such/program";
	is_int(run(&s, &e), -ENOENT, "a program that is not there");
	is_int(e.at, SPAWN_EXEC, "fails at its exec");
	is_int(*failure, ENOENT, "and leaves a note");
	s.path = "/bin/true";
	s.cwd = "/no/such";
	s.cwd_needed = true;
	is_int(run(&s, &e), -ENOENT, "a directory that is not there");
	is_int(e.at, SPAWN_CWD, "fails there, ahead of the gate");
}

static void check_paths(void)
{
	static const char *const good[] = {
		"/no/such/true", "/etc/passwd/true", "/etc/passwd", "/bin/true", NULL};
	static const char *const none[] = {"/no/such/true", "/etc/passwd/true", NULL};
	static const char *const plain[] = {"/no/such/true", "/etc/passwd", NULL};
	char folder[] = "/tmp/od-paths-XXXXXX", inside[64];
	const char *const closed[] = {inside, NULL};
	struct spawn_user nobody = {.uid = 65534, .gid = 65534};
	struct spawn s = program(argv_true);
	struct spawn_report e;

	s.paths = good;
	is_int(run(&s, &e), 0, "the first program of several paths");
	s.paths = none;
	is_int(run(&s, &e), -ENOENT, "none of them");
	s.paths = plain;
	is_int(run(&s, &e), -EACCES, "a file that is no program");
	if (geteuid() != 0 || !mkdtemp(folder)) {
		skip("a folder that may not be searched", "needs root");
		return;
	}
	snprintf(inside, sizeof(inside), "%s/true", folder);
	s.paths = closed;
	s.user = &nobody;
	is_int(run(&s, &e), -ENOENT, "a folder that may not be searched has none");
	rmdir(folder);
}

static int find_nobody(struct spawn *s, void *arg)
{
	static const char *const other[] = {"WHO=nobody", NULL};

	s->user = arg;
	s->env = other;
	return 0;
}

static int find_none(struct spawn *s, void *arg)
{
	(void)s;
	(void)arg;
	return -ENOENT;
}

static void check_identity(void)
{
	static const char *const argv[] = {
		"/bin/sh", "-c", "id -u; echo $WHO $MARK", NULL};
	struct spawn_user nobody = {.uid = 65534, .gid = 65534};
	struct spawn s = program(argv);
	struct spawn_report e;
	int pipe[2];

	s.find_identity = find_none;
	is_int(run(&s, &e), -ENOENT, "a user who is not found");
	is_int(e.at, SPAWN_IDENTITY, "is told as that");
	if (geteuid() != 0) {
		skip("another user", "needs root");
		return;
	}
	is_int(fd_pipe(pipe), 0, "a pipe");
	s.find_identity = find_nobody;
	s.arg = &nobody;
	s.fds[1] = pipe[1];
	is_int(run(&s, &e), 0, "a user who is found in the child");
	fd_close(&pipe[1]);
	read_all(pipe[0]);
	is_view(buf_view(&out), "65534\nnobody\n", "with the environment of his");
	fd_close(&pipe[0]);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	spawn_save_limits();
	failure = mmap(NULL, sizeof(*failure), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (failure == MAP_FAILED)
		return 1;
	check_gate();
	check_memory();
	check_hidden();
	check_failure();
	check_paths();
	check_identity();
	buf_free(&out);
	return done_testing();
}
