/* The inside of a transfer's job: its input, its reply. For srv/transfer* only. */
#ifndef SRV_TRANSFER_IO_H
#define SRV_TRANSFER_IO_H

#include "base/jw.h"
#include "srv/transfer.h"

struct transfer_io {
	int in, out;
	struct buf buf; /* of the reply, on its way */
	bool begun;
	bool damaged; /* a file may hold old and new bytes mixed, after an error */
	size_t much;  /* of buf: worth to be sent */
	char *piece;  /* of the input, TRANSFER_PIECE bytes */
};

/* The whole job; a job_work_fn but for its argument. */
int transfer_work(const struct transfer_ask *ask, int in, int out) MUST_USE;

/* The next piece of the body: 1; 0 at its end; ERR_CLOSED: it is cut off; -errno. */
int transfer_read(struct transfer_io *io, struct str *piece) MUST_USE;

/* Begins the reply; nothing of it may have been sent. Then its bytes. 0 or -errno. */
int transfer_begin(struct transfer_io *io, const struct transfer_head *head) MUST_USE;
/* What was written to io->buf, if it is much; all of it. */
int transfer_flush_much(struct transfer_io *io) MUST_USE;
int transfer_flush(struct transfer_io *io) MUST_USE;

/* A reply of JSON that is in io->buf. */
int transfer_json(struct transfer_io *io, unsigned status) MUST_USE;
/* {"detail": words}, and "damaged": true where that is so. */
int transfer_fail(struct transfer_io *io, unsigned status, struct str words) MUST_USE;
/* 500 (503: no memory), the contract's words: "[Errno 13] Permission denied: 'PATH'". */
int transfer_errno(struct transfer_io *io, int err, struct str path) MUST_USE;

/* One field of the head; a value that does not fit is left out. */
void transfer_field(struct transfer_head *head, const char *name, struct str value);

#endif
