/* Values in an environment: strings "NAME=value", NULL behind the last. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include "base/str.h"

/* The value of name, NULL where it is missing; one that is empty is a value. */
const char *env_find(const char *const *env, struct str name);
/* The same, but one that is empty counts as missing. */
const char *env_value(const char *const *env, const char *name);

#endif
