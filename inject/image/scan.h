/*
 * Examines the layers of an image without an engine: finds the shells in it, and whether
 * od-runtime made a layer. The caller passes the bytes of the layers, gzipped or not, the
 * lowest layer first; nothing is unpacked to disk. Without I/O.
 */
#ifndef INJECT_IMAGE_SCAN_H
#define INJECT_IMAGE_SCAN_H

#include "base/buf.h"
#include "codec/archive/untar.h"

#include <zlib.h>

enum scan_state { SCAN_START, SCAN_PLAIN, SCAN_GZIP, SCAN_END };

struct scan {
	enum scan_state state;
	z_stream z;
	bool inflates;
	struct untar untar;
	unsigned char *room; /* the buffer for unpacked bytes */
	struct buf memory;   /* owns room */
	uint32_t shells;     /* bits: which of shells_paths are there */
	bool openhands;      /* there is an /openhands */
	bool others;         /* this layer has entries that od-runtime does not make */
};

void scan_init(struct scan *s);
void scan_free(struct scan *s);

/* Must be called before the bytes of each layer. 0 or -ENOMEM. */
int scan_begin_layer(struct scan *s) MUST_USE;
/*
 * Scans a piece of the layer; arg is a struct scan, so that this is the put of a sink. 0;
 * ERR_SYNTAX: it is neither gzip nor a supported tar archive, or it is too large;
 * -ENOMEM.
 */
int scan_put(void *arg, struct str piece) MUST_USE;

/* Whether there is a program at one of the paths where the client looks for shells. */
bool scan_has_shell(const struct scan *s);

#endif
