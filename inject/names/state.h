/*
 * The stored state of a sandbox: the key, which the engine never receives. Each sandbox
 * has a file of mode 0600, NAME.json, in a folder of mode 0700: $OD_STATE_DIR/sandboxes,
 * or ${XDG_STATE_HOME:-~/.local/state}/od-runtime/sandboxes.
 */
#ifndef INJECT_NAMES_STATE_H
#define INJECT_NAMES_STATE_H

#include "base/hash.h"
#include "limits.h"

enum {
	STATE_NAME_MAX = 128,
	STATE_ID_MAX = 128,
	STATE_KEY_LEN = 32,
	STATE_OVERLAY_MAX = 63,
	STATE_TIME_MAX = 39,
};

struct state {
	char name[STATE_NAME_MAX + 1];
	char id[STATE_ID_MAX + 1];        /* of the container; empty before it exists */
	char engine[ENGINE_PATH_MAX + 1]; /* the socket of the engine that runs it */
	char key[2 * STATE_KEY_LEN + 1];
	bool tls;    /* its server speaks TLS with a key of its own */
	bool pinned; /* pin has the SHA-256 of the public key */
	uint8_t pin[SHA256_LEN];
	/* The end of the run before that of the pin, in the engine's format. */
	char ended[STATE_TIME_MAX + 1];
	uint16_t port; /* in a foreign container with an injected client; else 0 */
	char overlay[STATE_OVERLAY_MAX + 1]; /* as its label says; not saved */
};

/* [a-zA-Z0-9][a-zA-Z0-9_.-]+, valid as the name of a container and of a file. */
bool state_is_name(struct str name);

/* Makes a new key; its hash is not secret. 0 or -errno. */
int state_make_key(struct state *s, char hash[SHA256_HEX + 1]) MUST_USE;

/* Writes the file again, atomically. 0 or FAIL_*. */
int state_save(const struct state *s) MUST_USE;

/* 0; -ENOENT: there is no such file; otherwise FAIL_*. */
int state_load(const char *name, struct state *s) MUST_USE;

/*
 * As state_load, without a message. True if the state is of the container with this id:
 * then the caller calls state_wipe_key.
 */
bool state_find(struct str name, struct str id, struct state *s) MUST_USE;

/*
 * Calls fn with every state that can be read, in no order. Ends with the first result
 * that is not 0, and returns it. A missing folder counts as empty. Prints nothing.
 */
int state_each(int (*fn)(void *arg, const struct state *s), void *arg) MUST_USE;

/* The path of the file of a state. 0, -ENOENT (HOME is not set) or -ENAMETOOLONG. */
int state_path(const char *name, char *path, size_t room) MUST_USE;

/* Removes the file; a missing file is no error. */
void state_remove(const char *name);

/* Overwrites the key in memory. */
void state_wipe_key(struct state *s);

#endif
