/* Of use to the files of the drive alone. */
#ifndef CDP_DRIVE_PRIVATE_H
#define CDP_DRIVE_PRIVATE_H

#include "cdp/drive.h"

/* --- drive_step.c */

enum { DRIVE_ERROR_MAX = 8 << 20 }; /* an action's text may stand in it */

/*
 * What was asked for, and the observation of it. Anything but 0 is as of browser_pump;
 * ERR_CLOSED: the browser is lost. error: what the action has come to, if that is an
 * error, which nobody was told of unless it returns 0.
 */
int drive_step(struct drive *d, const struct drive_task *task, struct arena *a,
	struct buf *error, struct buf *out) MUST_USE;

/* --- drive_file.c */

/* Saves a screenshot; its path, or "". */
void drive_save(const struct drive *d, struct str png, char path[FILE_PATH_MAX]);
/*
 * Waits for the download that has begun and gives the file a name that people know. 0
 * with its path; ERR_REFUSED: it has come to nothing.
 */
int drive_fetch(struct drive *d, char path[FILE_PATH_MAX]) MUST_USE;

#endif
