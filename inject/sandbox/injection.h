/*
 * The table of injection methods, by which the client gets into a sandbox. The methods
 * that make an image with it (build, commit) run before launching. The methods here make
 * no image: the container is made of the user's own image, and the client is mounted into
 * it from a file of this machine or from a volume, or is copied into it before it starts.
 */
#ifndef INJECT_SANDBOX_INJECTION_H
#define INJECT_SANDBOX_INJECTION_H

#include "inject/engine/engine.h"
#include "inject/image/image.h"
#include "inject/image/program.h"
#include "inject/options/options_sets.h"
#include "inject/options/spec.h"
#include "limits.h"

enum { INJECTION_MOUNTS = 3, INJECTION_VOLUME_MAX = 63 };

#define INJECTION_BUSYBOX "/.od/bin/busybox"

struct injection {
	const struct engine *engine;
	const struct sandbox_options *options; /* --via and --busybox */
	const struct program *client;          /* with its od-plugins, if there is one */
	struct program *busybox;               /* loaded when it is needed */
	struct image *image;
	const char *shown_image;

	enum injection_kind method; /* the method that is tried */
	bool with_busybox;
	bool busybox_reported;                      /* the missing busybox was reported */
	char file[INJECTION_MOUNTS][FILE_PATH_MAX]; /* on this machine */
	char volume[INJECTION_VOLUME_MAX + 1];
	char digest[SHA256_HEX + 1]; /* of the programs in the volume */
	bool volume_is_poor;         /* the volume exists and lacks files */
	struct spec_parse_mount mounts[INJECTION_MOUNTS]; /* needed for the method */
	size_t mounts_n;
	struct buf reason; /* the reason why the method is not possible */
};

/* Whether a method makes an image. */
bool injection_makes_image(enum injection_kind way);
const char *injection_method_name(enum injection_kind way);

/*
 * Chooses the method and prepares it: 0 with the mounts that the container must have,
 * -EINTR, -ENOMEM or FAIL_*. The caller has filled in the first six members;
 * injection_free in any case.
 */
int injection_begin(struct injection *v) MUST_USE;
void injection_free(struct injection *v);

/*
 * Copies the client into the container that was created with those mounts, or checks that
 * the mounts show it. 0: the container may start. 1: remove it and create another with
 * the current mounts, which are those of another method or more than before. Errors as
 * above.
 */
int injection_fill(struct injection *v, const char *id) MUST_USE;

/*
 * Handles a container creation that the engine has refused. If the mounts may be the
 * cause: 1 as above, or an error with a line printed; 0 for other causes.
 */
int injection_on_refusal(struct injection *v, const struct reply *reply) MUST_USE;
/*
 * Removes what was made for a container that was to be filled and is gone, if no other
 * container can use it.
 */
void injection_undo(struct injection *v);

/* --- For the methods --- */

/* Stores the reason why a method is not possible: 1, or -ENOMEM and other errors. */
int injection_set_reason(struct injection *v, const char *words) MUST_USE;
/* Stores the message of an engine that has refused to take files as the reason. */
int injection_set_reply_reason(struct injection *v, const struct reply *reply) MUST_USE;
/* Adds a mount that the container must have. */
void injection_add_mount(struct injection *v, struct spec_parse_mount m);
/* 0: the container has an executable file of p's length at path; else 1. */
int injection_check_program(struct injection *v, const char *id, const char *path,
	const struct program *p) MUST_USE;

#endif
