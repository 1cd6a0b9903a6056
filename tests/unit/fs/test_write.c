#include "base/fd.h"
#include "fs/write.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { NOBODY = 65534, SMALL_DISK = 64 << 10 };

static char top[] = "/tmp/od-write-XXXXXX";
static enum put_how how;
static struct buf why = BUF_INIT(FILE_WORDS_MAX);

static const struct line_range all = {0, -1};

static int write_text(const char *sent, struct line_range range, struct str text)
{
	struct write_req q = {.range = range, .content = text};
	struct file_path p;
	int r;

	buf_reset(&why);
	r = file_path_make(&p, str_c(top), str_c(sent), &why);
	q.path = &p;
	return r ? r : file_write(&q, &how, &why);
}

static int write_path(const char *sent, struct line_range range, const char *text)
{
	return write_text(sent, range, str_c(text));
}

static void put(const char *name, const char *p, size_t n)
{
	int fd = fd_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd_write_all(fd, p, n))
		ok(false, "cannot prepare %s", name);
	fd_close(&fd);
}

static struct str content_of(const char *name)
{
	static char text[1024];
	int fd = fd_open(name, O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	fd_close(&fd);
	return n < 0 ? STR("(unreadable)") : str_make(text, (size_t)n);
}

/* The words with the test's folder as T. */
static const char *words(void)
{
	static char text[FILE_WORDS_MAX];
	struct str rest = buf_view(&why);
	size_t n = 0;

	while (rest.n && n < sizeof(text) - 1) {
		bool here = str_starts(rest, str_c(top));

		text[n++] = here ? 'T' : rest.p[0];
		rest = str_skip(rest, here ? strlen(top) : 1);
	}
	text[n] = '\0';
	return text;
}

/* Whether the words begin so; what to do about it follows. */
static bool says(const char *begin)
{
	return str_starts(str_c(words()), str_c(begin));
}

static ino_t inode(const char *name)
{
	struct stat st;

	return stat(name, &st) ? 0 : st.st_ino;
}

static int mode(const char *name)
{
	struct stat st;

	return stat(name, &st) ? -1 : (int)(st.st_mode & 07777);
}

/* Files of ours that a failure left behind. */
static int leftovers(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += strncmp(e->d_name, ".od-", 4) == 0;
	if (d)
		closedir(d);
	return n;
}

static void check_new(void)
{
	is_int(write_path("n", all, "a"), 0, "a new file");
	is_int(how, PUT_NEW, "is new");
	is_view(content_of("n"), "a\n", "and ends with a newline more");
	is_int(mode("n"), 0664, "its mode is no matter of umask");
	is_int(write_path("n2", (struct line_range){5, 9}, "a\n"), 0, "with a range");
	is_view(content_of("n2"), "a\n\n", "that means nothing");
	is_int(write_path("n3", all, ""), 0, "nothing");
	is_view(content_of("n3"), "\n", "is an empty line");
	is_int(write_text("n4", all, str_make("a\0b\r\n", 5)), 0, "bytes of all kinds");
	is_mem(content_of("n4").p, content_of("n4").n, "a\0b\r\n\n", 6, "stay");
	is_int(write_path("p/q/r", all, "deep"), 0, "a file in new folders");
	is_view(content_of("p/q/r"), "deep\n", "is there");
	is_int(write_path("/", all, ""), -EISDIR, "the root");
}

static void check_owner(void)
{
	struct stat st;

	if (geteuid() != 0) {
		skip("owner of what is new", "needs root");
		return;
	}
	is_int(write_path("o/p/f", all, "x"), 0, "a file of somebody's");
	is_int(chown("o/p/f", 1234, 4321), 0, "another owner");
	is_int(chmod("o/p/f", 04751), 0, "a mode");
	is_int(write_path("o/p/f", all, "y"), 0, "written by root");
	is_int(how, PUT_REPLACED, "is replaced");
	is_int(stat("o/p/f", &st) || st.st_uid != 1234 || st.st_gid != 4321, 0,
		"keeps its owner");
	is_int(st.st_mode & 07777, 04751, "and its mode");
	unlink("o/p/f");
	rmdir("o/p");
	rmdir("o");
}

struct range_row {
	struct line_range range;
	const char *want;
};

static void check_ranges(void)
{
	static const struct range_row rows[] = {
		{{0, -1}, "X\nY\n"},
		{{1, -1}, "one\nX\nY\n"},
		{{1, 2}, "one\nX\nY\nthree"},
		{{1, 1}, "one\nX\nY\ntwo\nthree"},
		{{0, 0}, "X\nY\none\ntwo\nthree"},
		{{2, 1}, "one\ntwo\nX\nY\ntwo\nthree"},
		{{9, -1}, "one\ntwo\nthreeX\nY\n"},
		{{9, 10}, "one\ntwo\nthreeX\nY\n"},
		{{-1, -1}, "one\ntwo\nX\nY\n"},
		{{-1, -2}, "one\ntwo\nX\nY\ntwo\nthree"},
		{{-9, 2}, "X\nY\nthree"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int start = (int)rows[i].range.start, end = (int)rows[i].range.end;

		put("lines", "one\ntwo\nthree", 13);
		is_int(write_path("lines", rows[i].range, "X\nY"), 0, "write (%d, %d)",
			start, end);
		is_view(content_of("lines"), rows[i].want, "lines (%d, %d)", start, end);
	}
	put("lines", "one\r\ntwo\rthree\n", 15);
	is_int(write_path("lines", (struct line_range){1, 2}, "X"), 0, "other line ends");
	is_view(content_of("lines"), "one\r\nX\nthree\n", "stay as they are");
	put("lines", "", 0);
	is_int(write_path("lines", (struct line_range){3, 4}, "X"), 0, "into nothing");
	is_view(content_of("lines"), "X\n", "is all there is");
}

static void check_refused(void)
{
	put("latin",
		"stra\xdf"
		"e\n",
		7);
	is_int(write_path("latin", all, "x"), ERR_UTF8, "over what is no UTF-8");
	is_str(words(), "File could not be decoded as utf-8: T/latin", "its words");
	is_int(write_path("latin", (struct line_range){1, 2}, "x"), ERR_UTF8,
		"a line of it");
	is_view(content_of("latin"),
		"stra\xdf"
		"e\n",
		"it stays");
	is_int(write_path(".", all, "x"), ERR_TYPE, "a folder");
	is_str(words(), "Path is a directory: T. You can only write to files",
		"its words");
	is_int(write_path("..", all, "x"), -EISDIR, "a folder by its other name");
	ok(strstr(words(), "Path is a directory: "), "its words");
	is_int(mkfifo("fifo", 0644), 0, "a pipe");
	is_int(write_path("fifo", all, "x"), ERR_TYPE, "is refused");
	is_str(words(), "Path is a named pipe: T/fifo. You can only write to files",
		"its words");
	is_int(write_path("latin/x", all, "x"), -ENOTDIR, "a file as a folder");
	is_str(words(), "File could not be written: T/latin/x: Not a directory",
		"its words");
	is_int(symlink("gone/x", "lost"), 0, "a link into nowhere");
	is_int(write_path("lost", all, "x"), -ENOENT, "has no folder");
	is_str(words(), "File not found: T/lost", "its words");
	is_int(truncate("latin", FILE_READ_MAX + 1), 0, "a large file");
	is_int(write_path("latin", (struct line_range){0, 1}, "x"), ERR_LIMIT,
		"lines of it");
	is_str(words(),
		"File is too large: T/latin has 16777217 bytes, and lines can be "
		"replaced in at most 16777216 bytes. Use `start` 0 and `end` -1 to "
		"replace all",
		"its words");
	is_int(leftovers("."), 0, "nothing is left behind");
}

static void check_inodes(void)
{
	ino_t old;

	put("f", "old", 3);
	old = inode("f");
	is_int(write_path("f", all, "new"), 0, "a file of one name");
	is_int(how, PUT_REPLACED, "is replaced");
	ok(inode("f") != old, "by another inode");
	is_int(symlink("f", "link"), 0, "a link");
	is_int(write_path("link", all, "linked"), 0, "is followed");
	is_view(content_of("f"), "linked\n", "to its target");
	ok(readlink("link", (char[8]){0}, 8) == 1, "and stays a link");
	is_int(symlink("made", "dangling"), 0, "a link to what is not there yet");
	is_int(write_path("dangling", all, "x"), 0, "makes it");
	is_view(content_of("made"), "x\n", "where it leads");
	is_int(link("f", "twin"), 0, "a second name");
	old = inode("f");
	is_int(write_path("twin", all, "both of them, and longer"), 0, "is written");
	is_int(how, PUT_IN_PLACE, "in place");
	is_view(content_of("f"), "both of them, and longer\n", "under both names");
	ok(inode("f") == old, "the same inode");
	is_int(write_path("f", (struct line_range){0, 0}, "short"), 0, "grown in place");
	is_view(content_of("twin"), "short\nboth of them, and longer\n", "all of it");
	is_int(write_path("f", all, "short"), 0, "and cut");
	is_view(content_of("twin"), "short\n", "all of it");
}

static void check_xattr(void)
{
	char value[4] = "";

	put("attr", "old", 3);
	if (setxattr("attr", "user.note", "kept", 4, 0)) {
		skip("extended attributes", "the file system has none");
		return;
	}
	is_int(write_path("attr", all, "new"), 0, "a file with an attribute");
	is_int(how, PUT_REPLACED, "is replaced");
	is_int(getxattr("attr", "user.note", value, 4), 4, "and keeps it");
	is_view(content_of("attr"), "new\n", "with the new text");
}

/* version 2; u::rw- u:1234:rw- g::r-- m::rw- o::--- */
static const unsigned char acl[] = {2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6,
	0, 0xd2, 4, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 6, 0, 255, 255, 255, 255,
	32, 0, 0, 0, 255, 255, 255, 255};
#define ACL "system.posix_acl_access"

static void check_acl(void)
{
	char got[2 * sizeof(acl)];
	struct stat st;
	ssize_t n;

	is_int(mkdir("acl", 0755), 0, "a folder");
	put("acl/plain", "old", 3);
	put("acl/own", "old", 3);
	is_int(chmod("acl/plain", 0640), 0, "and a file in it");
	if (setxattr("acl/own", ACL, acl, sizeof(acl), 0) ||
		setxattr("acl", "system.posix_acl_default", acl, sizeof(acl), 0)) {
		skip("ACLs", "the file system has none");
	} else {
		is_int(write_path("acl/plain", all, "new"), 0, "a file without an ACL");
		is_int(how, PUT_REPLACED, "is replaced");
		is_int(getxattr("acl/plain", ACL, got, sizeof(got)), -1,
			"and gets none from its folder");
		is_int(stat("acl/plain", &st) || (st.st_mode & 07777) != 0640, 0,
			"nor another mode");
		is_int(write_path("acl/own", all, "new"), 0, "a file with an ACL");
		is_int(how, PUT_REPLACED, "is replaced");
		n = getxattr("acl/own", ACL, got, sizeof(got));
		is_mem(got, n < 0 ? 0 : (size_t)n, acl, sizeof(acl), "and keeps it");
		is_int(write_path("acl/new", all, "new"), 0, "a new file");
		ok(getxattr("acl/new", ACL, got, sizeof(got)) > 0,
			"has that of its folder");
	}
	unlink("acl/plain");
	unlink("acl/own");
	unlink("acl/new");
	rmdir("acl");
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
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0, "%s", name);
}

static int limit_files(rlim_t n)
{
	struct rlimit limit = {.rlim_cur = n, .rlim_max = n};

	signal(SIGXFSZ, SIG_IGN);
	return setrlimit(RLIMIT_FSIZE, &limit);
}

/* The limit strikes in the middle of a write, as a full disk does. */
static int limited(void)
{
	if (limit_files(4))
		return 10;
	if (write_path("f", all, "longer") != -EFBIG)
		return 11;
	if (!says("File could not be written: T/f: File too large. "))
		return 12;
	if (!str_eq(content_of("f"), STR("old")))
		return 13;
	if (write_path("twin", all, "longer than that") != -EFBIG)
		return 14;
	if (!says("File could not be written: T/twin: File too large. "))
		return 15;
	if (!str_eq(content_of("twin"), STR("twin")))
		return 16;
	if (write_path("fresh", all, "longer") != -EFBIG)
		return 17;
	return access("fresh", F_OK) ? leftovers(".") : 18;
}

/* Another user in a folder where he may change files but not make any. */
static int as_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		return 10;
	if (write_path("open", all, "his") || how != PUT_IN_PLACE)
		return 11;
	if (!str_eq(content_of("open"), STR("his\n")))
		return 12;
	if (write_path("closed", all, "his") != -EACCES)
		return 13;
	if (!says("File could not be written: T/closed: Permission denied. "))
		return 14;
	if (write_path("none", all, "his") != -EACCES)
		return 15;
	if (write_path("x/none", all, "his") != -EACCES)
		return 16;
	/* In a folder of all, what is another's keeps its owner. */
	if (write_path("shared/root", all, "his") || how != PUT_IN_PLACE)
		return 17;
	if (write_path("shared/gift", all, "x") || how != PUT_NEW)
		return 18;
	return str_eq(content_of("shared/gift"), STR("x\n")) ? leftovers(".") : 19;
}

static void check_rights(void)
{
	struct stat st;

	put("f", "old", 3);
	unlink("twin");
	put("twin", "twin", 4);
	is_int(link("twin", "third"), 0, "a second name");
	in_child(limited, "a limit of file sizes");
	if (geteuid() != 0) {
		skip("rights of another user", "needs root");
		return;
	}
	put("open", "old", 3);
	put("closed", "old", 3);
	is_int(mkdir("shared", 0777), 0, "a folder");
	put("shared/root", "old", 3);
	is_int(chmod("shared", 0777) || chmod("open", 0666) ||
			chmod("shared/root", 0666) || chmod(".", 0755),
		0, "its rights");
	in_child(as_nobody, "another user");
	is_view(content_of("closed"), "old", "what is closed stays");
	is_int(stat("shared/root", &st) || st.st_uid != 0, 0, "owners stay");
	is_int(leftovers("shared"), 0, "nothing is left behind");
	unlink("shared/root");
	unlink("shared/gift");
	rmdir("shared");
}

/* A disk of 64 KiB: every failure leaves the old text and no other file. */
static int full_disk(void)
{
	static char large[2 * SMALL_DISK];
	struct str text = {large, sizeof(large)};

	memset(large, 'x', sizeof(large));
	if (mount("none", "disk", "tmpfs", 0, "size=64k"))
		return 10;
	put("disk/f", "old", 3);
	put("disk/twin", "twin", 4);
	if (link("disk/twin", "disk/other"))
		return 11;
	if (write_text("disk/f", all, text) != -ENOSPC)
		return 12;
	if (!says("File could not be written: T/disk/f: No space left on device. "))
		return 13;
	if (!str_eq(content_of("disk/f"), STR("old")))
		return 14;
	if (write_text("disk/twin", all, text) != -ENOSPC)
		return 15;
	if (!str_eq(content_of("disk/other"), STR("twin")))
		return 16;
	if (write_text("disk/new", all, text) != -ENOSPC)
		return 17;
	if (access("disk/new", F_OK) == 0 || leftovers("disk"))
		return 18;
	return 0;
}

static int read_only_disk(void)
{
	if (mount("none", "disk", "tmpfs", 0, NULL))
		return 10;
	put("disk/f", "old", 3);
	if (mount("none", "disk", NULL, MS_REMOUNT | MS_RDONLY, NULL))
		return 11;
	if (write_path("disk/f", all, "new") != -EROFS)
		return 12;
	if (!says("File could not be written: T/disk/f: Read-only file system. "))
		return 13;
	if (write_path("disk/new", all, "new") != -EROFS)
		return 14;
	return write_path("disk/d/new", all, "new") == -EROFS ? 0 : 15;
}

/* A file mounted over another, in a folder that may be read-only besides. */
static int mounted_file(void)
{
	if (mount("none", "disk", "tmpfs", 0, NULL))
		return 10;
	put("disk/inner", "inner", 5);
	put("disk/f", "old", 3);
	if (mount("disk/inner", "disk/f", NULL, MS_BIND, NULL))
		return 11;
	if (write_path("disk/f", all, "new") || how != PUT_IN_PLACE)
		return 12;
	if (!str_eq(content_of("disk/inner"), STR("new\n")) || leftovers("disk"))
		return 13;
	if (mount("disk", "disk", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		return 14;
	if (write_path("disk/f", all, "again") || how != PUT_IN_PLACE)
		return 15;
	return str_eq(content_of("disk/f"), STR("again\n")) ? 0 : 16;
}

static void check_disks(void)
{
	is_int(mkdir("disk", 0755), 0, "a place for a disk");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		skip("full disk", "mount is not allowed");
		skip("read-only disk", "mount is not allowed");
		skip("mounted file", "mount is not allowed");
		rmdir("disk");
		return;
	}
	in_child(full_disk, "full disk");
	umount2("disk", MNT_DETACH);
	in_child(read_only_disk, "read-only disk");
	umount2("disk", MNT_DETACH);
	in_child(mounted_file, "mounted file");
	umount2("disk", MNT_DETACH);
	rmdir("disk");
}

int main(void)
{
	static const char *const made[] = {"n", "n2", "n3", "n4", "p/q/r", "lines",
		"latin", "fifo", "lost", "f", "link", "made", "dangling", "twin", "attr",
		"third", "open", "closed"};

	if (!mkdtemp(top) || chdir(top))
		return 1;
	umask(022);
	check_new();
	check_owner();
	check_ranges();
	check_refused();
	check_inodes();
	check_xattr();
	check_acl();
	check_rights();
	check_disks();
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		unlink(made[i]);
	rmdir("p/q");
	rmdir("p");
	is_int(rmdir(top), 0, "nothing is left");
	buf_free(&why);
	return done_testing();
}
