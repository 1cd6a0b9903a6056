/* Looking into an image without starting anything. */
#ifndef INJECT_PROBE_H
#define INJECT_PROBE_H

#include "inject/engine.h"

/* What stands at a path. */
enum probe_kind {
	PROBE_ABSENT,
	PROBE_FOLDER,
	PROBE_LINK,    /* symbolic */
	PROBE_PROGRAM, /* a file that somebody may execute */
	PROBE_OTHER,
};

struct probe {
	enum probe_kind od;        /* "/.od" */
	enum probe_kind openhands; /* "/openhands" */
	bool shell;                /* one that the client would find */
};

/*
 * Makes a container of the image, asks about paths in it, removes the container on
 * every way out. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int probe_image(const struct engine *e, struct str image, struct probe *p) MUST_USE;

/*
 * What X-Docker-Container-Path-Stat says: base64 of JSON with Go's file mode and,
 * of a link, where it leads to, which goes to target (empty otherwise).
 */
int probe_read_stat(
	struct str header, enum probe_kind *kind, struct buf *target) MUST_USE;

#endif
