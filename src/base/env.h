/* Values in an environment: strings "NAME=value", NULL behind the last. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include "base/arena.h"

/* The value of name; NULL if it is missing. An empty value is a value. */
const char *env_find(const char *const *env, struct str name);
/* As env_find, but an empty value counts as missing. */
const char *env_value(const char *const *env, const char *name);

/*
 * A list in the arena with all of env's strings, which env still owns, and space for more
 * entries. NULL: out of memory.
 */
const char **env_copy(const char *const *env, size_t more, struct arena *a) MUST_USE;
/* Replaces the entry of that name by "NAME=value", which is borrowed, or appends it. */
void env_put(const char **env, const char *variable);

#endif
