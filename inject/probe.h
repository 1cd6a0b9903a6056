/* Looking into an image without starting anything. */
#ifndef INJECT_PROBE_H
#define INJECT_PROBE_H

#include "inject/engine.h"

enum probe_kind { PROBE_ABSENT, PROBE_FOLDER, PROBE_OTHER };

struct probe {
	enum probe_kind od;        /* "/.od" */
	enum probe_kind openhands; /* "/openhands" */
};

/*
 * Makes a container of the image, asks about the two paths, removes the container.
 * Links are not followed. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int probe_image(const struct engine *e, struct str image, struct probe *p) MUST_USE;

/* What X-Docker-Container-Path-Stat says: base64 of JSON with Go's file mode. */
int probe_read_stat(struct str header, enum probe_kind *kind) MUST_USE;

#endif
