/*
 * Decides what to do with a user's image: which image it is, whether it has our client
 * already, the name of the product, and whether the product exists.
 */
#ifndef INJECT_IMAGE_PLAN_H
#define INJECT_IMAGE_PLAN_H

#include "inject/engine/engine.h"
#include "inject/image/dockerfile.h"
#include "inject/image/image.h"
#include "inject/image/program.h"
#include "inject/options/options_sets.h"

enum plan_kind {
	PLAN_AS_IS,  /* the image has our client */
	PLAN_EXISTS, /* the product exists from an earlier build */
	PLAN_BUILD,
	PLAN_BASE, /* the client is injected into the container */
};

struct plan {
	enum plan_kind kind;
	struct engine *engine;               /* borrowed */
	const struct image_options *options; /* borrowed */
	struct program client;
	struct program busybox; /* for a base without a shell; empty: none */
	struct image images[2]; /* the named image; the image that it was made from */
	struct image *base;     /* the base of the product, or the product itself */
	struct buf base_ref;    /* as the user typed it, for messages and labels */
	struct buf canonical;   /* its canonical form, equal for all spellings */
	struct plugins plugins;
	struct buf plugins_label, deps; /* the parts below the client, as in labels */
	struct buf version, lock, tag;  /* of the three stages: "oh_v..." */
	enum image_stage stage;         /* the highest existing stage to build on */
	struct image below;     /* the image of that stage, if it is not the base */
	enum image_shell shell; /* of the product */
	bool drop_in;           /* whether the link for unmodified backends is added */
	struct buf name;   /* of the image to start: "od-runtime:oh_v...", or an id */
	struct buf old_id; /* of the image that had the name before; may be empty */
};

/*
 * Inspects the image called operand, pulls it first if o->pull says so, probes its
 * content if it has no product yet, and decides. 0; -EINTR, -ENOMEM, FAIL_*. plan_free in
 * any case.
 */
int plan_make(struct plan *p, struct engine *e, const struct image_options *o,
	const char *operand) MUST_USE;
/* Decides again, because another process may have built meanwhile. Results as above. */
int plan_update(struct plan *p) MUST_USE;
/* As plan_make for a container of the image itself, without a product. */
int plan_make_base(struct plan *p, struct engine *e, const struct image_options *o,
	const char *operand) MUST_USE;
void plan_free(struct plan *p);

/*
 * Probes the base and decides what goes into the product; plan_make does this only if the
 * product does not exist. Results as above.
 */
int plan_probe_base(struct plan *p) MUST_USE;

/* Whether the options need an image, not only a container: dependencies, plugins. */
bool plan_needs_image(const struct image_options *o);

/* Whether SANDBOX_UPDATE_SOURCE_CODE is set: the client changes often. */
bool plan_is_development(void);

/*
 * Whether the product must be the commit of a container: the user wants that, or the base
 * has ONBUILD instructions, which a builder would execute.
 */
bool plan_requires_commit(struct plan *p);

/*
 * Inspects the image called name. 0; 1: there is none; -EINTR, -ENOMEM or FAIL_*. The
 * caller frees im only after 0.
 */
int plan_inspect(const struct engine *e, const char *name, struct image *im) MUST_USE;

/* The SHA-256 of the busybox that goes into the product; empty for none. */
struct str plan_busybox_sha256(const struct plan *p);

/* Whether im is the product that p would build: our key, and layers on p's base. */
bool plan_matches(struct plan *p, struct image *im);

#endif
