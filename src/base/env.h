/* Values in an environment: strings "NAME=value", NULL behind the last. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include "base/arena.h"

/* The value of name, NULL where it is missing; one that is empty is a value. */
const char *env_find(const char *const *env, struct str name);
/* The same, but one that is empty counts as missing. */
const char *env_value(const char *const *env, const char *name);

/*
 * A list in the arena with all of env's strings, which stay env's, and room for so many
 * more. NULL: out of memory.
 */
const char **env_copy(const char *const *env, size_t more, struct arena *a) MUST_USE;
/* Puts "NAME=value", borrowed, in the place of the one of that name, or behind all. */
void env_put(const char **env, const char *variable);

#endif
