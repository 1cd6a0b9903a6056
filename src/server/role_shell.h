/* The role "shell": starts the user's shell for an exec of the container engine. */
#ifndef SERVER_ROLE_SHELL_H
#define SERVER_ROLE_SHELL_H

#include "config.h"

/*
 * Replaces this process with the shell of the sandbox user, which is found and set up as
 * for sessions of the server. Descriptors 0, 1 and 2 are kept. Returns only on failure:
 * the exit code.
 */
int role_shell(const struct config *c);

#endif
