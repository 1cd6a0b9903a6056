/* The actions, one file each. */
#ifndef ACT_TABLE_H
#define ACT_TABLE_H

#include "act/act.h"

extern const struct action action_run;
extern const struct action action_read;
extern const struct action action_write;

/*
 * The part of the run action for "is_static": command is stripped and holds no
 * NUL. As action.start and action.abandon.
 */
int run_static_start(struct act *a, struct str command) MUST_USE;
void run_static_abandon(struct act *a);

#endif
