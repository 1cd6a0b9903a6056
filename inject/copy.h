/*
 * Files to and from a sandbox, as tar archives on the way: by its server, with the
 * rights of the sandbox user, or, where it does not run, by the engine.
 */
#ifndef INJECT_COPY_H
#define INJECT_COPY_H

#include "inject/sandbox.h"

struct copy {
	const struct engine *engine;
	const struct sandbox *sandbox; /* opened, if it runs */
	const char *remote;            /* path in it, from / on */
	const char *local;             /* path here; "-" for a tar on stdin or stdout */
};

/*
 * Names are chosen as docker cp does: into a folder that is there, else under the
 * name given; SOURCE/. stands for what is in a folder. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int copy_down(const struct copy *c) MUST_USE;
int copy_up(const struct copy *c) MUST_USE;

enum copy_kind { COPY_ABSENT, COPY_FILE, COPY_FOLDER };

/* What is at a path of the sandbox; links are looked through. 0 or an error. */
int copy_look(const struct copy *c, struct str path, enum copy_kind *kind) MUST_USE;

/* Begins the exchange of an archive with path; the caller closes call. */
int copy_begin(const struct copy *c, const char *method, struct str path,
	struct call *call) MUST_USE;
/*
 * As call_read and call_finish, for a busy peer: it may be silent or slow for up to
 * INJECT_STREAM_MS in all while it answers other requests. *rounds is 0
 * before the first piece.
 */
int copy_read(const struct copy *c, struct call *call, unsigned *rounds,
	struct str *piece) MUST_USE;
int copy_finish(const struct copy *c, struct call *call) MUST_USE;
/* Says why the other side refuses; returns FAIL_ENVIRONMENT or what reading gave. */
int copy_refused(const struct copy *c, struct call *call);
/* Says that the exchange failed with r. */
int copy_fail(const struct copy *c, int r);

/* The last part of a path and what stands before it; "/" and "" have no last part. */
struct str copy_base(struct str path);
struct str copy_parent(struct str path);
/* Whether a path ends in "/.". */
bool copy_wants_content(struct str path);

#endif
