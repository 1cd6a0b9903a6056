#include "drop_in.h"

bool drop_in_is_name(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	const char *base = slash ? slash + 1 : argv0;

	return !strcmp(base, "micromamba") || !strcmp(base, "mamba");
}

bool drop_in_is_path(const char *argv0)
{
	return str_starts(str_c(argv0), STR("/openhands/")) ||
		str_starts(str_c(argv0), STR("/opendevin/"));
}

char **drop_in_skip_launcher(char **argv)
{
	for (char **word = argv; *word; word++)
		if (str_ends(str_c(*word), STR("action_execution_server")) ||
			str_ends(str_c(*word), STR("client.client")))
			return word + 1;
	return argv;
}
