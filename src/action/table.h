/* The actions, one file each. */
#ifndef ACTION_TABLE_H
#define ACTION_TABLE_H

#include "action/act.h"

extern const struct action action_run;
extern const struct action action_read;
extern const struct action action_write;
extern const struct action action_edit;

/* The part of action_run.start for "is_static"; command is stripped and holds no NUL. */
int run_static_start(struct act *a, struct str command) MUST_USE;
/* Answers all static runs with their output so far and kills them; for shutting down. */
void run_static_end_all(void);

#endif
