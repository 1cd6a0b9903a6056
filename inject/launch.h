/* From an image, and a way for our client to get in, to a sandbox that is ready. */
#ifndef INJECT_LAUNCH_H
#define INJECT_LAUNCH_H

#include "inject/connect.h"
#include "inject/sandbox.h"
#include "inject/settings.h"
#include "inject/timing.h"
#include "inject/via.h"

struct launch {
	const struct engine *engine;
	const struct settings *settings; /* how the user wants it to be */
	const char *image;               /* what the engine shall start */
	const char *shown_image;         /* as the user calls it */
	const char *working_dir;
	struct image *base; /* whose entrypoint it is, if that shall run */
	const struct connect
		*connect; /* to what it dials out; may be without --connect */
	struct via *via;  /* how the client gets into it; NULL when it is in the image */
	bool auto_remove; /* the engine removes it once it has stopped */
	bool bound;       /* it is removed when this process ends, however that ends */
};

/*
 * Creates, starts and waits. 0 with *s open; the steps are noted in t. On failure
 * the container and its state are gone, and the last lines that the sandbox has
 * written are shown. -EINTR, -ENOMEM or FAIL_*.
 */
int launch_run(const struct launch *l, struct timing *t, struct sandbox *s) MUST_USE;

#endif
