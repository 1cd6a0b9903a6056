/* The works behind /v1/files, and how they say what went wrong. */
#ifndef SRV_TRANSFER_V1_H
#define SRV_TRANSFER_V1_H

#include "file/path.h"
#include "srv/transfer_io.h"

/* {"detail":"PATH: words"} with the status that fits the -errno or err. */
int v1_fail(struct transfer_io *io, int err, struct str path) MUST_USE;
/* The path of ask, which is absolute; false, and answered in *r, when it cannot be. */
bool v1_path(struct transfer_io *io, struct str sent, struct file_path *p, int *r);
/* Opens the folder (O_PATH), made with those above it if it is not there: or -errno. */
int v1_open_folder(const char *path) MUST_USE;

/* A single file. */
int v1_get(struct transfer_io *io, const struct transfer_ask *ask);
int v1_put(struct transfer_io *io, const struct transfer_ask *ask);

/* What needs no content. */
int v1_stat(struct transfer_io *io, const struct transfer_ask *ask);
int v1_mkdir(struct transfer_io *io, const struct transfer_ask *ask);
int v1_move(struct transfer_io *io, const struct transfer_ask *ask);
int v1_remove(struct transfer_io *io, const struct transfer_ask *ask);

/* Whole trees. */
int v1_get_tar(struct transfer_io *io, const struct transfer_ask *ask);
int v1_put_tar(struct transfer_io *io, const struct transfer_ask *ask);

#endif
