/*
 * The work functions of the file routes (files.h). Each replies through io, and
 * returns as a job_work_fn does.
 */
#ifndef SERVER_FILES_FILE_JOBS_H
#define SERVER_FILES_FILE_JOBS_H

#include "fs/path.h"
#include "fs/tree.h"
#include "server/files/transfer_io.h"

/*
 * With messages of the contract: GET /download_files, POST /list_files, POST
 * /upload_file.
 */
int send_zip(struct transfer_io *io, const struct transfer_request *ask);
int send_list(struct transfer_io *io, const struct transfer_request *ask);
int receive_form(struct transfer_io *io, const struct transfer_request *ask);

/* /v1/files: a single file, or a whole tree as tar. */
int send_file(struct transfer_io *io, const struct transfer_request *ask);
int receive_file(struct transfer_io *io, const struct transfer_request *ask);
int send_tar(struct transfer_io *io, const struct transfer_request *ask);
int receive_tar(struct transfer_io *io, const struct transfer_request *ask);

/* /v1/files: requests without content. */
int send_stat(struct transfer_io *io, const struct transfer_request *ask);
int change_mkdir(struct transfer_io *io, const struct transfer_request *ask);
int change_move(struct transfer_io *io, const struct transfer_request *ask);
int change_remove(struct transfer_io *io, const struct transfer_request *ask);

/* Replies {"detail":"PATH: message"} with the status for err (-errno or ERR_*). */
int file_jobs_fail(struct transfer_io *io, int err, struct str path) MUST_USE;
/* Checks an absolute path of a request. False: it is invalid, and *r has the result. */
bool file_jobs_check_path(
	struct transfer_io *io, struct str sent, struct file_path *p, int *r);
/*
 * Opens the folder (O_PATH) at an absolute path. Makes missing folders; with sync, waits
 * until their names are on disk. Returns the fd or -errno.
 */
int file_jobs_open_folder(const char *path, bool sync) MUST_USE;

/*
 * Opens a file or folder to send, with *st: a folder for listing, or a regular file as
 * load_open does. Returns the fd, ERR_TYPE for another type, or -errno.
 */
int file_jobs_open_top(const char *path, struct stat *st) MUST_USE;

/* Appends "PATH: why" to the list of files that a reply lacks, if there is space. */
void file_jobs_add_omitted(struct buf *words, struct str path, const char *why);
/* The message for an item with an error. */
const char *file_jobs_get_error(const struct tree_item *i);

#endif
