/* For the files of the drive module only. */
#ifndef BROWSER_DRIVE_PRIVATE_H
#define BROWSER_DRIVE_PRIVATE_H

#include "browser/drive.h"

/* --- drive_step.c */

enum { DRIVE_ERROR_MAX = 8 << 20 }; /* the text may quote the action */

/*
 * Runs the action and appends its observation to out. Any result but 0 is an error of
 * browser_pump; ERR_CLOSED: the browser is lost. error is the error of the action. If
 * the result is not 0, out does not report it.
 */
int drive_run_step(struct drive *d, const struct drive_task *task, struct arena *a,
	struct buf *error, struct buf *out) MUST_USE;

/* --- drive_file.c */

/* Saves a screenshot. path is its path, or "" after a failure. */
void drive_save_screenshot(
	const struct drive *d, struct str png, char path[FILE_PATH_MAX]);
/*
 * Waits for the download that has started and gives the file a readable name. Returns 0
 * with its path, ERR_REFUSED: there is no file; or an error of browser_wait_until.
 */
int drive_save_download(struct drive *d, char path[FILE_PATH_MAX]) MUST_USE;

#endif
