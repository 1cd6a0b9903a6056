/* A program that goes into an image: its bytes, its hash and its architecture. */
#ifndef INJECT_IMAGE_PROGRAM_H
#define INJECT_IMAGE_PROGRAM_H

#include "base/buf.h"
#include "base/hash.h"

struct program {
	struct buf bytes; /* owned */
	const char *arch; /* as engines write it; static; NULL for no program */
	char sha256[SHA256_HEX + 1];
	struct program *plugins; /* owned; the od-plugins of a client; or NULL */
};

/* The bytes and the SHA-256 of the od-plugins of a client; empty: none. */
struct str program_plugins_bytes(const struct program *client);
struct str program_plugins_sha256(const struct program *client);
/* Hashes the exact bytes of a client and of its od-plugins, in hexadecimal. */
void program_digest(const struct program *client, char hex[SHA256_HEX + 1]);

/*
 * The engine's name for the architecture of a Linux executable: "amd64", "arm64" and so
 * on. ERR_SYNTAX: the bytes are no usable ELF executable. ERR_TYPE: it needs a loader,
 * but it has to run in images without one. ERR_VERSION: the architecture has no name
 * here.
 */
int program_arch(struct str bytes, const char **arch) MUST_USE;

/*
 * The client for arch (empty: any): from path, or, if path is NULL, from
 * OD_RUNTIME_CLIENT, from the folder of our own executable, or from inside it. 0 with *p,
 * which is for another architecture if there is none for arch; -ENOMEM or FAIL_*.
 *
 * plugins: with od-plugins, if there is one, from the folder of the client under that
 * name or with "-" and the architecture appended. If no path was given, also from inside
 * our own executable.
 */
int program_find_client(
	struct program *p, const char *path, struct str arch, bool plugins) MUST_USE;

/*
 * Reads the client for another architecture: at the path with "-" and the engine's name
 * of the architecture appended, such as od-runtime-client-arm64. If no path was given,
 * also from inside our own executable. 0 with *p; 1: none fits; -ENOMEM, or FAIL_*: the
 * od-plugins is not valid.
 */
int program_find_other(
	struct program *p, const char *path, struct str arch, bool plugins) MUST_USE;

/*
 * Appends the architectures of the embedded programs, a blank before each; section is one
 * of the sections in embedded.h. 0 or -errno.
 */
int program_list_embedded(struct str section, struct buf *list) MUST_USE;

/*
 * Reads a static busybox for arch from path, or, if path is NULL, from the first of the
 * usual places that has one. 0 with *p; 1: path is NULL and there is none; -ENOMEM or
 * FAIL_*.
 */
int program_find_busybox(struct program *p, const char *path, const char *arch) MUST_USE;

/* The message about an image without a shell when there is no busybox. */
#define PROGRAM_NO_SHELL \
	"has no shell, so commands will fail; give a static busybox with " \
	"--busybox"

/* Takes a zeroed object too. */
void program_free(struct program *p);

#endif
