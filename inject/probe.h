/* Looking into an image without starting anything. */
#ifndef INJECT_PROBE_H
#define INJECT_PROBE_H

#include "inject/engine.h"

/* What stands at a path. */
enum probe_kind {
	PROBE_ABSENT,
	PROBE_FOLDER,
	PROBE_LINK,    /* symbolic */
	PROBE_PROGRAM, /* a file that somebody may execute */
	PROBE_OTHER,
};

struct probe {
	enum probe_kind od;        /* "/.od" */
	enum probe_kind openhands; /* "/openhands" */
	bool linked;               /* the drop-in path leads to the client */
	bool shell;                /* one that every user can execute */
	bool sh;                   /* /bin/sh, which builders want for a RUN */
};

struct probe_stat {
	enum probe_kind kind;
	int64_t size;  /* bytes; -1 where nothing is said */
	unsigned mode; /* permission bits */
};

/*
 * Makes a container of the image, asks about paths in it, removes the container on
 * every way out. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int probe_image(const struct engine *e, struct str image, struct probe *p) MUST_USE;

/*
 * The same in steps: a container that never runs, with its id, ended by a NUL, in id;
 * then questions about that or any other container. With a volume, unless that is NULL,
 * in /.od, whose name it has: 1 when there is such a container. probe_close in any case.
 */
int probe_open(const struct engine *e, struct str image, const char *volume,
	struct buf *id) MUST_USE;
void probe_close(const struct engine *e, struct buf *id);
int probe_container(const struct engine *e, const char *id, struct probe *p) MUST_USE;
/* What is at path, itself: a link's target is appended to target. */
int probe_path(const struct engine *e, const char *id, struct str path,
	struct probe_stat *st, struct buf *target) MUST_USE;
/*
 * Whether there is a shell that every user can execute: its format is known, and its
 * loader or interpreter is there.
 */
int probe_shell(const struct engine *e, const char *id, bool *found) MUST_USE;

/*
 * Whether the image of the container has a /.od that is no directory. Creates another
 * container of the image, without mounts, for that. Explains a failure; prints nothing.
 * False also if the engine refuses.
 */
bool probe_od_is_taken(const struct engine *e, const char *id) MUST_USE;
/* Prints that the image or container name has such a /.od; FAIL_ENVIRONMENT. */
int probe_fail_od(struct str name);
/* Prints that an image gets no drop-in link, and what follows from that. */
void probe_note_openhands(struct str name);

/*
 * What X-Docker-Container-Path-Stat says: base64 of JSON with Go's file mode and,
 * of a link, where it leads to, which goes to target (empty otherwise).
 */
int probe_read_stat(
	struct str header, struct probe_stat *st, struct buf *target) MUST_USE;

#endif
