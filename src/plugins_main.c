/* The second program of a sandbox, od-plugins: its name or first word selects a task. */
#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "browser/role_browser.h"
#include "proc/plugins_program.h"
#include "server/roles.h"
#include "skill/skill.h"

#include <signal.h>
#include <stdio.h>

static int plugins_run_skill(int argc, char **argv)
{
	/* A file that reaches its size limit is an error that is reported. */
	signal(SIGXFSZ, SIG_IGN);
	return skill_run(argc, argv);
}

static int plugins_run_browser(void)
{
	/* A write to a browser that has ended returns an error instead. */
	signal(SIGPIPE, SIG_IGN);
	return role_browser();
}

static int plugins_print_usage(void)
{
	int r = role_print("usage: " PLUGINS_PROGRAM " browser\n"
			   "       " PLUGINS_PROGRAM " SKILL [ARGUMENT...]\n"
			   "       " PLUGINS_PROGRAM " --version | --licences | --help\n"
			   "\n"
			   "browser  drive a browser for a server on descriptor 3\n"
			   "SKILL    execute a skill, also under a link of its name:\n");

	for (size_t i = 0; !r && skill_name(i); i++) {
		char line[64];

		snprintf(line, sizeof(line), "  %s\n", skill_name(i));
		r = role_print(line);
	}
	return r;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	fd_open_standard();
	log_set_name(PLUGINS_PROGRAM);
	if (argc > 0 && skill_is_name(argv[0]))
		return plugins_run_skill(argc, argv);
	if (skill_is_name(word))
		return plugins_run_skill(argc - 1, argv + 1);
	if (!strcmp(word, "browser"))
		return plugins_run_browser();
	if (!strcmp(word, "--version"))
		return role_print(PLUGINS_PROGRAM " " OD_VERSION "\n");
	if (!strcmp(word, "--licences"))
		return role_licences(PLUGINS_PROGRAM);
	if (!strcmp(word, "--help"))
		return plugins_print_usage();
	log_error("'%s' is neither \"browser\" nor a skill; see --help", word);
	return EXIT_USAGE;
}
