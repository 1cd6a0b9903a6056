/* The job's side of a transfer: its input and its reply. For transfer* only. */
#ifndef SERVER_FILES_TRANSFER_IO_H
#define SERVER_FILES_TRANSFER_IO_H

#include "base/jw.h"
#include "server/files/transfer.h"

struct transfer_io {
	int in, out;
	struct buf buf; /* output that is not sent yet */
	bool begun;
	bool damaged;      /* a file may hold old and new bytes mixed, after an error */
	size_t flush_size; /* size of buf from which on it is sent */
	char *piece;       /* buffer for input, TRANSFER_PIECE bytes */
};

/* Runs the whole job, like a job_work_fn. */
int transfer_io_run(const struct transfer_request *ask, int in, int out) MUST_USE;

/* Reads the next piece of the body. 1; 0: its end; ERR_CLOSED: it is cut off; -errno. */
int transfer_read(struct transfer_io *io, struct str *piece) MUST_USE;

/* Begins the reply, once. Its bytes follow. Returns 0 or -errno. */
int transfer_begin(struct transfer_io *io, const struct transfer_head *head) MUST_USE;
/* Send io->buf: if it is large enough, or in any case. */
int transfer_flush_large(struct transfer_io *io) MUST_USE;
int transfer_flush(struct transfer_io *io) MUST_USE;

/* Replies with the JSON in io->buf. */
int transfer_reply_json(struct transfer_io *io, unsigned status) MUST_USE;
/* Replies {"detail": words}, with "damaged": true if io->damaged is set. */
int transfer_fail(struct transfer_io *io, unsigned status, struct str words) MUST_USE;
/*
 * Replies 500 (503: no memory) as the contract: "[Errno 13] Permission denied: 'PATH'".
 */
int transfer_fail_errno(struct transfer_io *io, int err, struct str path) MUST_USE;

/* Adds a field to the head. A value that does not fit is left out. */
void transfer_add_field(struct transfer_head *head, const char *name, struct str value);

#endif
