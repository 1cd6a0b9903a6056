/*
 * The skills that agents know from notebooks, as commands of od-plugins: it is started
 * under the name of one (open_file, search_dir...) and prints what the function of that
 * name would. The client has their names alone, for links on the PATH of its shells.
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
	SKILLS,
};

/* All names, one by one from 0 on; NULL at the end. */
const char *skill_name(size_t i);

/* Whether a program started as argv0 is one. */
bool skill_is(const char *argv0);

/*
 * Runs the skill that argv[0] names; the exit code: 0, or 1 after a text that begins
 * with "ERROR:", or EXIT_USAGE with a line on standard error.
 */
int skill_run(int argc, char **argv);

#endif
