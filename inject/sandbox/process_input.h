/*
 * stdin of an attached process: bytes that were read here stay in a ring until the
 * sandbox has acknowledged them, so that they can be sent again on another connection.
 * Without I/O.
 */
#ifndef INJECT_SANDBOX_PROCESS_INPUT_H
#define INJECT_SANDBOX_PROCESS_INPUT_H

#include "codec/process_frame.h"

#include <sys/uio.h>

/* The largest window that is used, even if the sandbox offers more. */
enum { PROCESS_INPUT_MAX = 1 << 20 };

struct process_input {
	struct buf ring;      /* the memory of the ring: all of its n bytes */
	uint64_t read;        /* bytes read from stdin */
	uint64_t sent, taken; /* bytes sent and acknowledged: taken <= sent <= read */
	bool ended;           /* no more is read */
	/* The frame that is being sent. */
	uint8_t head[PROCESS_FRAME_HEAD];
	unsigned head_n;   /* bytes of the head to be sent */
	size_t frame_left; /* bytes of the payload to be sent */
};

/* Allocates at most window bytes; 0 or -ENOMEM. */
int process_input_init(struct process_input *in, size_t window) MUST_USE;
void process_input_free(struct process_input *in);

/* Memory for *n bytes to be read; NULL: there is none at present. */
char *process_input_space(const struct process_input *in, size_t *n);
void process_input_add(struct process_input *in, size_t n);

/* Fills v with the bytes to send next; returns the number of vectors: 0, 1 or 2. */
int process_input_next(struct process_input *in, struct iovec v[2]);
/* Records that n of these bytes were sent. */
void process_input_sent(struct process_input *in, size_t n);
/* Whether a frame was begun and not sent completely: no other frame may be sent. */
bool process_input_in_frame(const struct process_input *in);

/* The sandbox has acknowledged taken bytes in all: 0; ERR_RANGE: it got fewer. */
int process_input_credit(struct process_input *in, uint64_t taken) MUST_USE;
/*
 * Prepares a new connection, whose peer has acknowledged taken bytes: the rest is sent
 * again. ERR_RANGE: the rest is not in the ring.
 */
int process_input_rewind(struct process_input *in, uint64_t taken) MUST_USE;

#endif
