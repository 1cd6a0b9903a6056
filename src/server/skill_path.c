#include "server/skill_path.h"

#include "skill/skill.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char home[] = "/.od/";

/*
 * Makes a folder. Returns -EPERM if it belongs to another user or others can write to it.
 */
static int skill_path_make_folder(const char *path)
{
	struct stat st;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return -EPERM;
	return 0;
}

static bool skill_path_is_link_to(const char *link, const char *program)
{
	char now[USER_PATH_MAX];
	ssize_t n = readlink(link, now, sizeof(now));

	return n > 0 && str_eq(str_make(now, (size_t)n), str_c(program));
}

/* Replaces the link atomically: another server may use the same folder. */
static int skill_path_make_link(const char *folder, const char *name, const char *program)
{
	char path[USER_PATH_MAX], temp[USER_PATH_MAX + 16];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

	if (n < 0 || n >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (skill_path_is_link_to(path, program))
		return 0;
	snprintf(temp, sizeof(temp), "%s.%d", path, (int)getpid());
	if (symlink(program, temp) < 0)
		return -errno;
	if (rename(temp, path) < 0) {
		int r = -errno;

		unlink(temp);
		return r;
	}
	return 0;
}

static int skill_path_fill_folder(const char *folder, const char *program)
{
	int r = skill_path_make_folder(folder);

	for (size_t i = 0; !r && skill_name(i); i++)
		r = skill_path_make_link(folder, skill_name(i), program);
	return r;
}

int skill_path_make(const char *program, const char *state, char out[USER_PATH_MAX])
{
	char folder[USER_PATH_MAX];
	int n = snprintf(folder, sizeof(folder), "%sbin", home);
	int r = 0;

	if (strncmp(program, home, sizeof(home) - 1) != 0 ||
		skill_path_fill_folder(folder, program) < 0) {
		n = snprintf(folder, sizeof(folder), "%s/bin", state);
		if (n < 0 || n >= (int)sizeof(folder))
			return -ENAMETOOLONG;
		if (mkdir(state, 0755) < 0 && errno != EEXIST)
			return -errno;
		r = skill_path_fill_folder(folder, program);
	}
	if (!r)
		memcpy(out, folder, (size_t)n + 1);
	return r;
}
