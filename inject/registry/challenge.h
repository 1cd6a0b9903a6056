/*
 * Parses the authentication challenge of a server: WWW-Authenticate (RFC 9110, 11.6.1).
 * An engine without I/O.
 */
#ifndef INJECT_REGISTRY_CHALLENGE_H
#define INJECT_REGISTRY_CHALLENGE_H

#include "base/arena.h"

enum challenge_scheme { CHALLENGE_OTHER, CHALLENGE_BASIC, CHALLENGE_BEARER };

/* A parameter that is absent is empty. */
struct challenge {
	enum challenge_scheme scheme;
	struct str realm, service, scope, error;
};

/*
 * The next challenge of a field's value; *rest advances. 0; 1 at the end; ERR_SYNTAX;
 * ERR_DUPLICATE for a parameter that occurs twice; -ENOMEM if the arena, which holds
 * unescaped values, is full.
 */
int challenge_next(struct str *rest, struct arena *a, struct challenge *c) MUST_USE;

#endif
