/*
 * The frames of an attached process, see docs/protocol.md: a head of type (1 byte), three
 * zero bytes and length (4 bytes, big-endian), then the payload. The format is that of
 * Docker's attach; type 4 is an addition.
 */
#ifndef CODEC_PROCESS_FRAME_H
#define CODEC_PROCESS_FRAME_H

#include "base/buf.h"

enum process_frame_type {
	PROCESS_FRAME_STDIN = 0,
	PROCESS_FRAME_STDOUT = 1, /* or the output of a pty */
	PROCESS_FRAME_STDERR = 2,
	PROCESS_FRAME_CONTROL = 4, /* one JSON object */
};

enum {
	PROCESS_FRAME_HEAD = 8,
	PROCESS_FRAME_MAX = 1 << 20, /* bytes of payload */
};

/* Writes the head of a frame with n bytes of payload. */
void process_frame_write_head(
	uint8_t head[PROCESS_FRAME_HEAD], enum process_frame_type type, size_t n);

/* Appends a head to be completed by process_frame_end; returns its position in out. */
size_t process_frame_begin(struct buf *out, enum process_frame_type type);
/* Writes the length of what was appended to out since process_frame_begin returned at. */
void process_frame_end(struct buf *out, size_t at);

/* Decodes the frames of one direction. Memory is used for control frames only. */
struct process_frames {
	bool to_sandbox; /* types 0 and 4 are legal; otherwise 1, 2 and 4 */
	uint8_t head[PROCESS_FRAME_HEAD];
	unsigned head_n; /* bytes of head that have been read */
	size_t left;     /* bytes of the payload to come, once head is complete */
	struct buf control;
};

struct process_frame {
	enum process_frame_type type;
	struct str bytes; /* a piece of stdin or of an output; or a whole control */
};

/* control_max limits the payload of control frames. */
void process_frames_init(struct process_frames *r, bool to_sandbox, size_t control_max);
void process_frames_free(struct process_frames *r);

/*
 * Consumes bytes from the front of in. 0: *f is the next frame, or a piece of it; its
 * bytes are valid until the next call and as long as the memory of in is valid. 1: in is
 * used up. ERR_SYNTAX: a head is not legal; ERR_LIMIT: a frame is too long; -ENOMEM.
 * After an error r must not be used.
 */
int process_frames_next(
	struct process_frames *r, struct str *in, struct process_frame *f) MUST_USE;

/*
 * The number of bytes of a data frame that come next, which a caller can move without
 * process_frames_next; 0 inside a head or a control frame.
 */
size_t process_frames_count_data(const struct process_frames *r);
/* Skips n of those bytes, which the caller has moved. */
void process_frames_skip(struct process_frames *r, size_t n);

#endif
