/*
 * The command line of a backend that starts another server: this program is then in the
 * place of that server's launcher.
 */
#ifndef DROP_IN_H
#define DROP_IN_H

#include "base/str.h"

/* Whether argv[0] is the name of a launcher, in any folder. */
bool drop_in_is_name(const char *argv0);

/*
 * Whether it is also at the launcher's own path, where nothing else is: the image is made
 * for such a backend, which cannot pass options of ours.
 */
bool drop_in_is_place(const char *argv0);

/* The words behind the name of the server's Python module, or all of them. */
char **drop_in_skip_launcher(char **argv);

#endif
