/* The client binary: where it is, what it is, whom it fits. */
#ifndef INJECT_CLIENT_H
#define INJECT_CLIENT_H

#include "base/buf.h"
#include "base/hash.h"

struct client {
	struct buf bytes; /* owned */
	const char *arch; /* as engines write it; static */
	char sha256[SHA256_HEX + 1];
};

/*
 * The engine's word for the machine of a Linux executable: "amd64", "arm64" and
 * so on. ERR_SYNTAX when the bytes are no ELF executable that could be ours,
 * ERR_TYPE when it needs a loader (it has to run in images without one);
 * ERR_VERSION for a machine that we have no word for.
 */
int client_elf_arch(struct str bytes, const char **arch) MUST_USE;

/*
 * Reads the binary from path, or, when path is NULL, from OD_RUNTIME_CLIENT, or
 * beside our own executable. 0 or FAIL_*. client_free takes a zeroed object too.
 */
int client_load(struct client *c, const char *path) MUST_USE;
void client_free(struct client *c);

#endif
