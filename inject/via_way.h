/* What the ways have in common, and the one with a file of its own. For via*.c alone. */
#ifndef INJECT_VIA_WAY_H
#define INJECT_VIA_WAY_H

#include "inject/via.h"

/* Notes why a way is not possible: 1, or -ENOMEM and its like. */
int via_why_not(struct via *v, const char *words) MUST_USE;
/* The same in the words of an engine that has refused to take files. */
int via_refused_files(struct via *v, const struct reply *reply) MUST_USE;

/* A mount that the container has to have. */
void via_add_mount(struct via *v, struct spec_mount m);

/* 0 if the container has a file of p's length, that can be executed, at path; else 1. */
int via_shows(struct via *v, const char *id, const char *path,
	const struct program *p) MUST_USE;

/*
 * A volume for each client, filled by the first who finds it without: by one at a time,
 * who never touches what is right in it, as others may be starting from that. As the
 * functions of a way.
 */
int via_volume_prepare(struct via *v) MUST_USE;
int via_volume_fill(struct via *v, const char *id) MUST_USE;

#endif
