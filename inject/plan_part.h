/*
 * What a product consists of, rung by rung, and from which of them a build can begin
 * because it is there from an earlier one.
 */
#ifndef INJECT_PLAN_PART_H
#define INJECT_PLAN_PART_H

#include "inject/plan.h"

/* What is to stand below the client, from the options. 0, FAIL_*, -EINTR, -ENOMEM. */
int plan_find_parts(struct plan *p) MUST_USE;

/*
 * Sets p->rung to the highest that is there, and p->below to go with it. Only what has
 * something in it was ever made. 0, FAIL_*, -EINTR, -ENOMEM.
 */
int plan_find_rung(struct plan *p) MUST_USE;

/*
 * Goes on with r, what plan_inspect says of the image called name: fetches one that is
 * not there, if that is allowed, and says so if it is not. Results as plan_inspect but 1.
 */
int plan_need(struct plan *p, const char *name, int r, struct image *im) MUST_USE;

/* The product in words; from, below, upto and lent are the caller's. */
struct dockerfile plan_describe(struct plan *p);

/*
 * Writes the Dockerfile of the rungs above below up to upto, with from as what they
 * stand on, and, unless it is NULL, lent as the names of the plugins' images. 0 or
 * FAIL_*.
 */
struct plan_part {
	struct str from;
	enum rung below, upto;
	const struct buf *lent;
};
int plan_dockerfile(
	struct plan *p, const struct plan_part *part, struct buf *out) MUST_USE;

/* Whether there is anything in a rung; the tag of one. */
bool plan_has(struct plan *p, enum rung rung);
struct str plan_tag(const struct plan *p, enum rung rung);

/* Whether im is what the rung shall be: made from the same, on p's base. */
bool plan_is_rung(struct plan *p, struct image *im, enum rung rung);

#endif
