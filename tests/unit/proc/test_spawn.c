#include "base/buf.h"
#include "base/fd.h"
#include "proc/pty.h"
#include "proc/spawn.h"
#include "tests/support/spawn_run.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* Runs it with its output in out; the exit code, or the error of spawn. */
static int run(struct spawn *s)
{
	struct spawn_report e;
	int pair[2];
	pid_t pid = 0;
	int r;

	if (fd_pipe(pair) < 0)
		return -1;
	s->fds[1] = pair[1];
	r = start(s, &pid, &e);
	fd_close(&pair[1]);
	if (r == 0) {
		read_all(pair[0]);
		r = end_of(pid);
	}
	fd_close(&pair[0]);
	return r;
}

static int shell(const char *text)
{
	const char *const argv[] = {"/bin/sh", "-c", text, NULL};
	struct spawn s = program(argv);

	return run(&s);
}

static int cat(const char *path)
{
	const char *const argv[] = {"/bin/cat", path, NULL};
	struct spawn s = program(argv);

	return run(&s);
}

/* The value of "Name:\tvalue\n" in out. */
static struct str field(const char *name)
{
	struct str rest = buf_view(&out);

	while (rest.n) {
		struct str line = str_cut(&rest, '\n');

		if (str_starts(line, str_c(name)))
			return str_trim(str_skip(line, strlen(name)), ": \t");
	}
	return str_c("(absent)");
}

/* The word at a place of /proc/PID/stat, counted from 1 as proc(5) does. */
static long stat_word(int place)
{
	struct str rest = buf_view(&out), word = rest;

	for (int i = 0; i < place; i++)
		word = str_cut(&rest, ' ');
	return word.n ? strtol(word.p, NULL, 10) : -1;
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void check_fds(void)
{
	static const char list[] =
		"i=0; while [ $i -lt 400 ]; do "
		"[ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done; :";
	int extra[20];

	for (int i = 0; i < 20; i++)
		extra[i] = fcntl(STDERR_FILENO, F_DUPFD, i * 17); /* without CLOEXEC */
	is_int(shell(list), 0, "a child counts its descriptors");
	is_view(buf_view(&out), "0\n1\n2\n", "it has 0, 1 and 2 and no other");
	for (int i = 0; i < 20; i++)
		fd_close(&extra[i]);
	is_int(shell("readlink /proc/$$/fd/0 /proc/$$/fd/2"), 0, "where they lead");
	is_view(buf_view(&out), "/dev/null\n/dev/null\n", "-1 is /dev/null");
	cat("/proc/self/fdinfo/1");
	is_int(strtol(field("flags").p, NULL, 8) & O_NONBLOCK, 0,
		"standard output blocks, as programs expect");
}

static void nothing(int signo)
{
	(void)signo;
}

static void check_signals(void)
{
	sigset_t some, before;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGRTMIN + 3, SIG_IGN);
	signal(SIGUSR1, nothing);
	sigemptyset(&some);
	sigaddset(&some, SIGTERM);
	sigaddset(&some, SIGCHLD);
	sigprocmask(SIG_BLOCK, &some, &before);
	is_int(cat("/proc/self/status"), 0, "a child looks at its signals");
	is_view(field("SigBlk"), "0000000000000000", "none is blocked");
	/* Signals 32 and 33 are the C library's own; make's posix_spawn ignores them. */
	is_int(strtoull(field("SigIgn").p, NULL, 16) & ~0x180000000ull, 0,
		"none is ignored, SIGPIPE neither");
	is_view(field("SigCgt"), "0000000000000000", "none is caught");
	sigprocmask(SIG_SETMASK, NULL, &some);
	ok(sigismember(&some, SIGTERM) == 1 && sigismember(&some, SIGUSR2) == 0,
		"the caller's mask is as it was");
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
}

static void check_session(void)
{
	cat("/proc/self/stat");
	ok(stat_word(1) > 0 && stat_word(1) == stat_word(5), "a child leads its group");
	is_int(stat_word(6), stat_word(1), "and its session");
	is_int(stat_word(7), 0, "which has no terminal");
	is_int(shell(": </dev/tty"), 2, "so that nobody's terminal can be opened");
}

static void check_tty(void)
{
	const char *const argv[] = {"/bin/sh", "-c",
		"test -t 0 && test -t 1 && test -t 2 && : </dev/tty && exec cat "
		"/proc/self/stat",
		NULL};
	struct spawn s = program(argv);
	struct spawn_report e;
	pid_t pid = 0;
	int master = -1;

	is_int(pty_open(24, 80, &master, &s.tty), 0, "a pty");
	is_int(start(&s, &pid, &e), 0, "a child on it");
	fd_close(&s.tty);
	read_all(master);
	is_int(end_of(pid), 0,
		"its three descriptors are the terminal, and so is /dev/tty");
	is_int(stat_word(1), pid, "its pid is the one we were told");
	is_int(stat_word(6), pid, "it leads a session");
	ok(stat_word(7) != 0, "the terminal is the session's own");
	is_int(stat_word(8), pid, "and in the foreground");
	fd_close(&master);
}

static void check_cwd(void)
{
	static const char *const argv[] = {"/bin/pwd", NULL};
	struct spawn_user nobody = {.uid = NOBODY, .gid = NOBODY};
	struct spawn s = program(argv);
	char closed[] = "/tmp/od-spawn-XXXXXX";

	s.cwd = "/proc";
	is_int(run(&s), 0, "a directory");
	is_view(buf_view(&out), "/proc\n", "the child starts in it");
	s.cwd = "/nowhere/at/all";
	run(&s);
	is_view(buf_view(&out), "/\n", "without the directory it starts in /");
	s.cwd = "/etc/passwd";
	run(&s);
	is_view(buf_view(&out), "/\n", "the same if it is a file");
	if (!mkdtemp(closed) || geteuid()) {
		skip("a directory that the child's user may not enter", "needs root");
	} else {
		s.cwd = closed;
		s.user = &nobody;
		run(&s);
		is_view(buf_view(&out), "/\n", "the same if its user may not enter it");
		is_int(spawn_check_folder(&nobody, closed), -EACCES,
			"spawn_try_folder tries with the identity of that user");
		is_int(spawn_check_folder(NULL, closed), 0,
			"spawn_try_folder tries with the present identity");
	}
	is_int(spawn_check_folder(NULL, "/nowhere/at/all"), -ENOENT,
		"spawn_try_folder fails without the directory");
	is_int(spawn_check_folder(NULL, "/etc/passwd"), -ENOTDIR,
		"spawn_try_folder fails if it is a file");
	rmdir(closed);
}

/* A folder that the child enters after its directory, with arguments of its own. */
static void check_folder(void)
{
	static const char *const argv[] = {"/bin/sh", "-c", "pwd", NULL};
	static const char *const inside[] = {"/bin/sh", "-c", "echo in; pwd", NULL};
	struct spawn s = program(argv);

	s.cwd = "/usr";
	s.folder = "/proc";
	s.folder_argv = inside;
	is_int(run(&s), 0, "a folder after the directory");
	is_view(buf_view(&out), "in\n/proc\n", "the child runs in the folder");
	s.folder = "/nowhere/at/all";
	is_int(run(&s), 0, "a folder that is missing");
	is_view(buf_view(&out), "/usr\n", "the child runs in its directory");
	s.folder = "/proc";
	s.cwd = "/nowhere/at/all";
	s.cwd_needed = true;
	is_int(run(&s), -ENOENT, "a folder does not take the place of a directory");
}

static void check_environment(void)
{
	setenv("MARK", "not this one", 1);
	shell("echo \"$MARK\"");
	is_view(buf_view(&out), "here\n", "the environment is the one given");
}

static void check_oom(void)
{
	char score[16] = "";
	int fd = fd_open("/proc/self/oom_score_adj", O_RDONLY, 0);

	cat("/proc/self/oom_score_adj");
	is_view(buf_view(&out), "500\n", "the kernel ends a child before us");
	if (fd < 0 || read(fd, score, sizeof(score) - 1) < 0)
		return;
	ok(strtol(score, NULL, 10) < 500, "our own score stays");
	fd_close(&fd);
}

static void check_user(void)
{
	struct spawn_user user = {
		.uid = NOBODY, .gid = 100, .ngroups = 2, .groups = {7, 65000}};
	const char *const argv[] = {"/bin/cat", "/proc/self/status", NULL};
	struct spawn s = program(argv);

	if (geteuid()) {
		skip("another identity", "needs root");
		return;
	}
	s.user = &user;
	is_int(run(&s), 0, "a child of another user");
	is_view(field("Uid"), "65534\t65534\t65534\t65534", "real, effective, saved uid");
	is_view(field("Gid"), "100\t100\t100\t100", "and gid");
	is_view(field("Groups"), "7 65000", "its groups and none of ours");
	is_view(field("CapEff"), "0000000000000000", "no capability is left");
	user = (struct spawn_user){.uid = (uid_t)-1, .gid = 5};
	is_int(run(&s), 0, "uid -1");
	is_view(field("Gid"), "0\t0\t0\t0", "keeps the identity");
}

static void check_limits(void)
{
	static const int which[] = {RLIMIT_NOFILE, RLIMIT_CORE};
	struct rlimit before[2], low;
	char want[32];

	for (int i = 0; i < 2; i++) {
		getrlimit(which[i], &before[i]);
		low = before[i];
		low.rlim_cur = i ? 4096 : 77;
		setrlimit(which[i], &low);
	}
	shell("ulimit -n");
	snprintf(want, sizeof(want), "%llu\n", (unsigned long long)before[0].rlim_cur);
	is_view(buf_view(&out), want, "a child has the limit that we were started with");
	shell("ulimit -c");
	ok(!str_eq(buf_view(&out), STR("8\n")), "and its core files too");
	for (int i = 0; i < 2; i++)
		setrlimit(which[i], &before[i]);
}

/* In a child of our own: the sources of 0, 1 and 2 are 0, 1 and 2. */
static int crossed(int a, int b)
{
	const char *const argv[] = {"/bin/sh", "-c", "echo one; echo two >&2", NULL};
	struct spawn s = program(argv);
	struct spawn_report e;
	pid_t pid = 0;

	if (dup2(a, 1) < 0 || dup2(b, 2) < 0)
		return 1;
	s.fds[1] = 2;
	s.fds[2] = 1;
	return start(&s, &pid, &e) ? 2 : end_of(pid);
}

static void check_crossed(void)
{
	int a[2], b[2];
	pid_t pid;

	if (fd_pipe(a) < 0 || fd_pipe(b) < 0)
		return;
	pid = fork();
	if (pid == 0)
		_exit(crossed(a[1], b[1]));
	fd_close(&a[1]);
	fd_close(&b[1]);
	read_all(a[0]);
	is_view(buf_view(&out), "two\n", "2 of the child is 1 of ours");
	read_all(b[0]);
	is_view(buf_view(&out), "one\n", "1 of the child is 2 of ours");
	is_int(end_of(pid), 0, "and it ends well");
	fd_close(&a[0]);
	fd_close(&b[0]);
}

/* A parent whose standard descriptors are closed: all of ours are low numbers. */
static int without_stdio(int answer)
{
	const char *const argv[] = {"/bin/sh", "-c", "echo well", NULL};
	struct spawn s = program(argv);
	struct spawn_report e;
	pid_t pid = 0;
	int missing;

	for (int i = 0; i < 3; i++)
		close(i);
	s.fds[1] = answer;
	if (start(&s, &pid, &e) || end_of(pid))
		return 1;
	s.path = "/nowhere";
	missing = start(&s, &pid, &e);
	return missing == -ENOENT ? 0 : 2;
}

static void check_without_stdio(void)
{
	int pair[2];
	pid_t pid;

	if (fd_pipe(pair) < 0)
		return;
	pid = fork();
	if (pid == 0)
		_exit(without_stdio(pair[1]));
	fd_close(&pair[1]);
	read_all(pair[0]);
	is_view(buf_view(&out), "well\n", "a parent without standard input and output");
	is_int(end_of(pid), 0, "still learns of failures");
	fd_close(&pair[0]);
}

static void check_failure(struct spawn *s, int want, const char *step, const char *name)
{
	struct spawn_report e = {.step = "none"};
	int before = count_fds();
	pid_t pid = 4711;

	is_int(start(s, &pid, &e), want, "%s fails", name);
	is_str(e.step, step, "%s: the step in words", name);
	is_int(pid, 4711, "%s: no pid", name);
	is_int(count_fds(), before, "%s: no descriptor is left", name);
	is_int(waitpid(-1, NULL, WNOHANG), -1, "%s: no zombie is left", name);
}

static void check_no_program(void)
{
	static const char *const argv[] = {"/nowhere", NULL};
	struct spawn s = program(argv);

	check_failure(&s, -ENOENT, "executing the program", "a missing program");
	s.path = "/etc/passwd";
	check_failure(&s, -EACCES, "executing the program", "a file without x");
	s.path = "/tmp";
	check_failure(&s, -EACCES, "executing the program", "a directory");
}

static void check_no_tty(void)
{
	static const char *const argv[] = {"/bin/cat", NULL};
	struct spawn s = program(argv);
	struct spawn_report e;
	int master = -1;
	pid_t pid = 0;

	s.tty = fd_open("/dev/null", O_RDWR, 0);
	check_failure(&s, -ENOTTY, "taking the terminal", "a terminal that is none");
	fd_close(&s.tty);
	is_int(pty_open(24, 80, &master, &s.tty), 0, "a pty");
	is_int(start(&s, &pid, &e), 0, "with a session");
	is_int(start(&s, &pid, &e), -ENOTTY, "a terminal of another session");
	is_str(e.step, "taking the terminal", "is not taken over");
	fd_close(&s.tty);
	fd_close(&master);
	ok(waitpid(pid, NULL, 0) == pid, "the first child goes with the terminal");
}

/* A file system whose server never answers: entering it takes for ever. */
static int hang(const char *dir)
{
	char options[80];
	int fd = fd_open("/dev/fuse", O_RDWR, 0);

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0",
		fd);
	if (fd >= 0 && mount("none", dir, "fuse", 0, options) < 0)
		fd_close(&fd);
	return fd;
}

static void check_hanging(void)
{
	static const char *const argv[] = {"/bin/true", NULL};
	char dir[] = "/tmp/od-spawn-XXXXXX";
	struct spawn s = program(argv);
	struct spawn_report e = {.step = "none"};
	pid_t pid = 0;
	int fd = mkdtemp(dir) ? hang(dir) : -1;

	if (fd < 0) {
		skip("a directory that hangs", "needs root and FUSE");
		rmdir(dir);
		return;
	}
	s.cwd = dir;
	is_int(spawn(&s, &pid, &e), 0, "a directory that hangs holds the child up only");
	while (strcmp(e.step, "entering a directory") &&
		spawn_read_outcome(&e) == -EAGAIN)
		poll(NULL, 0, 1);
	is_int(spawn_read_outcome(&e), -EAGAIN, "nobody knows what comes of it");
	is_str(e.step, "entering a directory", "but where it is");
	kill(pid, SIGKILL);
	umount2(dir, MNT_DETACH);
	fd_close(&fd);
	is_int(end_of(pid), 1000 + SIGKILL, "it can be killed");
	is_int(spawn_read_outcome(&e), -EINTR, "that it never ran is known");
	is_str(e.step, "entering a directory", "and how far it came");
	is_int(e.fd, -1, "no descriptor is left");
	rmdir(dir);
}

/* All that a process without capabilities can be refused; 0 when all is right. */
static int unprivileged(void)
{
	static const char *const argv[] = {"/bin/true", NULL};
	struct spawn_user other = {.uid = 1, .gid = 1};
	struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
	struct spawn s = program(argv);
	struct spawn_report e;
	pid_t pid = 0;

	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	s.user = &other;
	if (start(&s, &pid, &e) != -EPERM || !strstr(e.step, "group id"))
		return 2;
	other.gid = NOBODY;
	if (start(&s, &pid, &e) != -EPERM || !strstr(e.step, "user id"))
		return 3;
	other.uid = NOBODY;
	if (start(&s, &pid, &e) != 0 || end_of(pid))
		return 4;
	setrlimit(RLIMIT_NPROC, &none);
	s.user = NULL;
	if (start(&s, &pid, &e) != -EAGAIN || strcmp(e.step, "forking"))
		return 5;
	return 0;
}

static void check_unprivileged(void)
{
	pid_t pid;

	if (geteuid()) {
		skip("without capabilities", "needs root to begin with");
		return;
	}
	pid = fork();
	if (pid == 0)
		_exit(unprivileged());
	is_int(end_of(pid), 0,
		"without capabilities: no other group, no other user, our own identity, "
		"no fork");
}

/* Every number of free descriptors, from none on: an error in words or a child. */
static void check_no_descriptors(void)
{
	static const char *const argv[] = {"/bin/true", NULL};
	struct spawn s = program(argv);
	struct spawn_report e = {.step = NULL};
	struct rlimit before, low;
	int failed = 0, r = -1;
	pid_t pid;

	getrlimit(RLIMIT_NOFILE, &before);
	low = before;
	for (low.rlim_cur = 3; r && low.rlim_cur < 30; low.rlim_cur++) {
		setrlimit(RLIMIT_NOFILE, &low);
		r = start(&s, &pid, &e);
		setrlimit(RLIMIT_NOFILE, &before);
		if (r != 0 && (r != -EMFILE || !e.step))
			ok(false, "%d descriptors: %d", (int)low.rlim_cur, r);
		failed += r != 0;
	}
	ok(failed > 0 && r == 0, "too few descriptors are an error, enough are a child");
	if (r == 0)
		is_int(end_of(pid), 0, "which runs");
}

int main(void)
{
	spawn_save_limits();
	check_fds();
	check_signals();
	check_session();
	check_tty();
	check_cwd();
	check_folder();
	check_environment();
	check_oom();
	check_user();
	check_limits();
	check_crossed();
	check_without_stdio();
	check_no_program();
	check_no_tty();
	check_hanging();
	check_unprivileged();
	check_no_descriptors();
	buf_free(&out);
	return done_testing();
}
