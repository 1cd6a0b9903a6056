#include "base/fd.h"
#include "proc/user.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static char top[] = "/tmp/od-user-XXXXXX";
static char root[64];
static struct buf notes = BUF_INIT(USER_NOTES_MAX);
static struct user user;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

/* A new, empty root. */
static void fresh(const char *name)
{
	snprintf(root, sizeof(root), "%s/%s", top, name);
	if (mkdir(root, 0755) || chdir(root))
		ok(false, "cannot make %s", root);
}

static void put(const char *path, const char *text)
{
	int fd = fd_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd_write_all(fd, text, strlen(text)))
		ok(false, "cannot prepare %s", path);
	fd_close(&fd);
}

static const char *content_of(const char *path)
{
	static char text[8192];
	int fd = fd_open(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	fd_close(&fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? NULL : text;
}

/* Started under the drop-in's name in a container. */
static bool manage = true, sudo = true;

static void ensure_named(const char *name, uid_t uid, const char *env_user)
{
	struct user_conf w = {
		.root = root,
		.name = str_c(name),
		.uid = uid,
		.shell = "/bin/bash",
		.env_user = env_user,
		.manage = manage,
		.sudo = sudo,
	};

	buf_reset(&notes);
	user_ensure(&w, &user, &notes);
}

static void ensure(void)
{
	ensure_named("openhands", 1000, NULL);
}

static const char *told(void)
{
	const char *text = buf_cstr(&notes);

	return text ? text : "";
}

static const char debian_passwd[] =
	"root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000:Ubuntu:/home/ubuntu:/bin/sh";
static const char debian_group[] = "root:x:0:\nsudo:x:27:ubuntu\nubuntu:x:1000:\n";
static const char debian_sudoers[] = "root ALL=(ALL:ALL) ALL\n";
static const char user_line[] = "openhands:x:1000:0::/home/openhands:/bin/bash\n";

/* An image as Debian's are, with sudo, and without a last newline in passwd. */
static void debian(const char *name)
{
	fresh(name);
	if (mkdir("etc", 0755) || mkdir("home", 0755))
		ok(false, "cannot make etc");
	put("etc/passwd", debian_passwd);
	put("etc/group", debian_group);
	put("etc/shadow", "root:*:1::::::\n");
	put("etc/sudoers", debian_sudoers);
	if (chmod("etc/shadow", 0640) || chown("etc/shadow", 0, 42) ||
		chmod("etc/sudoers", 0440))
		ok(false, "cannot set modes");
}

static void check_debian(void)
{
	struct stat st;

	debian("debian");
	ensure();
	is_int(user.origin, USER_MADE, "a user is made");
	is_str(user.name, "openhands", "name");
	is_int(user.uid, 1000, "uid");
	is_int(user.gid, 0, "gid");
	is_str(user.home, "/home/openhands", "home");
	is_str(user.shell, "/bin/bash", "shell");
	is_int(user.groups_n, 2, "groups");
	is_int(user.groups[1], 27, "sudo among them");
	is_str(content_of("etc/passwd"),
		"root:x:0:0:root:/root:/bin/bash\n"
		"ubuntu:x:1000:1000:Ubuntu:/home/ubuntu:/bin/sh\n"
		"openhands:x:1000:0::/home/openhands:/bin/bash\n",
		"passwd, with the newline that was missing");
	is_str(content_of("etc/group"),
		"root:x:0:\nsudo:x:27:ubuntu,openhands\nubuntu:x:1000:\n", "group");
	is_str(content_of("etc/shadow"), "root:*:1::::::\nopenhands:!:::::::\n",
		"shadow");
	is_str(content_of("etc/sudoers"),
		"root ALL=(ALL:ALL) ALL\n%sudo ALL=(ALL) NOPASSWD:ALL\n", "sudoers");
	is_int(stat("etc/shadow", &st) || st.st_mode != (S_IFREG | 0640) ||
			st.st_gid != 42,
		0, "shadow keeps mode and group");
	is_int(stat("etc/sudoers", &st) || st.st_mode != (S_IFREG | 0440), 0,
		"sudoers keeps its mode");
	is_int(stat("etc/group", &st) || st.st_mode != (S_IFREG | 0644), 0,
		"group keeps its mode");
	is_int(stat("home/openhands", &st) || st.st_uid != 1000 || st.st_gid != 0 ||
			st.st_mode != (S_IFDIR | 0755),
		0, "the home is his");
	is_str(told(),
		"uid 1000 also belongs to user ubuntu\n"
		"add the user to /etc/passwd: done\n"
		"add the user to /etc/shadow: done\n"
		"join the group sudo in /etc/group: done\n"
		"add the line for sudo to /etc/sudoers: done\n"
		"make the home /home/openhands: done\n",
		"all of it is told");
	ensure();
	is_int(user.origin, USER_FOUND, "the second time he is there");
	is_int(user.groups[1], 27, "with his group");
	is_str(told(), "", "and nothing is done");
	ensure_named("openhands", 2000, NULL);
	is_int(user.uid, 1000, "his uid wins");
	is_str(told(), "user openhands has the uid 1000, not 2000\n", "and is told");
}

static void check_lookups(void)
{
	struct user u;

	is_int(user_find_uid(root, 1000, &u), 0, "a user by uid");
	is_str(u.name, "ubuntu", "the first");
	is_str(u.home, "/home/ubuntu", "home");
	is_int(u.groups_n, 2, "his own group and sudo");
	is_int(user_find_uid(root, 1001, &u), -ENOENT, "no such uid");
	is_int(user_find_uid("/nonexistent", 0, &u), -ENOENT, "no passwd");
}

static void check_find(void)
{
	static const struct {
		const char *text;
		int r;
		uid_t uid;
		gid_t gid;
		size_t groups;
		const char *home;
	} cases[] = {
		{"ubuntu", 0, 1000, 1000, 2, "/home/ubuntu"},
		{"1000", 0, 1000, 1000, 2, "/home/ubuntu"},
		{"ubuntu:sudo", 0, 1000, 27, 1, "/home/ubuntu"},
		{"1000:0", 0, 1000, 0, 1, "/home/ubuntu"},
		{"7777", 0, 7777, 0, 1, "/"},
		{"7777:8888", 0, 7777, 8888, 1, "/"},
		{"nosuch", -ENOENT, 0, 0, 0, NULL},
		{"ubuntu:nosuch", -ENOENT, 0, 0, 0, NULL},
		{"", -ENOENT, 0, 0, 0, NULL},
		{":0", -ENOENT, 0, 0, 0, NULL},
		{"0:", -ENOENT, 0, 0, 0, NULL},
		{"-1", -ENOENT, 0, 0, 0, NULL},
		{"4294967295", ERR_RANGE, 0, 0, 0, NULL},
		{"0:4294967295", ERR_RANGE, 0, 0, 0, NULL},
		{"99999999999999999999", ERR_RANGE, 0, 0, 0, NULL},
	};
	struct user u;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		memset(&u, 0, sizeof(u));
		is_int(user_find(root, str_c(cases[i].text), &u), cases[i].r, "user %s",
			cases[i].text);
		is_int(u.uid, cases[i].uid, "%s: uid", cases[i].text);
		is_int(u.gid, cases[i].gid, "%s: gid", cases[i].text);
		is_int(u.groups_n, cases[i].groups, "%s: groups", cases[i].text);
		if (cases[i].home)
			is_str(u.home, cases[i].home, "%s: home", cases[i].text);
	}
	is_int(user_find("/nonexistent", STR("7:8"), &u), 0, "numbers need no files");
}

static void check_scratch(void)
{
	fresh("scratch");
	ensure_named("root", 0, NULL);
	is_int(user.origin, USER_NUMBER, "root needs no entry");
	is_str(user.home, "/root", "but has a home");
	is_int(access("etc", F_OK), -1, "and makes no files");
	ensure();
	is_int(user.origin, USER_MADE, "a user in an image without anything");
	is_str(content_of("etc/passwd"),
		"root:*:0:0:root:/root:/bin/sh\n"
		"openhands:*:1000:0::/home/openhands:/bin/bash\n",
		"has a passwd, with root in it");
	is_str(content_of("etc/group"), "root:x:0:\n", "and a group");
	is_int(access("etc/shadow", F_OK), -1, "but no shadow");
	is_int(access("etc/sudoers", F_OK), -1, "and no sudoers");
	is_int(access("home/openhands", F_OK), 0, "and a home");
}

static void check_partial(void)
{
	debian("alpine");
	put("etc/group", "root:x:0:root\nwheel:x:10:root\n");
	is_int(mkdir("home/openhands", 0711), 0, "a home of somebody's");
	ensure();
	is_int(user.origin, USER_MADE, "without a group sudo");
	is_str(content_of("etc/sudoers"),
		"root ALL=(ALL:ALL) ALL\nopenhands ALL=(ALL) NOPASSWD:ALL\n",
		"sudo is allowed by name");
	ok(!strstr(told(), "home"), "a home that is there is left alone");

	debian("linked");
	is_int(rename("etc/group", "etc/real") || symlink("real", "etc/group"), 0,
		"group is a link");
	ensure();
	is_str(content_of("etc/group"), debian_group, "it stays as it was");
	ok(strstr(told(), "join the group sudo in /etc/group: "), "told");
	ok(strstr(content_of("etc/sudoers"), "openhands ALL="), "sudo by name instead");

	debian("cut");
	put("etc/group", "sudo:x:27\n");
	ensure();
	is_str(content_of("etc/group"), "sudo:x:27\n", "a group without members' field");

	debian("again");
	put("etc/sudoers", "x\n %sudo ALL=(ALL) NOPASSWD:ALL \n");
	put("etc/group", "sudo:x:27:");
	ensure();
	is_str(content_of("etc/group"), "sudo:x:27:openhands", "the first member");
	is_str(content_of("etc/sudoers"), "x\n %sudo ALL=(ALL) NOPASSWD:ALL \n",
		"a line that is there is not repeated");
}

static void check_odd(void)
{
	static char garbage[200000];
	char name[USER_NAME_MAX + 10];
	struct user u;

	debian("odd");
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ensure_named(name, 1000, NULL);
	is_int(user.origin, USER_NUMBER, "a name that is too long");
	is_str(user.name, "1000", "becomes a number");
	ensure_named("a:b", 1001, NULL);
	is_int(user.origin, USER_NUMBER, "a name with a colon");
	is_int(user.uid, 1001, "works by its uid");
	is_str(user.home, "/", "and has no home");
	is_str(content_of("etc/passwd"), debian_passwd, "passwd stays");
	memset(garbage, 'g', sizeof(garbage) - 1);
	memcpy(garbage + sizeof(garbage) - 40, "\nfound:x:5:6::/f:/bin/f\n\0", 25);
	put("etc/passwd", garbage);
	is_int(user_find_uid(root, 5, &u), 0, "behind a line of 200 KB");
	is_str(u.name, "found", "the right one");
	unlink("etc/passwd");
	is_int(mkdir("etc/passwd", 0755), 0, "passwd is a folder");
	is_int(user_find_uid(root, 0, &u), -EINVAL, "that holds no users");
	ensure();
	is_int(user.origin, USER_NUMBER, "works without");
	is_str(told(), "read /etc/passwd: Invalid argument\n", "told");
	rmdir("etc/passwd");
	is_int(mkfifo("etc/passwd", 0644), 0, "passwd is a pipe");
	ensure();
	is_int(user.origin, USER_NUMBER, "does not wait for it");
}

/* More than is read: what was read counts, a line that was cut does not. */
static void check_large(void)
{
	struct user u;
	FILE *f;
	long at = 0;

	debian("large");
	f = fopen("etc/passwd", "w");
	for (int i = 1; f && at < USER_DB_MAX - 100; i++)
		at += fprintf(f, "user%d:x:%d:%d::/home:/bin/sh\n", i, i, i);
	/* The maximum falls behind the second digit of a group. */
	while (f && at < USER_DB_MAX - 10)
		at += fprintf(f, "\n");
	if (f)
		fprintf(f, "cut:x:9000000:10000::/:/bin/sh\n");
	if (!f || fclose(f)) {
		ok(false, "cannot prepare a large passwd");
		return;
	}
	is_int(user_find_uid(root, 100, &u), 0, "an entry of a large passwd");
	is_int(user_find_uid(root, 8000000, &u), ERR_LIMIT, "may be behind");
	is_int(user_find_uid(root, 9000000, &u), ERR_LIMIT, "a line that was cut");
	ensure();
	is_int(user.origin, USER_NUMBER, "so none is added");
}

static void check_given(void)
{
	debian("given");
	ensure_named("me", 1234, "me");
	is_int(user.origin, USER_GIVEN, "the environment's own user");
	is_int(user.uid, geteuid(), "is who we are");
	is_str(content_of("etc/passwd"), debian_passwd, "nothing is set up");
	ensure_named("ubuntu", 1000, "ubuntu");
	is_int(user.origin, USER_GIVEN, "with an entry");
	is_int(user.uid, 1000, "is that");
	ensure_named("root", 0, "root");
	is_int(user.origin, USER_FOUND, "root is no such user");
	ensure_named("openhands", 1000, "openhands");
	is_int(user.origin, USER_MADE, "nor is openhands");
}

/* Not in a container: the files and homes of the machine stay as they are. */
static void check_unmanaged(void)
{
	debian("unmanaged");
	manage = false;
	ensure();
	is_int(user.origin, USER_NUMBER, "without manage an absent user is its uid");
	is_int(user.uid, 1000, "which is the one wanted");
	is_int(user.groups_n, 1, "in no group but root");
	is_str(user.home, "/", "without a home");
	is_str(content_of("etc/passwd"), debian_passwd, "passwd is not changed");
	is_str(content_of("etc/group"), debian_group, "group is not changed");
	is_str(content_of("etc/shadow"), "root:*:1::::::\n", "shadow is not changed");
	is_str(content_of("etc/sudoers"), debian_sudoers, "sudoers is not changed");
	is_int(access("home/openhands", F_OK), -1, "no home is made");
	is_str(told(),
		"uid 1000 also belongs to user ubuntu\n"
		"user openhands is not in /etc/passwd and is not added: commands run as "
		"uid 1000. --manage-users adds the user (default in a container)\n",
		"the message names the option");
	ensure_named("ubuntu", 1000, NULL);
	is_int(user.origin, USER_FOUND, "a user that is there is used");
	manage = true;
}

static void check_no_sudo(void)
{
	debian("no-sudo");
	sudo = false;
	ensure();
	is_int(user.origin, USER_MADE, "without sudo a user is added");
	is_int(user.groups_n, 1, "but to no group");
	is_str(content_of("etc/group"), debian_group, "group is not changed");
	is_str(content_of("etc/sudoers"), debian_sudoers, "sudoers is not changed");
	sudo = true;
}

static void check_shell_field(void)
{
	struct user_conf w = {root, STR("odd"), 1000, "/x:y", NULL, true, false};

	debian("shell");
	w.root = root;
	buf_reset(&notes);
	user_ensure(&w, &user, &notes);
	ok(strstr(content_of("etc/passwd"), "odd:x:1000:0::/home/odd:/bin/sh\n"),
		"a shell that is no field of passwd");
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

static int as_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		return 10;
	ensure();
	if (user.origin != USER_SELF || user.uid != NOBODY || user.gid != NOBODY)
		return 11;
	if (strcmp(user.name, "openhands") || strcmp(user.home, "/"))
		return 12;
	if (strcmp(told(), "uid 65534 has no entry in /etc/passwd\n"))
		return 13;
	return strcmp(content_of("etc/passwd"), debian_passwd) ? 14 : 0;
}

static int as_ubuntu(void)
{
	if (setgroups(0, NULL) || setgid(1234) || setuid(1000))
		return 10;
	ensure();
	if (user.origin != USER_SELF || user.uid != 1000 || user.gid != 1234)
		return 11;
	if (strcmp(user.name, "ubuntu") || user.groups_n != 1)
		return 12;
	return strcmp(
		told(), "not root: working as ubuntu (uid 1000), not as openhands\n");
}

static int read_only(void)
{
	if (mount("etc", "etc", NULL, MS_BIND, NULL) ||
		mount(NULL, "etc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		return 10;
	ensure();
	if (user.origin != USER_NUMBER || user.uid != 1000)
		return 11;
	if (strcmp(user.home, "/home/openhands") || access("home/openhands", F_OK))
		return 12;
	return strstr(told(), "add the user to /etc/passwd: Read-only file system\n")
		? 0
		: 13;
}

/* Engines mount single files; those cannot be replaced, but written. */
static int mounted_files(void)
{
	put("p", debian_passwd);
	put("g", debian_group);
	if (mount("p", "etc/passwd", NULL, MS_BIND, NULL) ||
		mount("g", "etc/group", NULL, MS_BIND, NULL))
		return 10;
	ensure();
	if (user.origin != USER_MADE || !strstr(content_of("p"), user_line))
		return 11;
	if (strcmp(content_of("g"), debian_group))
		return 12;
	return strstr(content_of("etc/sudoers"), "openhands ALL=") ? 0 : 13;
}

/* What of a line still fits on a full disk is taken back. */
static int full_disk(void)
{
	static char fill[4096];
	char line[128];
	size_t n = 0;
	int fd;

	if (mount("none", "etc", "tmpfs", 0, "size=16k"))
		return 10;
	/* All but a few bytes of passwd's first page, and no other page left. */
	memset(fill, '#', sizeof(fill));
	memcpy(fill + sizeof(fill) - 20, "\n", 1);
	fill[sizeof(fill) - 20] = '\0';
	put("etc/passwd", fill);
	fd = fd_open("etc/fill", O_WRONLY | O_CREAT, 0600);
	memset(line, 'x', sizeof(line));
	while (fd_write_all(fd, line, sizeof(line)) == 0)
		n++;
	fd_close(&fd);
	ensure();
	if (!n || user.origin != USER_NUMBER)
		return 11;
	return strcmp(content_of("etc/passwd"), fill) ? 12 : 0;
}

static void check_rights(void)
{
	debian("nobody");
	in_child(as_nobody, "not root, without an entry");
	in_child(as_ubuntu, "not root, another's entry");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		skip("read-only /etc", "mount is not allowed");
		skip("mounted files", "mount is not allowed");
		skip("full disk", "mount is not allowed");
		return;
	}
	in_child(read_only, "read-only /etc");
	umount2("etc", MNT_DETACH);
	debian("mounted");
	in_child(mounted_files, "mounted files");
	umount2("etc/passwd", MNT_DETACH);
	umount2("etc/group", MNT_DETACH);
	debian("full");
	in_child(full_disk, "full disk");
	umount2("etc", MNT_DETACH);
}

int main(void)
{
	if (geteuid() != 0) {
		skip("all", "needs root");
		return done_testing();
	}
	if (!mkdtemp(top) || chmod(top, 0755))
		return 1;
	umask(022);
	check_debian();
	check_lookups();
	check_find();
	check_scratch();
	check_partial();
	check_odd();
	check_large();
	check_given();
	check_unmanaged();
	check_no_sudo();
	check_shell_field();
	check_rights();
	is_int(nftw(top, remove_entry, 128, FTW_DEPTH | FTW_PHYS | FTW_MOUNT), 0,
		"nothing is left");
	buf_free(&notes);
	return done_testing();
}
