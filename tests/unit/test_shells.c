#include "base/fd.h"
#include "proc/shells.h"
#include "tests/tap.h"

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

static void put(const char *path, mode_t mode)
{
	int fd = fd_open(path, O_WRONLY | O_CREAT, mode);

	if (fd < 0)
		ok(false, "cannot prepare %s", path);
	fd_close(&fd);
}

static int find(const char *configured)
{
	buf_reset(&notes);
	return shells_find(root, configured, &found, &notes);
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
		"no shell in this image: looked for /bin/bash, /usr/bin/bash, "
		"/usr/local/bin/bash, /bin/sh, /usr/bin/sh, /bin/ash, /bin/busybox, "
		"/usr/bin/busybox, /busybox/busybox, /.od/bin/busybox\n",
		"the ladder in words");
	is_int(find("fish"), -ENOENT, "nor the one that was asked for");
	ok(strstr(told(), "no shell fish: No such file or directory\n"), "told");
	ok(strstr(told(), "looked for fish, /bin/bash, "), "as the first of the ladder");
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

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	umask(022);
	check_none();
	check_debian();
	check_busybox();
	check_unfit();
	is_int(nftw(top, remove_entry, 128, FTW_DEPTH | FTW_PHYS), 0, "nothing is left");
	buf_free(&notes);
	return done_testing();
}
