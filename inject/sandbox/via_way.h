/*
 * Functions shared by the injection methods, and the method that has a file of its own.
 * For via*.c alone.
 */
#ifndef INJECT_SANDBOX_VIA_WAY_H
#define INJECT_SANDBOX_VIA_WAY_H

#include "inject/sandbox/via.h"

/* Stores the reason why a method is not possible: 1, or -ENOMEM and other errors. */
int via_why_not(struct via *v, const char *words) MUST_USE;
/* Stores the message of an engine that has refused to take files as the reason. */
int via_refused_files(struct via *v, const struct reply *reply) MUST_USE;

/* Adds a mount that the container must have. */
void via_add_mount(struct via *v, struct spec_mount m);

/* 0: the container has an executable file of p's length at path; else 1. */
int via_shows(struct via *v, const char *id, const char *path,
	const struct program *p) MUST_USE;

/*
 * Each client has a volume, which the first process that finds it incomplete fills. Only
 * one process at a time fills it. A process never changes correct files, because other
 * sandboxes may be starting from the volume. Results as the functions of a method.
 */
int via_volume_prepare(struct via *v) MUST_USE;
int via_volume_fill(struct via *v, const char *id) MUST_USE;

#endif
