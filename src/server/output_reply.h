/* Replies with outputs of actions and processes, which are addressed by offset. */
#ifndef SERVER_OUTPUT_REPLY_H
#define SERVER_OUTPUT_REPLY_H

#include "server/params.h"
#include "server/reader.h"

/* The parameters of a request for an output. */
struct output_request {
	uint64_t from, max, wait_s;
	bool follow;    /* stream the bytes as they are written */
	unsigned until; /* 1: the output ends at the exit of the process */
	bool range;     /* from and max come from the field Range */
};

/* The size of an output at the time of a request. */
struct output_size {
	uint64_t end;  /* the offset after the newest byte */
	bool complete; /* no more bytes follow */
};

/*
 * Reads the parameters from, max, wait, with follows also follow and until, and the
 * fields Range and Last-Event-ID. False: the request is answered with 422 or 416.
 */
bool output_read_request(struct request *rq, const struct output_size *size, bool follows,
	struct output_request *out);
/* Answers that offset from lies beyond the end. */
void output_refuse(struct request *rq);
/* Replies with the bytes that were written to request_out. */
void output_reply(struct request *rq, const struct output_request *ask,
	const struct output_size *size, uint64_t from, uint64_t next);

/*
 * Appends a "gap" event for the lost bytes between *at and from, if any, and an event for
 * bytes, which begin at offset from. Half a character at the end is left out, unless last
 * is set. Returns 0, with *at after the appended bytes; 1: bytes is only half a
 * character; -ENOMEM.
 */
int output_put_next(struct buf *out, uint64_t *at, uint64_t from, struct str bytes,
	bool last) MUST_USE;

#endif
