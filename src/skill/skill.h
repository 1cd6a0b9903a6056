/*
 * The skills that agents use in notebooks (open_file, search_dir ...), as commands of
 * od-plugins. od-plugins is started under the name of a skill and prints the output of
 * the function of that name. The client has only the names, for links on the PATH of its
 * shells.
 */
#ifndef SKILL_SKILL_H
#define SKILL_SKILL_H

#include "base/str.h"

enum skill_id {
	SKILL_OPEN_FILE,
	SKILL_GOTO_LINE,
	SKILL_SCROLL_DOWN,
	SKILL_SCROLL_UP,
	SKILL_SEARCH_DIR,
	SKILL_SEARCH_FILE,
	SKILL_FIND_FILE,
	SKILL_FILE_EDITOR,
	SKILL_PARSE_PDF,
	SKILL_PARSE_DOCX,
	SKILL_PARSE_LATEX,
	SKILL_PARSE_PPTX,
	SKILL_COUNT,
};

/* The name of skill i, from 0 on; NULL after the last. */
const char *skill_name(size_t i);

/* Whether argv0 is the name of a skill. */
bool skill_is_name(const char *argv0);

/*
 * Runs the skill that argv[0] names. Returns the exit code: 0; 1 after an error, which
 * the output describes; EXIT_USAGE with a usage line on standard error; EXIT_ENVIRONMENT
 * if the output cannot be written.
 */
int skill_run(int argc, char **argv);

#endif
