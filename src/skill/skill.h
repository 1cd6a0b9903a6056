/*
 * The skills that agents know from notebooks, as commands of this program: it is
 * started under the name of one (open_file, search_dir...) and prints what the
 * function of that name would.
 */
#ifndef SKILL_SKILL_H
#define SKILL_SKILL_H

#include "base/str.h"

/* All names, one by one from 0 on; NULL at the end. */
const char *skill_name(size_t i);

/* Whether a program started as argv0 is one. */
bool skill_is(const char *argv0);

/*
 * Runs it; the exit code: 0, or 1 after a text that begins with "ERROR:", or
 * EXIT_USAGE with a line on standard error.
 */
int skill_run(int argc, char **argv);

#endif
