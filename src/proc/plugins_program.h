/* The path of od-plugins, the program with the browser driver and the skills. */
#ifndef PROC_PLUGINS_PROGRAM_H
#define PROC_PLUGINS_PROGRAM_H

#include "base/buf.h"
#include "limits.h"

#define PLUGINS_PROGRAM "od-plugins"

/*
 * Finds od-plugins in the folder of this program's file, whose own name may be gone or
 * belong to another file by now. 0 with the path. -ENOENT, -EACCES and the like with the
 * expected path; path is "" if the folder is not known.
 */
int plugins_program_find(char path[FILE_PATH_MAX]) MUST_USE;

/*
 * Appends why the program cannot be executed (err: the result above), and the next step.
 */
void plugins_program_explain(const char *path, int err, struct buf *why);

#endif
