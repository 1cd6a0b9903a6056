#include "proc/plugins_program.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int plugins_program_find(char path[FILE_PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, FILE_PATH_MAX - 1);
	struct stat st;
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	if (n < 0)
		return -errno;
	/* If this program was replaced, its name ends in " (deleted)". */
	slash = strrchr(path, '/');
	if (!slash || slash + sizeof("/" PLUGINS_PROGRAM) > path + FILE_PATH_MAX) {
		path[0] = '\0';
		return -ENAMETOOLONG;
	}
	memcpy(slash + 1, PLUGINS_PROGRAM, sizeof(PLUGINS_PROGRAM));
	if (stat(path, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

void plugins_program_explain(const char *path, int err, struct buf *why)
{
	if (!path[0])
		buf_fmt(why,
			PLUGINS_PROGRAM " cannot be found without /proc/self/exe: %s",
			err_text(err));
	else
		buf_fmt(why,
			"%s cannot be executed: %s; put " PLUGINS_PROGRAM
			" there, or start the sandbox without --no-od-plugins",
			path, err_text(err));
}
