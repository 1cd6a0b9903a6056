#include "base/fd.h"
#include "proc/shells.h"
#include "proc/spawn.h"
#include "tests/tap.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/od-shells-XXXXXX";
static char root[64];
static struct buf notes = BUF_INIT(8192);
static struct shells_found found;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

static void fresh(const char *name)
{
	snprintf(root, sizeof(root), "%s/%s", top, name);
	if (mkdir(root, 0755) || chdir(root) || mkdir("bin", 0755) ||
		mkdir("usr", 0755) || mkdir("usr/bin", 0755))
		ok(false, "cannot make %s", root);
}

static void put_text(const char *path, mode_t mode, struct str text)
{
	int fd = fd_open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	if (fd < 0 || fd_write_all(fd, text.p, text.n))
		ok(false, "cannot prepare %s", path);
	fd_close(&fd);
}

/* A static program: an ELF header without program headers. */
static void put(const char *path, mode_t mode)
{
	const Elf64_Ehdr head = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB}};

	put_text(path, mode, str_make((const char *)&head, sizeof(head)));
}

static int find(const char *configured)
{
	const struct shells_place place = {.root = root};

	buf_reset(&notes);
	return shells_find(&place, configured, &found, &notes);
}

static const char *told(void)
{
	const char *text = buf_cstr(&notes);

	return text ? text : "";
}

static void check_found(const char *configured, const char *path, const char *arg0,
	enum shells_kind kind, const char *name)
{
	is_int(find(configured), 0, "%s", name);
	is_str(found.path, path, "path of %s", name);
	is_str(found.arg0, arg0, "argv[0] of %s", name);
	is_int(found.kind, kind, "kind of %s", name);
}

static void check_none(void)
{
	fresh("scratch");
	memcpy(found.path, "kept", 5);
	is_int(find(NULL), -ENOENT, "no shell");
	is_str(told(),
		"this image has no shell; these paths were searched: /bin/bash, "
		"/usr/bin/bash, "
		"/usr/local/bin/bash, /bin/sh, /usr/bin/sh, /bin/ash, /bin/busybox, "
		"/usr/bin/busybox, /busybox/busybox, /.od/bin/busybox\n",
		"the ladder in words");
	is_int(find("fish"), -ENOENT, "nor the one that was asked for");
	ok(strstr(told(), "no shell fish: No such file or directory\n"), "told");
	ok(strstr(told(), "were searched: fish, /bin/bash, "),
		"as the first of the ladder");
	is_str(found.path, "kept", "nothing is set by a failure");
	is_int(mkdir(".od", 0755) || mkdir(".od/bin", 0755), 0, "what we bring along");
	put(".od/bin/busybox", 0755);
	check_found("", "/.od/bin/busybox", "sh", SHELLS_ASH, "the bundled shell");
}

static void check_debian(void)
{
	fresh("debian");
	put("bin/dash", 0755);
	is_int(symlink("dash", "bin/sh"), 0, "sh");
	check_found(NULL, "/bin/sh", "dash", SHELLS_POSIX, "dash as sh");
	put("bin/bash", 0755);
	check_found(NULL, "/bin/bash", "bash", SHELLS_BASH, "bash before sh");
	put("usr/bin/zsh", 0755);
	check_found(
		"/usr/bin/zsh", "/usr/bin/zsh", "zsh", SHELLS_ZSH, "a configured path");
	check_found("zsh", "/usr/bin/zsh", "zsh", SHELLS_ZSH, "a configured name");
	is_str(told(), "", "with nothing to tell");
	check_found(
		"/bin/fish", "/bin/bash", "bash", SHELLS_BASH, "one that is not there");
	is_str(told(), "no shell /bin/fish: No such file or directory\n", "told");
	put("usr/bin/mksh", 0755);
	is_int(symlink("/etc/alternatives/ksh", "usr/bin/ksh") || mkdir("etc", 0755) ||
			mkdir("etc/alternatives", 0755) ||
			symlink("/usr/bin/mksh", "etc/alternatives/ksh"),
		0, "links in a row");
	check_found("ksh", "/usr/bin/ksh", "mksh", SHELLS_MKSH, "what links lead to");
	is_int(unlink("bin/sh") || symlink("bash", "bin/sh") ||
			rename("bin/bash", "bin/b") || rename("bin/b", "usr/bin/bash") ||
			symlink("../usr/bin/bash", "bin/bash"),
		0, "bash as sh");
	check_found("/bin/sh", "/bin/sh", "bash", SHELLS_BASH, "bash as sh");
}

static void check_busybox(void)
{
	fresh("alpine");
	put("bin/busybox", 0755);
	check_found(NULL, "/bin/busybox", "sh", SHELLS_ASH, "busybox alone");
	is_int(symlink("/bin/busybox", "bin/sh"), 0, "sh");
	check_found(NULL, "/bin/sh", "sh", SHELLS_ASH, "busybox by a link");
	is_int(unlink("bin/sh") || link("bin/busybox", "bin/sh"), 0, "sh");
	check_found(NULL, "/bin/sh", "sh", SHELLS_ASH, "busybox by a second name");
}

static void check_unfit(void)
{
	fresh("unfit");
	put("bin/bash", 0644);
	is_int(mkdir("bin/sh", 0755) || mkfifo("usr/bin/bash", 0755) ||
			symlink("sh2", "usr/bin/sh") || symlink("sh", "usr/bin/sh2"),
		0, "files that are no shells");
	put("bin/ash", 0755);
	check_found("/bin/bash", "/bin/ash", "sh", SHELLS_ASH, "the first that is one");
	is_str(told(), "no shell /bin/bash: Permission denied\n", "told");
	is_int(find("/usr/bin/sh"), 0, "a loop of links");
	ok(str_starts(buf_view(&notes), STR("no shell /usr/bin/sh: ")), "told");
	put("bin/rc", 0755);
	check_found("rc", "/bin/rc", "sh", SHELLS_POSIX, "one that nobody knows");
}

/* Each has its right to be executed, and exec would fail all the same. */
static void check_no_exec(void)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "no shell /bin/bash: Exec format error\n"},
		{"text\n", "no shell /bin/bash: Exec format error\n"},
		{"#!\n", "no shell /bin/bash: Exec format error\n"},
		{"#! /bin/none -x\n", "no shell /bin/bash: No such file or directory\n"},
		{"#!/bin/plain\n", "no shell /bin/bash: Permission denied\n"},
	};

	fresh("broken");
	put("bin/plain", 0644);
	put("bin/busybox", 0755);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_text("bin/sh", 0755, str_c(rows[i].text));
		put_text("bin/bash", 0755, str_c(rows[i].text));
		check_found("/bin/bash", "/bin/busybox", "sh", SHELLS_ASH,
			"the next one that can be executed");
		is_str(told(), rows[i].why, "the reason");
	}
	put_text("bin/bash", 0755, STR("#! /bin/busybox sh\n"));
	check_found(
		NULL, "/bin/bash", "bash", SHELLS_BASH, "a script with its interpreter");
	if (geteuid()) {
		is_int(chmod("bin/bash", 0111), 0, "a file that cannot be read");
		check_found(
			NULL, "/bin/bash", "bash", SHELLS_BASH, "one of unknown format");
	}
}

/* The server finds the shell as root, and the sandbox user executes it. */
static void check_user(void)
{
	static const struct {
		mode_t mode;
		struct spawn_user user;
		bool fits;
	} rows[] = {
		{0755, {.uid = 1, .gid = 1}, true},
		{0700, {.uid = 1, .gid = 1}, false},
		{0750, {.uid = 1, .gid = 1}, false},
		{0750, {.uid = 1, .gid = 0}, true},
		{0750, {.uid = 1, .gid = 1, .ngroups = 2, .groups = {1, 0}}, true},
		{0705, {.uid = 1, .gid = 0}, false},
		{0711, {.uid = 1, .gid = 1}, true},
		{0100, {.uid = 0}, true},
	};

	if (geteuid() || getegid()) {
		skip("shells of another user", "needs root");
		return;
	}
	fresh("user");
	put("bin/busybox", 0755);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct shells_place place = {root, &rows[i].user};

		put("bin/sh", 0755);
		is_int(chmod("bin/sh", rows[i].mode), 0, "mode %o", rows[i].mode);
		buf_reset(&notes);
		is_int(shells_find(&place, NULL, &found, &notes), 0, "a shell");
		is_str(found.path, rows[i].fits ? "/bin/sh" : "/bin/busybox",
			"row %zu: the first shell that the user can execute", i);
	}
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	umask(022);
	check_none();
	check_debian();
	check_busybox();
	check_unfit();
	check_no_exec();
	check_user();
	is_int(nftw(top, remove_entry, 128, FTW_DEPTH | FTW_PHYS), 0, "nothing is left");
	buf_free(&notes);
	return done_testing();
}
