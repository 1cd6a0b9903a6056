/*
 * The ways by which the client gets into a sandbox, one table of them. Those that make
 * an image of it (build, commit) come before launching; those here need none: the
 * container is made of the user's own image, and the client is bound into it from a
 * file of this machine, or from a volume, or put into it before it starts.
 */
#ifndef INJECT_VIA_H
#define INJECT_VIA_H

#include "inject/engine.h"
#include "inject/image.h"
#include "inject/options.h"
#include "inject/program.h"
#include "inject/spec.h"
#include "limits.h"

enum { VIA_MOUNTS = 3, VIA_VOLUME_MAX = 63 };

#define VIA_BUSYBOX "/.od/bin/busybox"

struct via {
	const struct engine *engine;
	const struct options *options; /* --via and --busybox */
	const struct program *client;  /* with its od-plugins, if there is one */
	struct program *busybox;       /* found when one is wanted */
	struct image *image;
	const char *shown_image;

	enum via_way way; /* the one that is tried */
	bool with_busybox;
	bool told;                            /* that there is none */
	char file[VIA_MOUNTS][FILE_PATH_MAX]; /* on this machine */
	char volume[VIA_VOLUME_MAX + 1];
	char digest[SHA256_HEX + 1];          /* of the programs that are in the volume */
	bool volume_is_poor;                  /* it exists and lacks files */
	struct spec_mount mounts[VIA_MOUNTS]; /* that the container needs for it */
	size_t mounts_n;
	struct buf why; /* the way was not possible */
};

/* Whether a way leaves an image behind. */
bool via_makes_image(enum via_way way);
const char *via_word(enum via_way way);

/*
 * Chooses the way and makes ready for it: 0 with the mounts that the container has to
 * have, -EINTR, -ENOMEM or FAIL_*. The caller has filled in the first six members;
 * via_free in any case.
 */
int via_begin(struct via *v) MUST_USE;
void via_free(struct via *v);

/*
 * Fills the container that was created with those mounts, or sees that they show what
 * they should. 0 when it may start. 1: remove it and create another, as the mounts say
 * now, which are those of another way or more than before. Errors as above.
 */
int via_fill(struct via *v, const char *id) MUST_USE;

/*
 * The engine has refused to create the container. If that may be for the sake of the
 * mounts: 1 as above, or an error that was told; 0 when it has other reasons.
 */
int via_refused(struct via *v, const struct reply *reply) MUST_USE;
/*
 * The container that was to be filled is gone: takes away what has been made for it and
 * is of no use to others.
 */
void via_undo(struct via *v);

/*
 * Puts the client, perhaps od-plugins, a busybox and the link of unmodified backends into
 * a container by way of its archive, or, without the link, into the volume at its /.od.
 * The status of the answer goes to reply, which the caller frees in any case. 0,
 * -EINTR, -ENOMEM or FAIL_*.
 */
struct via_files {
	/* Each may be empty: an existing file stays then. */
	struct str client, busybox, plugins_program;
	bool drop_in, volume;
};
int via_put(const struct engine *e, const char *id, const struct via_files *f,
	struct reply *reply) MUST_USE;

/*
 * Unpacks an archive of several parts into a folder of a container. A folder of the
 * archive replaces no link. The status of the answer is stored in reply, which the caller
 * has initialized. Errors as above.
 */
int via_put_archive(const struct engine *e, const char *id, const char *path,
	const struct str *parts, size_t parts_n, struct reply *reply) MUST_USE;

#endif
