/*
 * The command line of a backend that starts another server: this program is then
 * installed in place of that server's launcher.
 */
#ifndef DROP_IN_H
#define DROP_IN_H

#include "base/str.h"

/* Whether argv[0] is the name of a launcher, in any folder. */
bool drop_in_is_name(const char *argv0);

/*
 * Whether argv[0] is a path that only the launcher has: the image is made for such a
 * backend, which cannot pass options of ours.
 */
bool drop_in_is_path(const char *argv0);

/* The words after the name of the server's Python module, or all words. */
char **drop_in_skip_launcher(char **argv);

#endif
