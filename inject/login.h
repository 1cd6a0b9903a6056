/*
 * Who we are to a registry: what `docker login` has left in config.json, or what a
 * credential helper answers. Secrets are in memory only; nothing here prints them.
 */
#ifndef INJECT_LOGIN_H
#define INJECT_LOGIN_H

#include "base/arena.h"
#include "base/buf.h"

/* Empty strs for what is not there; all empty: nobody. */
struct login {
	struct str user, secret;
	struct str identity; /* a token that gets other tokens, instead of a secret */
};

/* What config.json says of a registry: at most one of the two. */
struct login_source {
	struct str helper; /* docker-credential-HELPER has it */
	struct login login;
};

/*
 * Reads a config.json (credHelpers, then auths, then credsStore where auths has nothing)
 * for a registry ("host" or "host:port"; docker.io stands for all of its names). 0 with
 * *s in the arena, all empty when it is not mentioned; ERR_SYNTAX, -ENOMEM.
 */
int login_read(struct str config, struct str registry, struct arena *a,
	struct login_source *s) MUST_USE;

/* A helper's answer to "get". 0, ERR_SYNTAX, -ENOMEM. */
int login_read_helper(struct str answer, struct arena *a, struct login *l) MUST_USE;

/*
 * Finds the login for a registry: DOCKER_CONFIG/config.json, ~/.docker/config.json and
 * the helper named there. 0 with *l in the arena, empty for none; -EINTR; FAIL_* with a
 * line printed.
 */
int login_find(struct str registry, struct arena *a, struct login *l) MUST_USE;

/* Appends the value of X-Registry-Auth (base64url of JSON) for an engine's pull. */
void login_engine_header(const struct login *l, struct str registry, struct buf *out);

/* Whether text names Docker's own registry, by any of its names. */
bool login_is_hub(struct str registry);

#endif
