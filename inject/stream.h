/*
 * The two kinds of stream that engines send: lines of JSON while they build or
 * pull, and frames of a container's output. Engines without I/O.
 */
#ifndef INJECT_STREAM_H
#define INJECT_STREAM_H

#include "base/arena.h"
#include "base/buf.h"

enum progress_kind {
	PROGRESS_OTHER, /* nothing for people */
	PROGRESS_TEXT,  /* what the builder says */
	PROGRESS_TRACE, /* base64 of what BuildKit reports, see build_trace.h */
	PROGRESS_ERROR, /* the operation failed, whatever the HTTP status was */
};

struct progress {
	enum progress_kind kind;
	struct str text;         /* lives as long as the arena */
	struct str id;           /* of the layer that it is about; empty for none */
	uint64_t current, total; /* bytes of it; 0 where nothing is said */
};

/*
 * Reads one line. Lines that are no JSON object are PROGRESS_OTHER: engines send
 * keep-alives. -ENOMEM only.
 */
int progress_read(struct str line, struct arena *a, struct progress *p) MUST_USE;

/* Takes frames apart: stream (1 out, 2 err), three zeros, length, bytes. */
struct frames {
	unsigned char head[8];
	unsigned head_n;
	uint32_t left; /* bytes of this frame still to come */
};

/* Zeroed is a valid start. */
void frames_init(struct frames *f);
/*
 * Takes bytes from the front of *in. 0: *piece is output of the stream *fd. 1:
 * *in is used up. ERR_SYNTAX when this is no frame.
 */
int frames_next(struct frames *f, struct str *in, int *fd, struct str *piece) MUST_USE;
/* 0 between two frames, else ERR_CLOSED. */
int frames_close(const struct frames *f) MUST_USE;

#endif
