/*
 * Starts a sandbox from an image and a method that injects the client, until it is ready.
 */
#ifndef INJECT_SANDBOX_LAUNCH_H
#define INJECT_SANDBOX_LAUNCH_H

#include "inject/console/timing.h"
#include "inject/sandbox/injection.h"
#include "inject/sandbox/sandbox.h"
#include "inject/sandbox/settings/connect.h"
#include "inject/sandbox/settings/settings.h"

struct launch {
	const struct engine *engine;
	const struct settings *settings; /* the user's settings */
	const char *image;               /* the image that the engine starts */
	const char *shown_image;         /* the image as the user typed it */
	const char *working_dir;
	struct image *base; /* whose entrypoint runs, if any does */
	const struct connect
		*connect; /* the backend to dial out to; may have no --connect */
	struct injection *injection; /* injects the client; NULL: the image has it */
	bool auto_remove;            /* the engine removes it once it has stopped */
	bool bound; /* it is removed when this process ends, for any reason */
};

/*
 * Creates and starts the container and waits until it is ready. 0 with *s open; the steps
 * are noted in t. On failure the container and its state are removed, and the last lines
 * that the sandbox wrote are printed. -EINTR, -ENOMEM or FAIL_*.
 */
int launch_run(const struct launch *l, struct timing *t, struct sandbox *s) MUST_USE;

#endif
