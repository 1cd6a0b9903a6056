/*
 * What the jobs behind the routes of files do (srv/files.h): each answers through io,
 * and returns what a job_work_fn does.
 */
#ifndef SRV_WORKS_H
#define SRV_WORKS_H

#include "file/path.h"
#include "file/tree.h"
#include "srv/transfer_io.h"

/* In the contract's words: GET /download_files, POST /list_files, POST /upload_file. */
int send_zip(struct transfer_io *io, const struct transfer_ask *ask);
int send_list(struct transfer_io *io, const struct transfer_ask *ask);
int receive_form(struct transfer_io *io, const struct transfer_ask *ask);

/* Below /v1/files: a single file, a whole tree. */
int send_file(struct transfer_io *io, const struct transfer_ask *ask);
int receive_file(struct transfer_io *io, const struct transfer_ask *ask);
int send_tar(struct transfer_io *io, const struct transfer_ask *ask);
int receive_tar(struct transfer_io *io, const struct transfer_ask *ask);

/* What needs no content. */
int send_stat(struct transfer_io *io, const struct transfer_ask *ask);
int change_mkdir(struct transfer_io *io, const struct transfer_ask *ask);
int change_move(struct transfer_io *io, const struct transfer_ask *ask);
int change_remove(struct transfer_io *io, const struct transfer_ask *ask);

/* {"detail":"PATH: words"} with the status that fits the -errno or err. */
int work_fail(struct transfer_io *io, int err, struct str path) MUST_USE;
/* The path of ask, which is absolute; false, and answered in *r, when it cannot be. */
bool work_path(struct transfer_io *io, struct str sent, struct file_path *p, int *r);
/*
 * Opens the folder (O_PATH) at an absolute path, made with those above; with sync the
 * disk has the names of the new ones. Or -errno.
 */
int work_open_folder(const char *path, bool sync) MUST_USE;

/*
 * Opens what is to be sent, with *st: a folder for reading its names, or a regular file
 * as load_open does. ERR_TYPE for anything else; -errno.
 */
int work_open_top(const char *path, struct stat *st) MUST_USE;

/* Adds "PATH: why" to what a reply tells of files that it lacks, if there is room. */
void work_leave_out(struct buf *words, struct str path, const char *why);
/* Why an item with an error is left out. */
const char *work_why(const struct tree_item *i);

#endif
