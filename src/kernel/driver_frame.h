/*
 * The frames between the server and the driver of a kernel: four bytes of length,
 * little-endian, then JSON. Without I/O: the caller adds bytes and takes frames.
 */
#ifndef KERNEL_DRIVER_FRAME_H
#define KERNEL_DRIVER_FRAME_H

#include "base/buf.h"

/* Sizes in bytes. */
enum {
	DRIVER_FRAME_MAX = 24 << 20, /* a picture of 16 MB, or a text escaped sixfold */
	DRIVER_READ = 65536,         /* taken at once: a pipe holds as many */
};

enum { DRIVER_FRAME_HEAD = 4 };

struct driver_frames {
	struct buf in;
	size_t at; /* offset of the next frame */
};

void driver_frames_init(struct driver_frames *f);
void driver_frames_free(struct driver_frames *f);

/* Adds received bytes. ERR_LIMIT, -ENOMEM. */
int driver_frames_put(struct driver_frames *f, struct str bytes) MUST_USE;
/*
 * The next frame, borrowed until the next put. 0; positive: no complete frame;
 * ERR_LIMIT: the frame is longer than DRIVER_FRAME_MAX, and no other can follow.
 */
int driver_frames_next(struct driver_frames *f, struct str *frame) MUST_USE;

/* Appends body as a frame. */
void driver_frame_put(struct buf *out, struct str body);

#endif
