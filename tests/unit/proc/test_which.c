#include "proc/which.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/od-which-XXXXXX";

static const char *at(const char *name)
{
	static char path[2][128];
	static unsigned turn;

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", top, name);
	return path[turn];
}

static void make_file(const char *name, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, mode) < 0)
		exit(1);
	close(fd);
}

int main(void)
{
	char out[FILE_PATH_MAX], path[400], long_name[FILE_PATH_MAX + 10];

	if (!mkdtemp(top) || mkdir(at("a"), 0755) < 0 || mkdir(at("b"), 0755) < 0 ||
		mkdir(at("a/folder"), 0755) < 0)
		return 1;
	make_file("a/text", 0644);
	make_file("a/both", 0755);
	make_file("b/both", 0755);
	make_file("b/text", 0755);
	make_file("b/folder", 0700);
	ok(which_is_program(at("a/both")), "a program");
	ok(!which_is_program(at("a/text")) && !which_is_program(at("a")) &&
			!which_is_program(at("none")),
		"none: a text, a folder, nothing");
	snprintf(path, sizeof(path), "relative::%s/none:%s/a:%s/b", top, top, top);
	is_int(which_find("both", path, out), 0, "found");
	is_str(out, at("a/both"), "in the first folder that has it");
	is_int(which_find("text", path, out), 0, "what is no program");
	is_str(out, at("b/text"), "is passed over");
	is_int(which_find("folder", path, out), 0, "a folder of that name");
	is_str(out, at("b/folder"), "as well");
	is_int(which_find("none", path, out), -ENOENT, "nowhere");
	is_int(which_find("", path, out), -ENOENT, "no name");
	is_int(which_find("both", NULL, out), -ENOENT, "no PATH");
	is_int(which_find("./x", path, out), 0, "a path");
	is_str(out, "./x", "stays one");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	is_int(which_find(long_name, path, out), -ENOENT, "a name that is too long");
	long_name[0] = '/';
	is_int(which_find(long_name, path, out), -ENAMETOOLONG, "a path that is");
	unlink(at("a/text"));
	unlink(at("a/both"));
	unlink(at("b/both"));
	unlink(at("b/text"));
	unlink(at("b/folder"));
	rmdir(at("a/folder"));
	rmdir(at("a"));
	rmdir(at("b"));
	rmdir(top);
	return done_testing();
}
