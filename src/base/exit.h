/* Exit codes of both programs, so that a script can tell failures apart. */
#ifndef BASE_EXIT_H
#define BASE_EXIT_H

enum {
	EXIT_DONE = 0,
	EXIT_USAGE = 100,       /* the command line or the environment is wrong */
	EXIT_BUG = 101,         /* this program is wrong */
	EXIT_ENVIRONMENT = 111, /* what it needs is not there now */
};

#endif
