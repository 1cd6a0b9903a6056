/* Requests to an engine whose path contains the name or the id of an image. */
#ifndef INJECT_ENGINE_ENGINE_IMAGE_H
#define INJECT_ENGINE_ENGINE_IMAGE_H

#include "inject/engine/engine.h"

/* As engine_request, for the description of an image; reply_free in any case. */
int engine_image_inspect(
	const struct engine *e, struct str name, struct reply *reply) MUST_USE;

/*
 * Adds a name to an image; signals do not end it. 0; -EINTR; FAIL_* with doing and
 * reason.
 */
int engine_image_tag(const struct engine *e, struct str image, const char *repo,
	struct str tag, const char *doing) MUST_USE;

/*
 * Whether an image of the engine's list, in d, has only names that od-runtime gives.
 * Labels are inherited: an image that a user made from an image of od-runtime belongs to
 * the user. An image that was pulled by its digest has no tag, and its label can have any
 * value.
 */
bool engine_image_has_own_names(struct json_doc *d, struct json_val image);

/* Whether a name of an image, with its tag or digest, is one that od-runtime gives. */
bool engine_image_is_own_name(struct str name);

/* As engine_cleanup: removes the name, or the image, and not its parents. */
int engine_image_remove(const struct engine *e, struct str name);

#endif
