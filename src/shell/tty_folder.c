#include "shell/tty_folder.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

const struct tty_place tty_folder_places[] = {
	{"/", ".od", false},
	{"/dev/shm", ".od-state", true},
	{"/tmp", ".od-state", true},
	{"/var/tmp", ".od-state", true},
	{NULL, NULL, false},
};

/* In a sticky folder no user can replace the entry of another one. */
static int tty_check_folder(const char *path, bool may_be_sticky)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()))
		return -EPERM;
	if (st.st_mode & 022 && !(may_be_sticky && st.st_mode & S_ISVTX))
		return -EPERM;
	return 0;
}

static int tty_make_folder(const char *path, bool makes)
{
	if (makes && mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	return tty_check_folder(path, false);
}

/* Follows the link, so that a file system that follows none is refused, too. */
static int tty_check_link(const char *link)
{
	struct stat st;

	if (stat(link, &st) < 0)
		return -errno;
	return S_ISCHR(st.st_mode) && st.st_rdev == makedev(5, 0) ? 0 : -EPERM;
}

static int tty_make_link(const char *folder)
{
	char link[TTY_FOLDER_PATH + sizeof("/" TTY_FOLDER_NAME)];

	snprintf(link, sizeof(link), "%s/" TTY_FOLDER_NAME, folder);
	if (symlink("/dev/tty", link) < 0 && errno != EEXIST)
		return -errno;
	return tty_check_link(link);
}

static int tty_make_in(const struct tty_place *place, char path[TTY_FOLDER_PATH])
{
	const char *slash = place->above[1] ? "/" : "";
	int r = tty_check_folder(place->above, true);
	int n;

	if (r == 0) {
		n = snprintf(path, TTY_FOLDER_PATH, "%s%s%s/tty", place->above, slash,
			place->state);
		if (n < 0 || n >= TTY_FOLDER_PATH)
			return -ENAMETOOLONG;
		path[n - 4] = '\0';
		r = tty_make_folder(path, place->makes_state);
		path[n - 4] = '/';
	}
	if (r == 0)
		r = tty_make_folder(path, true);
	return r == 0 ? tty_make_link(path) : r;
}

int tty_folder_make(const struct tty_place *places, char path[TTY_FOLDER_PATH])
{
	int r = -ENOENT;

	for (const struct tty_place *place = places; r != 0 && place->above; place++)
		r = tty_make_in(place, path);
	return r;
}
