/* A program that goes into an image: its bytes, what it is, which machine it fits. */
#ifndef INJECT_PROGRAM_H
#define INJECT_PROGRAM_H

#include "base/buf.h"
#include "base/hash.h"

struct program {
	struct buf bytes; /* owned */
	const char *arch; /* as engines write it; static; NULL for no program */
	char sha256[SHA256_HEX + 1];
	struct program *plugins; /* owned; od-plugins that goes with a client; or NULL */
};

/* The bytes and the SHA-256 of od-plugins that goes with a client; empty for none. */
struct str program_plugins(const struct program *client);
struct str program_plugins_sha256(const struct program *client);
/* Names the exact bytes of a client and of od-plugins with it, in hexadecimal. */
void program_digest(const struct program *client, char hex[SHA256_HEX + 1]);

/*
 * The engine's word for the machine of a Linux executable: "amd64", "arm64" and
 * so on. ERR_SYNTAX when the bytes are no ELF executable that could be ours,
 * ERR_TYPE when it needs a loader (it has to run in images without one);
 * ERR_VERSION for a machine that we have no word for.
 */
int program_arch(struct str bytes, const char **arch) MUST_USE;

/*
 * The client for arch (empty for any): from path, or, when path is NULL, from
 * OD_RUNTIME_CLIENT, or beside our own executable, or from inside it. 0 with *p, which
 * is for another machine if there is none for arch; -ENOMEM or FAIL_*.
 *
 * plugins: with od-plugins, if there is one, from the folder of the client under that
 * name or with "-" and the architecture behind it; where no path was given, also from
 * inside our own executable.
 */
int program_find_client(
	struct program *p, const char *path, struct str arch, bool plugins) MUST_USE;

/*
 * Reads the client for another architecture: the same path with "-" and the engine's
 * word for it behind, such as od-runtime-client-arm64; where no path was given, also
 * from inside our own executable. 0 with *p; 1 when there is none that fits; -ENOMEM,
 * FAIL_* for an od-plugins that is none.
 */
int program_find_other(
	struct program *p, const char *path, struct str arch, bool plugins) MUST_USE;

/*
 * Appends the architectures of the carried programs, a blank before each; section is
 * one of those in carried.h. -errno.
 */
int program_carried(struct str section, struct buf *list) MUST_USE;

/*
 * Reads a static busybox for arch from path, or, when path is NULL, from the first
 * of the usual places that has one. 0 with *p; 1 when path is NULL and there is
 * none; -ENOMEM or FAIL_*.
 */
int program_find_busybox(struct program *p, const char *path, const char *arch) MUST_USE;

/* What is told about an image without a shell for which there is no busybox. */
#define PROGRAM_NO_SHELL \
	"has no shell, so that commands will not run in it; give a static busybox with " \
	"--busybox"

/* Takes a zeroed object too. */
void program_free(struct program *p);

#endif
