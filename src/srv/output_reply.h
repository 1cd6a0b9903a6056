/* Replies with outputs that are addressed by offset: of actions, of processes. */
#ifndef SRV_OUTPUT_REPLY_H
#define SRV_OUTPUT_REPLY_H

#include "srv/params.h"
#include "srv/reader.h"

/* The parameters of such a request. */
struct output_ask {
	uint64_t from, max, wait_s;
	bool follow;    /* octets as they come */
	unsigned until; /* 1: the end of the process is the end */
	bool range;     /* from and max are those of a field Range */
};

/* An output as a request meets it. */
struct output_size {
	uint64_t end;  /* of what there is */
	bool complete; /* no more will come */
};

/*
 * Reads the parameters from, max, wait, with follows also follow and until, and the
 * fields Range and Last-Event-ID. False, and answered: 422, 416.
 */
bool output_ask_read(struct request *rq, const struct output_size *size, bool follows,
	struct output_ask *out);
/* Answers that offset from lies beyond the end. */
void output_refuse(struct request *rq);
/* Replies with the bytes that were written to request_out. */
void output_reply(struct request *rq, const struct output_ask *ask,
	const struct output_size *size, uint64_t from, uint64_t next);

/* The event of lost bytes. */
void output_put_gap(struct buf *out, uint64_t from, uint64_t to);
/* The event of bytes that begin at offset at. */
void output_put_bytes(struct buf *out, uint64_t at, struct str bytes);
/* Without the half of a character at the end, which waits for the other, unless last. */
struct str output_whole(struct str bytes, bool last);

#endif
