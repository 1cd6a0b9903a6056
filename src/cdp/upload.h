/* Files for the chooser that a click has opened. */
#ifndef CDP_UPLOAD_H
#define CDP_UPLOAD_H

#include "cdp/doing.h"

/* Whether files are names, or lists of names, of files that there are. */
int upload_check(struct doing *d, const struct value *files) MUST_USE;
/* Waits for a chooser beyond the first so many of the tab, and gives it the files. */
int upload_finish(struct doing *d, unsigned choosers, const struct value *files) MUST_USE;

#endif
