#include "shell/tty_folder.h"
#include "tests/tap.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 32, ROUNDS = 20, OTHER = 65534 };

static char top[] = "/tmp/od-tty-XXXXXX";
static char first[32], second[32];
static const struct tty_place places[] = {
	{first, "state", true},
	{second, "state", true},
	{NULL, NULL, false},
};
static char path[TTY_FOLDER_PATH];

static const char *below(const char *name)
{
	static char out[128];

	snprintf(out, sizeof(out), "%s/%s", top, name);
	return out;
}

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(name);
}

/* Two empty places in which nobody else can write. */
static void make_places(void)
{
	nftw(first, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	nftw(second, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	if (mkdir(first, 0755) < 0 || mkdir(second, 0755) < 0)
		ok(false, "the places can be made");
}

static void is_made(const char *name, const char *what)
{
	char link[128], target[16] = "";

	is_int(tty_folder_make(places, path), 0, "%s: there is a folder", what);
	is_str(path, below(name), "%s: its place", what);
	snprintf(link, sizeof(link), "%s/" TTY_FOLDER_NAME, path);
	if (readlink(link, target, sizeof(target) - 1) < 0)
		ok(false, "%s: the link can be read", what);
	is_str(target, "/dev/tty", "%s: the link leads to the terminal", what);
}

static void test_places(void)
{
	struct stat st;

	make_places();
	is_made("1/state/tty", "the first place");
	is_int(stat(path, &st) == 0 ? st.st_mode & 0777 : 0, 0755,
		"all users can enter the folder and none can change it");
	is_made("1/state/tty", "a folder that exists");
	make_places();
	if (rmdir(first) < 0)
		ok(false, "a place can be removed");
	is_made("2/state/tty", "a place that is missing");
	make_places();
	is_int(tty_folder_make(
		       (const struct tty_place[]){{first, "state", false}, {0}}, path),
		-ENOENT, "a folder that is not to be made");
	is_int(tty_folder_make((const struct tty_place[]){{0}}, path), -ENOENT,
		"no place at all");
}

static void test_refused(void)
{
	make_places();
	if (chmod(first, 0777) < 0)
		ok(false, "modes can be changed");
	is_made("2/state/tty", "a place whose entries others can replace");
	if (chmod(first, 01777) < 0)
		ok(false, "modes can be changed");
	is_made("1/state/tty", "a sticky place");
	if (chmod(below("1/state"), 01777) < 0)
		ok(false, "modes can be changed");
	is_made("2/state/tty", "a state folder that others can write, sticky or not");
	make_places();
	if (symlink(second, below("1/state")) < 0)
		ok(false, "links can be made");
	is_made("2/state/tty", "a link in place of the state folder");
	make_places();
	if (mkdir(below("1/state"), 0755) < 0 || mkdir(below("1/state/tty"), 0755) < 0 ||
		symlink("/dev/null", below("1/state/tty/" TTY_FOLDER_NAME)) < 0)
		ok(false, "folders can be made");
	is_made("2/state/tty", "a link that leads elsewhere");
	make_places();
	if (mkdir(below("1/state"), 0755) < 0 || mkdir(below("1/state/tty"), 0777) < 0 ||
		chmod(below("1/state/tty"), 0775) < 0)
		ok(false, "folders can be made");
	is_made("2/state/tty", "a folder that a group can write");
}

static void test_others(void)
{
	if (geteuid() != 0) {
		skip("folders of other users", "only root can give them away");
		return;
	}
	make_places();
	if (mkdir(below("1/state"), 0755) < 0 ||
		chown(below("1/state"), OTHER, OTHER) < 0)
		ok(false, "a folder can be given away");
	is_made("2/state/tty", "a state folder of another user");
	make_places();
	if (chown(first, OTHER, OTHER) < 0)
		ok(false, "a folder can be given away");
	is_made("2/state/tty", "a place of another user");
}

/* Many processes make the folder at once: each has a complete one. */
static void test_at_once(void)
{
	int failed = 0, status;

	for (int round = 0; round < ROUNDS; round++) {
		make_places();
		for (int i = 0; i < PROCESSES; i++)
			if (fork() == 0)
				_exit(tty_folder_make(places, path) != 0 ||
					strcmp(path, below("1/state/tty")) != 0);
		while (wait(&status) > 0)
			failed += status != 0;
	}
	is_int(failed, 0, "processes that make the folder at once");
}

int main(void)
{
	umask(022);
	if (!mkdtemp(top))
		return 1;
	snprintf(first, sizeof(first), "%s/1", top);
	snprintf(second, sizeof(second), "%s/2", top);
	test_places();
	test_refused();
	test_others();
	test_at_once();
	nftw(top, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	return done_testing();
}
