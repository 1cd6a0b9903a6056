/*
 * What is to be done to a user's image: which image it really is, whether it
 * carries our client already, what the product is called, whether that exists.
 */
#ifndef INJECT_PLAN_H
#define INJECT_PLAN_H

#include "inject/dockerfile.h"
#include "inject/engine.h"
#include "inject/image.h"
#include "inject/options.h"
#include "inject/program.h"

enum plan_kind {
	PLAN_AS_IS,  /* the image has our client in it */
	PLAN_EXISTS, /* the product is there from an earlier build */
	PLAN_BUILD,
	PLAN_BASE, /* the client gets into the container instead */
};

struct plan {
	enum plan_kind kind;
	struct engine *engine;         /* borrowed */
	const struct options *options; /* borrowed */
	struct program client;
	struct program busybox; /* for a base without a shell; empty for none */
	struct image images[2]; /* what was named; what that was made from */
	struct image *base;     /* the one that the product is made from, or is */
	struct buf base_ref;    /* as typed, for people and labels */
	struct buf canonical;   /* the same, so that all spellings agree */
	struct plugins plugins;
	struct buf plugins_label, deps; /* what stands below the client, in labels */
	struct buf version, lock, tag;  /* of the three rungs: "oh_v..." */
	enum rung rung;                 /* the highest that is there to build on */
	struct image below;             /* that one, if it is not the base */
	enum image_shell shell;         /* of the product */
	bool drop_in;                   /* the link for unmodified backends goes in */
	struct buf name;   /* of the image to start: "od-runtime:oh_v...", or an id */
	struct buf old_id; /* of what stood under that name before; may be empty */
};

/*
 * Looks at the image called operand, fetching it first if o->pull says so, looks
 * into it if no product of it is there, and decides. 0; -EINTR, -ENOMEM, FAIL_*.
 * plan_free in any case.
 */
int plan_make(struct plan *p, struct engine *e, const struct options *o,
	const char *operand) MUST_USE;
/* Decides once more, since others may have built meanwhile. Results as above. */
int plan_again(struct plan *p) MUST_USE;
/* The same for a container of the image itself: no product is looked for or made. */
int plan_base(struct plan *p, struct engine *e, const struct options *o,
	const char *operand) MUST_USE;
void plan_free(struct plan *p);

/*
 * Looks into the base and decides what goes into the product: plan_make does that only
 * if it is not there yet. Results as above.
 */
int plan_look(struct plan *p) MUST_USE;

/* What is to be in it can only be had in an image: dependencies, plugins. */
bool plan_needs_image(const struct options *o);

/* SANDBOX_UPDATE_SOURCE_CODE is set: the client changes all the time. */
bool plan_in_development(void);

/*
 * A builder must not see the base, because it has ONBUILD instructions, or is not wanted:
 * the product is the commit of a container.
 */
bool plan_must_commit(struct plan *p);

/*
 * Inspects the image called name. 0; 1 when there is none; -EINTR, -ENOMEM or
 * FAIL_*. im is freed by the caller only after 0.
 */
int plan_inspect(const struct engine *e, const char *name, struct image *im) MUST_USE;

/* The SHA-256 of the busybox that goes into the product; empty for none. */
struct str plan_busybox(const struct plan *p);

/* Whether im is what p would build: our key, and layers on p's base. */
bool plan_matches(struct plan *p, struct image *im);

#endif
