/*
 * The credentials for a registry: from config.json, where `docker login` stores them, or
 * from a credential helper. Secrets are in memory only and are never printed.
 */
#ifndef INJECT_REGISTRY_LOGIN_H
#define INJECT_REGISTRY_LOGIN_H

#include "base/arena.h"
#include "base/buf.h"

/* Absent values are empty strs; all are empty: no login. */
struct login {
	struct str user, secret;
	struct str identity; /* a token that gets other tokens, instead of a secret */
};

/* The entry of config.json for a registry: at most one of the two is set. */
struct login_source {
	struct str helper; /* the name HELPER of docker-credential-HELPER */
	struct login login;
};

/*
 * Reads a config.json (credHelpers, then auths, then credsStore if auths has no entry)
 * for a registry ("host" or "host:port"; docker.io stands for all of its names). 0 with
 * *s in the arena, all empty if there is no entry; ERR_SYNTAX, -ENOMEM.
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
void login_write_engine_header(
	const struct login *l, struct str registry, struct buf *out);

/* Whether text names Docker's own registry, by any of its names. */
bool login_is_hub(struct str registry);

#endif
