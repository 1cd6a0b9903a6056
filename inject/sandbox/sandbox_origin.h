/*
 * Finds which containers are sandboxes. A container inherits the labels of its image, so
 * labels alone prove nothing: od-runtime created a container if the key of that container
 * is in the state folder, or if the owner's label names the container and its image does
 * not have the same label. (The image of a committed sandbox has it.)
 */
#ifndef INJECT_SANDBOX_SANDBOX_ORIGIN_H
#define INJECT_SANDBOX_SANDBOX_ORIGIN_H

#include "inject/engine/engine.h"
#include "inject/names/state.h"

enum sandbox_origin {
	SANDBOX_FOREIGN,  /* made by another program */
	SANDBOX_CREATED,  /* made by od-runtime */
	SANDBOX_INJECTED, /* made by another program; "inject" put the client into it */
};

/* A container as the engine describes it. */
struct sandbox_identity {
	struct str name; /* without the slash */
	struct str id;
	struct str image; /* its id */
	struct json_val labels;
};

/* The images that pass a label of od-runtime on; read once, if needed. */
struct sandbox_origins {
	const struct engine *engine;
	struct reply reply;
	struct json_doc images;
	bool asked;
};

void sandbox_origins_init(struct sandbox_origins *o, const struct engine *e);
void sandbox_origins_free(struct sandbox_origins *o);

/*
 * The origin of a container whose labels are in d. *port is the port at which the client
 * listens in an injected container, and SANDBOX_PORT for others. 0, -EINTR, -ENOMEM or
 * FAIL_*. The engine is asked only if the state folder does not have the answer.
 */
int sandbox_origin_find(struct sandbox_origins *o, struct json_doc *d,
	const struct sandbox_identity *c, enum sandbox_origin *origin,
	uint16_t *port) MUST_USE;

#endif
