/* The Dockerfile that turns a user's image into a runtime image. No I/O. */
#ifndef INJECT_IMAGE_DOCKERFILE_H
#define INJECT_IMAGE_DOCKERFILE_H

#include "inject/image/labels.h"
#include "inject/image/plugin.h"

/*
 * The rungs (stages) of a runtime image, each based on the one before it in this list.
 * Each has a name of its own, so a build can begin at the last stage that exists. The
 * middle stages are made only if they have content.
 */
enum image_stage {
	IMAGE_STAGE_BASE,      /* the user's image */
	IMAGE_STAGE_VERSIONED, /* with the user's extra dependencies: the only RUN */
	IMAGE_STAGE_LOCK,      /* with plugins */
	IMAGE_STAGE_SOURCE,    /* with the client */
};

struct dockerfile {
	struct str from;              /* the name in the FROM line */
	enum image_stage below, upto; /* the rung of that image, and the rung to make */
	struct image *base;           /* the user's */
	struct str base_ref;          /* as the user typed it */
	struct str arch;
	struct str client_sha256;
	struct str shell; /* where commands find a shell, as image_shell has it */
	struct str busybox_sha256; /* of the busybox that is added; empty for none */
	struct str plugins_sha256; /* of the od-plugins that is added; empty for none */
	struct str version, lock, key; /* the tags of the rungs; empty for none */
	struct str deps;               /* extra commands, as JSON; empty for none */
	struct str plugins_label;
	const struct plugins *plugins; /* NULL for none */
	const struct buf
		*plugin_refs; /* for each, the name of its image for COPY --from */
};

/* Whether the rung has content. */
bool dockerfile_has_stage(const struct dockerfile *d, enum image_stage rung);

/*
 * Appends the text: FROM, then for each rung a LABEL and its content: USER, RUN, USER; a
 * COPY for each plugin; COPY, HEALTHCHECK NONE if the base has a check, ENTRYPOINT. The
 * labels come first, so that every intermediate image of a builder has them. Only extra
 * dependencies need a RUN, so a build works without a shell, without a network and with
 * a single user id. Values of the base are written as JSON, quoted so that the parser of
 * Dockerfiles returns the same bytes. ERR_LIMIT if a value is longer than a line of a
 * Dockerfile may be; ERR_SYNTAX if a Dockerfile cannot contain the name of the base's
 * user.
 */
int dockerfile_write(const struct dockerfile *d, struct buf *out) MUST_USE;

/* The labels of the product, for other ways to make it. */
struct labels dockerfile_get_labels(const struct dockerfile *d);

/* Appends commands as a JSON string, for the label od.deps and a RUN line. */
void dockerfile_quote(struct str lines, struct buf *out);

#endif
