/* The Dockerfile that turns a user's image into a runtime image. No I/O. */
#ifndef INJECT_DOCKERFILE_H
#define INJECT_DOCKERFILE_H

#include "inject/image.h"

struct dockerfile {
	struct str from; /* what the FROM line names */
	struct image *base;
	struct str base_ref; /* as the user typed it */
	struct str arch;
	struct str client_sha256;
	struct str shell;          /* where commands find one, as image_shell has it */
	struct str busybox_sha256; /* of the one that goes in; empty for none */
	struct str key;            /* the tag of the product */
};

/*
 * Appends the text: FROM, one LABEL, one COPY, HEALTHCHECK NONE if the base has a
 * check, ENTRYPOINT. The labels come first, so that every image that a builder makes
 * on its way bears them. No RUN, so that it works without a shell, without a network
 * and with a single user id. Values of the base stand in it as JSON, quoted so
 * that the parser of Dockerfiles gives the same bytes back. ERR_LIMIT when one of
 * them is longer than a line of a Dockerfile may be.
 */
int dockerfile_write(const struct dockerfile *d, struct buf *out) MUST_USE;

#endif
