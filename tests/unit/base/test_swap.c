#include "base/atomic_file.h"
#include "base/fd.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static char top[] = "/tmp/od-swap-XXXXXX";
static int dir;

static const struct str parts[] = {{"one ", 4}, {NULL, 0}, {"t\0o\n", 4}};

static void check_content(const char *name, const char *want, size_t n)
{
	char got[64];
	int fd = fd_openat(dir, name, O_RDONLY, 0);
	ssize_t len = read(fd, got, sizeof(got));

	is_mem(got, len < 0 ? 0 : (size_t)len, want, n, "content of %s", name);
	fd_close(&fd);
}

static void put(const char *name, const char *text)
{
	int fd = fd_openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd_write_all(fd, text, strlen(text)))
		ok(false, "cannot prepare %s", name);
	fd_close(&fd);
}

static size_t count_names(void)
{
	DIR *d = opendir(top);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

static int swap(const char *name, mode_t mode, uid_t uid, int *attr_err)
{
	struct atomic_file_attr attr = {mode, uid, (gid_t)uid};

	return atomic_file_write(dir, name, &attr, parts, ARRAY_LEN(parts), attr_err);
}

static void check_new_and_old(void)
{
	struct stat st;
	int given = -1;

	is_int(swap("new", 0640, geteuid(), NULL), 0, "a new file");
	check_content("new", "one t\0o\n", 8);
	is_int(fstatat(dir, "new", &st, 0) || (st.st_mode & 07777) != 0640, 0, "mode");
	put("old", "the old text");
	is_int(swap("old", 0664, geteuid(), &given), 0, "an old file");
	is_int(given, 0, "with owner and mode");
	check_content("old", "one t\0o\n", 8);
	is_int(count_names(), 2, "no neighbour stays");
	is_int(mkdirat(dir, "d", 0755), 0, "a folder");
	is_int(swap("d", 0664, geteuid(), NULL), -EISDIR, "is not replaced");
	is_int(swap("no/where", 0664, geteuid(), NULL), -ENOENT, "a missing folder");
	is_int(count_names(), 3, "no neighbour stays after failures");
}

static void check_set_id(void)
{
	struct stat st;

	if (geteuid() != 0) {
		skip("set-id bits outlive the change of owner", "needs root");
		return;
	}
	is_int(swap("suid", 04755, NOBODY, NULL), 0, "a set-id file of another user");
	is_int(fstatat(dir, "suid", &st, 0), 0, "is there");
	is_int(st.st_mode & 07777, 04755, "set-id bits outlive the change of owner");
	is_int(st.st_uid, NOBODY, "owner");
	is_int(st.st_gid, NOBODY, "group");
}

/* Runs in a child, so that lost rights and limits stay there. */
static void in_child(int (*run)(void), const char *name)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	is_int(status, 0, "%s", name);
}

static int no_right_to_give(void)
{
	int given = 0;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 10;
	if (swap("new", 0600, 0, NULL) != -EPERM)
		return 11;
	if (swap("mine", 0600, 0, &given) != 0 || given != -EPERM)
		return 12;
	return 0;
}

static int file_too_large(void)
{
	struct rlimit limit = {.rlim_cur = 5, .rlim_max = 5};

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		return 10;
	return swap("old", 0600, geteuid(), NULL) == -EFBIG ? 0 : 11;
}

static int no_right_to_make(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		return 10;
	return swap("old", 0600, NOBODY, NULL) == -EACCES ? 0 : 11;
}

static void check_failures(void)
{
	size_t before;

	put("old", "kept");
	before = count_names();
	in_child(file_too_large, "a limit in the middle of the text");
	check_content("old", "kept", 4);
	is_int(count_names(), before, "no neighbour stays");
	if (geteuid() != 0) {
		skip("rights of another user", "needs root");
		return;
	}
	in_child(no_right_to_make, "a folder that is not ours");
	is_int(fchmod(dir, 0777), 0, "a folder for all");
	in_child(no_right_to_give, "an owner that cannot be given");
	check_content("mine", "one t\0o\n", 8);
	is_int(count_names(), before + 1, "no neighbour stays");
}

int main(void)
{
	static const char *const made[] = {"new", "old", "suid", "mine"};

	if (!mkdtemp(top))
		return 1;
	dir = fd_open(top, O_RDONLY | O_DIRECTORY, 0);
	check_new_and_old();
	check_set_id();
	check_failures();
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		unlinkat(dir, made[i], 0);
	unlinkat(dir, "d", AT_REMOVEDIR);
	is_int(rmdir(top), 0, "nothing is left");
	return done_testing();
}
