/* Files for the file chooser that a click has opened. */
#ifndef BROWSER_PAGE_UPLOAD_H
#define BROWSER_PAGE_UPLOAD_H

#include "browser/page/action_call.h"

/*
 * Checks that files is a name, or a list of names, of files that can be read. Returns 0
 * or ERR_REFUSED.
 */
int upload_check_files(struct action_call *d, const struct value *files) MUST_USE;
/*
 * Waits until the tab has opened more than so many choosers; sets the last one's files.
 */
int upload_finish_chooser(
	struct action_call *d, unsigned choosers, const struct value *files) MUST_USE;

#endif
