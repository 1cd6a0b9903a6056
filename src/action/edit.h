/* The editor as an action, and its view of files for the read action. */
#ifndef ACTION_EDIT_H
#define ACTION_EDIT_H

#include "action/act.h"

/*
 * The read action whose "impl_source" is "oh_aci": the editor's view of path, as a
 * read observation. As for struct action.start; file_job_abandon goes with it.
 */
int edit_view_start(struct act *a, struct str path) MUST_USE;

#endif
