/*
 * A look into the layers of an image without an engine: which shells it has, and
 * whether a layer is one of ours. An engine fed with the bytes of layers, gzipped or
 * not, the lowest first; nothing is unpacked.
 */
#ifndef INJECT_SCAN_H
#define INJECT_SCAN_H

#include "base/buf.h"
#include "file/untar.h"

#include <zlib.h>

enum scan_state { SCAN_START, SCAN_PLAIN, SCAN_GZIP, SCAN_END };

struct scan {
	enum scan_state state;
	z_stream z;
	bool inflates;
	struct untar untar;
	unsigned char *room; /* what is unpacked goes here */
	struct buf memory;   /* of room */
	uint32_t shells;     /* bits: which of shells_ladder are there */
	bool openhands;      /* there is an /openhands */
	bool others;         /* this layer has entries that are not of our kind */
};

void scan_init(struct scan *s);
void scan_free(struct scan *s);

/* Before the bytes of each layer. 0 or -ENOMEM. */
int scan_layer(struct scan *s) MUST_USE;
/*
 * A piece of the layer; arg is a struct scan, so that it is the put of a sink. 0;
 * ERR_SYNTAX when it is neither gzip nor a tar archive that is understood here, or
 * has more in it than layers that are looked into have; -ENOMEM.
 */
int scan_put(void *arg, struct str piece) MUST_USE;

/* Whether there is a program at one of the places where the client looks for shells. */
bool scan_has_shell(const struct scan *s);

#endif
