/* The Dockerfile that turns a user's image into a runtime image. No I/O. */
#ifndef INJECT_DOCKERFILE_H
#define INJECT_DOCKERFILE_H

#include "inject/labels.h"
#include "inject/plugin.h"

/*
 * What stands on what: each has a name of its own, so that a build can begin at the
 * highest one that is there. Those in the middle are made only if there is something
 * in them.
 */
enum rung {
	RUNG_BASE,      /* the user's image */
	RUNG_VERSIONED, /* with his extra dependencies: the only RUN */
	RUNG_LOCK,      /* with plugins */
	RUNG_SOURCE,    /* with the client */
};

struct dockerfile {
	struct str from;       /* what the FROM line names */
	enum rung below, upto; /* what that is, and what comes of it */
	struct image *base;    /* the user's */
	struct str base_ref;   /* as the user typed it */
	struct str arch;
	struct str client_sha256;
	struct str shell;          /* where commands find one, as image_shell has it */
	struct str busybox_sha256; /* of the one that goes in; empty for none */
	struct str plugins_sha256; /* of the od-plugins that goes in; empty for none */
	struct str version, lock, key; /* the tags of the rungs; empty for none */
	struct str deps;               /* extra commands, as JSON; empty for none */
	struct str plugins_label;
	const struct plugins *plugins; /* NULL for none */
	const struct buf *lent;        /* for each, what COPY --from names its image */
};

/* Whether there is anything in the rung. */
bool dockerfile_has(const struct dockerfile *d, enum rung rung);

/*
 * Appends the text: FROM, then for each rung one LABEL and what is in it: USER, RUN,
 * USER; a COPY for each plugin; COPY, HEALTHCHECK NONE if the base has a check,
 * ENTRYPOINT. The labels come first, so that every image that a builder makes on its
 * way bears them. No RUN but for extra dependencies, so that it works without a shell,
 * without a network and with a single user id. Values of the base stand in it as JSON,
 * quoted so that the parser of Dockerfiles gives the same bytes back. ERR_LIMIT when
 * one of them is longer than a line of a Dockerfile may be; ERR_SYNTAX when the name
 * of the base's user cannot stand in one.
 */
int dockerfile_write(const struct dockerfile *d, struct buf *out) MUST_USE;

/* The labels of the product, for other ways to make it. */
struct labels dockerfile_labels(const struct dockerfile *d);

/* Commands as the label od.deps and a RUN line have them: a string of JSON. */
void dockerfile_quote(struct str lines, struct buf *out);

#endif
