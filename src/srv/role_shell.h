/* The role that stands between an engine's exec and the user's shell. */
#ifndef SRV_ROLE_SHELL_H
#define SRV_ROLE_SHELL_H

#include "config.h"

/*
 * Becomes the shell of the sandbox user, found and set up as the server does it for
 * its sessions, on the descriptors 0, 1 and 2 that it was given. Only returns when
 * that fails: the exit code.
 */
int role_shell(const struct config *c);

#endif
