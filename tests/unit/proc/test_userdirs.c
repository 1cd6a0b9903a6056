#include "base/clock.h"
#include "base/fd.h"
#include "proc/userdirs.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AGENT = 1234, GROUP = 4321, MANY = 600 };

static char top[] = "/tmp/od-dirs-XXXXXX";
static struct user agent = {.name = "agent",
	.uid = AGENT,
	.gid = GROUP,
	.groups = {GROUP, 77},
	.groups_n = 2};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

/* The absolute path of a name in the test's folder. */
static const char *in_top(const char *name)
{
	static char paths[64][128];
	static unsigned next;
	char *path = paths[next++ % ARRAY_LEN(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void make(const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	if (mkdir(name, 0755) || chown(name, uid, gid) || chmod(name, mode))
		ok(false, "cannot prepare %s", name);
}

static void put(const char *name)
{
	int fd = fd_open(name, O_WRONLY | O_CREAT, 0644);

	if (fd < 0)
		ok(false, "cannot prepare %s", name);
	fd_close(&fd);
}

static void check_can_write(void)
{
	make("own", 0700, AGENT, 0);
	make("own/closed", 0500, AGENT, 0);
	make("group", 0070, 0, 77);
	make("other", 0757, 0, GROUP);
	make("all", 01777, 0, 0);
	make("locked", 0700, 0, 0);
	make("locked/all", 0777, 0, 0);
	put("file");
	ok(userdirs_can_write(&agent, in_top("own")), "his own folder");
	ok(!userdirs_can_write(&agent, in_top("own/closed")),
		"his own, without the right");
	ok(userdirs_can_write(&agent, in_top("group")), "a folder of his group");
	ok(!userdirs_can_write(&agent, in_top("other")), "his group's mode comes first");
	ok(userdirs_can_write(&agent, in_top("all")), "a folder of all");
	ok(!userdirs_can_write(&agent, in_top("locked")), "root's folder");
	ok(!userdirs_can_write(&agent, in_top("locked/all")), "what he cannot reach");
	ok(!userdirs_can_write(&agent, in_top("file")), "a file");
	ok(!userdirs_can_write(&agent, in_top("none")), "nothing");
	ok(!userdirs_can_write(&agent, "own"), "a relative path");
	ok(userdirs_can_write(&(struct user){.uid = 0}, in_top("locked")), "root may");
}

static void set_home(const char *home)
{
	snprintf(agent.home, sizeof(agent.home), "%s", home);
}

static void check_home(void)
{
	const char *state = in_top("state");
	char out[USER_PATH_MAX] = "";
	struct stat st;

	set_home(in_top("all"));
	is_int(userdirs_find_home(&agent, in_top("own"), state, out), 0, "$HOME");
	is_str(out, in_top("own"), "when he can write there");
	is_int(userdirs_find_home(&agent, in_top("locked"), state, out), 0,
		"not when not");
	is_str(out, in_top("all"), "but his entry's");
	is_int(userdirs_find_home(&agent, NULL, state, out), 0, "without $HOME");
	is_str(out, in_top("all"), "his entry's");
	is_int(userdirs_find_home(&agent, "/", state, out), 0, "$HOME of an unknown uid");
	is_str(out, in_top("all"), "is none");
	set_home("/nonexistent");
	is_int(userdirs_find_home(&agent, "", state, out), 0, "without either");
	is_str(out, in_top("state/home"), "a folder of ours");
	is_int(stat(out, &st) || st.st_uid != AGENT || st.st_mode != (S_IFDIR | 0700), 0,
		"for him alone");
	is_int(userdirs_find_home(&agent, "relative", state, out), 0, "a second time");
	is_str(out, in_top("state/home"), "the same");
	set_home("/");
	memcpy(out, "kept", 5);
	is_int(userdirs_find_home(&agent, NULL, in_top("file"), out), -ENOTDIR,
		"no state");
	is_int(userdirs_find_home(&agent, NULL, in_top("no/state"), out), -ENOENT,
		"no place for state");
	is_str(out, "kept", "nothing is set by a failure");
	is_int(chown("state/home", 0, 0), 0, "a state of another's");
	is_int(userdirs_find_home(&agent, NULL, state, out), -EACCES, "is no home");
}

static void check_tmp(void)
{
	char out[USER_PATH_MAX] = "";

	is_int(userdirs_find_tmp(&agent, in_top("own"), in_top("state"), out), 0,
		"$TMPDIR");
	is_str(out, in_top("own"), "when he can write there");
	is_int(userdirs_find_tmp(&agent, in_top("locked"), in_top("state"), out), 0,
		"not when not");
	is_str(out, "/tmp", "but the usual place");
	is_int(userdirs_find_tmp(&agent, NULL, in_top("state"), out), 0,
		"without $TMPDIR");
	is_str(out, "/tmp", "the usual place");
}

static uid_t owner(const char *name)
{
	struct stat st;

	return lstat(name, &st) ? (uid_t)-1 : st.st_uid;
}

static void check_work(void)
{
	struct workdir_report w = {.seen = 0};
	struct stat st;

	is_int(userdirs_make_work(in_top("w/x/y"), &agent, 0, UINT64_MAX, &w), 0,
		"a new one");
	is_int(stat("w/x/y", &st), 0, "is there");
	is_int(st.st_mode, S_IFDIR | 0775, "writable for the group");
	is_int(st.st_uid, AGENT, "his");
	is_int(st.st_gid, 0, "of the group that was asked for");
	is_int(owner("w/x"), 0, "the one above is not");
	is_int(umask(022), 022, "the umask is as before");
	put("outside");
	make("w/x/y/d", 0700, 0, 0);
	make("w/x/y/d/e", 0700, 5, 5);
	put("w/x/y/d/e/f");
	put("w/x/y/mine");
	is_int(chown("w/x/y/mine", AGENT, 99) ||
			symlink("../../../outside", "w/x/y/link") ||
			symlink("../../../locked", "w/x/y/dirlink") ||
			mkfifo("w/x/y/fifo", 0600) || chmod("w/x/y", 0755),
		0, "entries of others");
	is_int(userdirs_make_work(in_top("w/x/y"), &agent, 0, UINT64_MAX, &w), 0,
		"the second");
	is_int(w.seen, 8, "all of them");
	is_int(w.changed, 6, "those of others");
	is_int(w.failed, 0, "no failure");
	is_str(w.stopped, NULL, "and no early end");
	is_int(owner("w/x/y/d/e/f"), AGENT, "a file deep down");
	is_int(owner("w/x/y/link"), AGENT, "a link itself");
	is_int(owner("outside"), 0, "but not what it leads to");
	is_int(owner("locked"), 0, "nor a folder that a link leads to");
	is_int(stat("w/x/y/mine", &st) || st.st_gid != 99, 0, "his own file stays");
	is_int(stat("w/x/y", &st) || st.st_mode != (S_IFDIR | 0775), 0, "the top's mode");
}

static void check_bounds(void)
{
	struct workdir_report w = {.seen = 77};
	char name[64];

	make("many", 0755, 0, 0);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		put(name);
	}
	is_int(userdirs_make_work(in_top("many"), &agent, 0, clock_ms(), &w), 0,
		"no time");
	is_str(w.stopped, "no more time", "ends early");
	ok(w.seen < MANY, "with a part of the entries");
	is_int(userdirs_make_work(in_top("many"), &agent, 0, UINT64_MAX, &w), 0,
		"time enough");
	is_int(w.seen, MANY + 1, "all entries");
	is_str(w.stopped, NULL, "to the end");
	make("deep", 0755, 0, 0);
	if (chdir("deep"))
		ok(false, "cannot enter");
	for (int i = 0; i < WORKDIR_DEPTH_MAX + 5; i++)
		if (mkdir("d", 0755) || chdir("d"))
			ok(false, "cannot go deeper");
	is_int(chdir(top), 0, "back");
	is_int(userdirs_make_work(in_top("deep"), &agent, 0, UINT64_MAX, &w), 0,
		"very deep");
	is_int(w.seen, WORKDIR_DEPTH_MAX + 1, "down to the limit");
	is_str(w.stopped, "folders are nested too deeply", "told");
}

static void check_refused(void)
{
	struct workdir_report w = {.seen = 77};

	is_int(userdirs_make_work(in_top("file"), &agent, 0, UINT64_MAX, &w), -ENOTDIR,
		"a file");
	is_int(userdirs_make_work(in_top("file/w"), &agent, 0, UINT64_MAX, &w), -ENOTDIR,
		"in a file");
	is_int(userdirs_make_work("relative", &agent, 0, UINT64_MAX, &w), -EINVAL,
		"a relative path");
	is_int(userdirs_make_work("", &agent, 0, UINT64_MAX, &w), -EINVAL, "no path");
	is_int(w.seen, 77, "nothing is set by a failure");
}

/* Runs in a child, so that lost rights and mounts stay there. */
static void in_child(int (*run)(void), const char *name)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0, "%s", name);
}

static int as_agent(void)
{
	struct workdir_report w = {.seen = 77};
	char out[USER_PATH_MAX];

	if (setgid(GROUP) || setuid(AGENT))
		return 10;
	if (userdirs_make_work(in_top("own/w"), &agent, 0, UINT64_MAX, &w) || w.seen)
		return 11;
	if (userdirs_make_work(in_top("locked/w"), &agent, 0, UINT64_MAX, &w) != -EACCES)
		return 12;
	if (userdirs_make_work(in_top("file2/w"), &agent, 0, UINT64_MAX, &w) != -EACCES)
		return 13;
	if (userdirs_can_write(&agent, in_top("locked/all")))
		return 14;
	return userdirs_find_home(&agent, NULL, in_top("own/state"), out) ? 15 : 0;
}

static int mounted(void)
{
	struct workdir_report w;
	char out[USER_PATH_MAX];

	make("m", 0755, 0, 0);
	make("m/disk", 0755, 0, 0);
	if (mount("none", "m/disk", "tmpfs", 0, NULL))
		return 10;
	put("m/disk/f");
	if (userdirs_make_work(in_top("m"), &agent, 0, UINT64_MAX, &w) || w.failed)
		return 11;
	if (owner("m") != AGENT || owner("m/disk") != 0 || owner("m/disk/f") != 0)
		return 12;
	/* Read-only: nobody can write, every change fails, and that is all. */
	if (mount("none", "m/disk", NULL, MS_REMOUNT | MS_RDONLY, NULL))
		return 13;
	if (userdirs_can_write(&(struct user){.uid = 0}, in_top("m/disk")))
		return 14;
	if (userdirs_make_work(in_top("m/disk"), &agent, 0, UINT64_MAX, &w) ||
		w.failed != 2)
		return 15;
	if (userdirs_make_work(in_top("m/disk/new"), &agent, 0, UINT64_MAX, &w) != -EROFS)
		return 16;
	/* No place for temporary files but our own. */
	if (mount("none", "/dev/shm", "tmpfs", MS_RDONLY, NULL) ||
		mount("none", "/var/tmp", "tmpfs", MS_RDONLY, NULL) || chdir("/") ||
		mount("/usr", "/tmp", NULL, MS_BIND, NULL) || chmod("/var", 0755))
		return 17;
	if (userdirs_find_tmp(&agent, NULL, "/nonexistent/state", out) != -ENOENT)
		return 18;
	return 0;
}

int main(void)
{
	if (geteuid() != 0) {
		skip("all", "needs root");
		return done_testing();
	}
	if (!mkdtemp(top) || chmod(top, 0755) || chdir(top))
		return 1;
	umask(022);
	check_can_write();
	check_home();
	check_tmp();
	check_work();
	check_bounds();
	check_refused();
	in_child(as_agent, "a server that is not root");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip("mounts", "mount is not allowed");
	else
		in_child(mounted, "mounts");
	umount2("/tmp", MNT_DETACH);
	umount2(in_top("m/disk"), MNT_DETACH);
	is_int(nftw(top, remove_entry, 128, FTW_DEPTH | FTW_PHYS | FTW_MOUNT), 0,
		"nothing is left");
	return done_testing();
}
