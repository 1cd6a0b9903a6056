/*
 * Copies files to and from a sandbox, transferred as tar archives: by its server, with
 * the rights of the sandbox user, or, if it does not run, by the engine.
 */
#ifndef INJECT_SANDBOX_COPY_COPY_H
#define INJECT_SANDBOX_COPY_COPY_H

#include "inject/sandbox/sandbox.h"

struct copy {
	const struct engine *engine;
	const struct sandbox *sandbox; /* opened, if it runs */
	const char *remote;            /* path in it, from / on */
	const char *local;             /* path here; "-" for a tar on stdin or stdout */
};

/*
 * Names are chosen as docker cp does: into a folder that exists, else under the name
 * given; SOURCE/. means the content of a folder. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int copy_down(const struct copy *c) MUST_USE;
int copy_up(const struct copy *c) MUST_USE;

enum copy_kind { COPY_ABSENT, COPY_FILE, COPY_FOLDER };

/* Finds the kind of a path of the sandbox; links are followed. 0 or an error. */
int copy_find_kind(const struct copy *c, struct str path, enum copy_kind *kind) MUST_USE;

/* Begins the exchange of an archive with path; the caller closes call. */
int copy_begin(const struct copy *c, const char *method, struct str path,
	struct http_client *call) MUST_USE;
/*
 * As http_client_read and http_client_finish, for a busy peer: it may be silent or slow
 * for up to INJECT_STREAM_MS in all while it answers other requests. *rounds is 0 before
 * the first piece.
 */
int copy_read(const struct copy *c, struct http_client *call, unsigned *rounds,
	struct str *piece) MUST_USE;
int copy_finish(const struct copy *c, struct http_client *call) MUST_USE;
/*
 * Prints why the server or engine refuses; returns FAIL_ENVIRONMENT, or the error of
 * reading its answer.
 */
int copy_fail_status(const struct copy *c, struct http_client *call);
/* Prints that the exchange failed with r. */
int copy_fail(const struct copy *c, int r);

/* The last part of a path, and the part before it; "/" and "" have no last part. */
struct str copy_base(struct str path);
struct str copy_parent(struct str path);
/* Whether a path ends in "/.". */
bool copy_is_content_path(struct str path);

#endif
