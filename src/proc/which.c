#include "proc/which.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

bool which_is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

int which_find(const char *name, const char *path, char out[FILE_PATH_MAX])
{
	struct str rest = str_c(path ? path : "");
	int n;

	if (strchr(name, '/')) {
		n = snprintf(out, FILE_PATH_MAX, "%s", name);
		return n < FILE_PATH_MAX ? 0 : -ENAMETOOLONG;
	}
	while (*name && rest.n) {
		struct str dir = str_cut(&rest, ':');

		n = snprintf(out, FILE_PATH_MAX, "%.*s/%s", STR_ARG(dir), name);
		if (dir.n && dir.p[0] == '/' && n < FILE_PATH_MAX &&
			which_is_program(out))
			return 0;
	}
	return -ENOENT;
}
