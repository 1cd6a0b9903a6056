/*
 * Functions shared by the injection methods, and the method that has a file of its own.
 * For injection*.c alone.
 */
#ifndef INJECT_SANDBOX_INJECTION_PRIVATE_H
#define INJECT_SANDBOX_INJECTION_PRIVATE_H

#include "inject/sandbox/injection.h"

/* Stores the reason why a method is not possible: 1, or -ENOMEM and other errors. */
int injection_set_reason(struct injection *v, const char *words) MUST_USE;
/* Stores the message of an engine that has refused to take files as the reason. */
int injection_set_reply_reason(struct injection *v, const struct reply *reply) MUST_USE;

/* Adds a mount that the container must have. */
void injection_add_mount(struct injection *v, struct spec_parse_mount m);

/* 0: the container has an executable file of p's length at path; else 1. */
int injection_check_program(struct injection *v, const char *id, const char *path,
	const struct program *p) MUST_USE;

/*
 * Each client has a volume, which the first process that finds it incomplete fills. Only
 * one process at a time fills it. A process never changes correct files, because other
 * sandboxes may be starting from the volume. Results as the functions of a method.
 */
int injection_volume_prepare(struct injection *v) MUST_USE;
int injection_volume_fill(struct injection *v, const char *id) MUST_USE;

#endif
