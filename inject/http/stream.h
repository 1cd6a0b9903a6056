/*
 * The two kinds of stream that engines send: lines of JSON while they build or pull, and
 * frames of a container's output. Without I/O.
 */
#ifndef INJECT_HTTP_STREAM_H
#define INJECT_HTTP_STREAM_H

#include "base/arena.h"
#include "base/buf.h"

enum progress_kind {
	PROGRESS_OTHER, /* not for people */
	PROGRESS_TEXT,  /* output of the builder */
	PROGRESS_TRACE, /* base64 of BuildKit's report, see build_trace.h */
	PROGRESS_ERROR, /* the operation failed, even with HTTP status 200 */
};

struct progress {
	enum progress_kind kind;
	struct str text;         /* valid as long as the arena */
	struct str id;           /* of the layer that the line is about; empty: none */
	uint64_t current, total; /* bytes of it; 0: not given */
};

/*
 * Reads a line. Lines that are no JSON object are PROGRESS_OTHER: engines send
 * keep-alives. 0 or -ENOMEM.
 */
int progress_read(struct str line, struct arena *a, struct progress *p) MUST_USE;

/* Parses frames: stream (1 out, 2 err), three zeros, length, bytes. */
struct frames {
	unsigned char head[8];
	unsigned head_n;
	uint32_t left; /* bytes of this frame still to come */
};

/* Zeroed is a valid start. */
void frames_init(struct frames *f);
/*
 * Takes bytes from the front of *in. 0: *piece is output of the stream *fd. 1: *in is
 * used up. ERR_SYNTAX: this is no frame.
 */
int frames_next(struct frames *f, struct str *in, int *fd, struct str *piece) MUST_USE;
/* 0 between two frames, else ERR_CLOSED. */
int frames_close(const struct frames *f) MUST_USE;

#endif
