/* Examines an image without starting a container. */
#ifndef INJECT_IMAGE_PROBE_H
#define INJECT_IMAGE_PROBE_H

#include "inject/engine/engine.h"

/* The kind of file at a path. */
enum probe_kind {
	PROBE_ABSENT,
	PROBE_FOLDER,
	PROBE_LINK,    /* symbolic */
	PROBE_PROGRAM, /* a file that some user may execute */
	PROBE_OTHER,
};

struct probe {
	enum probe_kind od;        /* "/.od" */
	enum probe_kind openhands; /* "/openhands" */
	bool linked;               /* the drop-in path leads to the client */
	bool shell;                /* a shell that every user can execute */
	bool sh;                   /* /bin/sh, which a builder needs for RUN */
};

struct probe_stat {
	enum probe_kind kind;
	int64_t size;  /* bytes; -1: not given */
	unsigned mode; /* permission bits */
};

/*
 * Creates a container of the image, requests the paths in it, and removes the container
 * in any case. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int probe_image(const struct engine *e, struct str image, struct probe *p) MUST_USE;

/*
 * Creates a container that never runs; its id, ended by a NUL, is stored in id.
 * probe_container examines it or any other container. If volume is not NULL, the volume
 * is mounted at /.od and the container has its name; 1: there is such a container
 * already. The caller calls probe_close in any case.
 */
int probe_open(const struct engine *e, struct str image, const char *volume,
	struct buf *id) MUST_USE;
void probe_close(const struct engine *e, struct buf *id);
int probe_container(const struct engine *e, const char *id, struct probe *p) MUST_USE;
/*
 * Describes the file at path, without following a link, whose target is appended to
 * target.
 */
int probe_path(const struct engine *e, const char *id, struct str path,
	struct probe_stat *st, struct buf *target) MUST_USE;
/*
 * Whether there is a shell that every user can execute: its format is supported, and its
 * loader or interpreter exists.
 */
int probe_shell(const struct engine *e, const char *id, bool *found) MUST_USE;

/*
 * Whether the image of the container has a /.od that is no directory. Creates another
 * container of the image, without mounts, for that. Explains a failure; prints nothing.
 * False also if the engine refuses.
 */
bool probe_is_od_blocked(const struct engine *e, const char *id) MUST_USE;
/* Prints that the image or container name has such a /.od. Returns FAIL_ENVIRONMENT. */
int probe_fail_od(struct str name);
/* Prints that an image gets no drop-in link, and the consequence. */
void probe_note_openhands(struct str name);

/*
 * Reads X-Docker-Container-Path-Stat: base64 of JSON with Go's file mode and the target
 * of a link, which is stored in target (empty for other files).
 */
int probe_read_stat(
	struct str header, struct probe_stat *st, struct buf *target) MUST_USE;

#endif
