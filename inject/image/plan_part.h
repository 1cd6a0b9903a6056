/* The stages of a product, and the highest existing stage that a build can begin with. */
#ifndef INJECT_IMAGE_PLAN_PART_H
#define INJECT_IMAGE_PLAN_PART_H

#include "inject/image/plan.h"

/* Fills in the stages below the client from the options. 0, FAIL_*, -EINTR, -ENOMEM. */
int plan_find_parts(struct plan *p) MUST_USE;

/*
 * Sets p->rung to the highest stage that exists as an image, and p->below to that image.
 * Empty stages were never built. 0, FAIL_*, -EINTR, -ENOMEM.
 */
int plan_find_stage(struct plan *p) MUST_USE;

/*
 * Continues with r, the result of plan_inspect for the image called name: pulls a missing
 * image if --pull permits it, else prints an error. Results as plan_inspect, except 1.
 */
int plan_require_image(
	struct plan *p, const char *name, int r, struct image *im) MUST_USE;

/* Describes the product; the caller fills in from, below, upto and lent. */
struct dockerfile plan_describe(struct plan *p);

/*
 * Writes the Dockerfile of the stages above below, up to upto, on the image from. lent
 * has the names of the plugins' images; NULL: as the user typed them. 0 or FAIL_*.
 */
struct plan_part {
	struct str from;
	enum image_stage below, upto;
	const struct buf *plugin_refs;
};
int plan_write_dockerfile(
	struct plan *p, const struct plan_part *part, struct buf *out) MUST_USE;

/* Whether a stage has any content; the tag of a stage. */
bool plan_has_stage(struct plan *p, enum image_stage rung);
struct str plan_stage_tag(const struct plan *p, enum image_stage rung);

/* Whether im is the image of the stage: made from equal inputs, on p's base. */
bool plan_is_stage(struct plan *p, struct image *im, enum image_stage rung);

#endif
