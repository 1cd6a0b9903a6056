/* Exit codes of both programs, so that a script can distinguish failures. */
#ifndef BASE_EXIT_H
#define BASE_EXIT_H

enum {
	EXIT_DONE = 0,
	EXIT_USAGE = 100,       /* the command line or the environment is wrong */
	EXIT_BUG = 101,         /* a bug in this program */
	EXIT_ENVIRONMENT = 111, /* a required resource is missing now */
};

#endif
