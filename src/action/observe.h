/*
 * Observations: the answers to actions, key by key as the wire contract has them. They
 * are appended to a->out or out, whose err reports a lack of memory. Texts are borrowed,
 * need not be UTF-8, and are copied.
 */
#ifndef ACTION_OBSERVE_H
#define ACTION_OBSERVE_H

#include "action/act.h"

/* An error observation; for a hidden run a run observation, as clients need it. */
void observe_error(struct act *a, struct str text);
void observe_errorf(struct act *a, const char *fmt, ...) PRINTF(2, 3);

struct run_observation {
	struct str command;
	struct str content;
	bool hidden;
	int exit_code; /* -1: still running, or nothing was run */
	bool known;    /* the metadata below is known */
	int64_t pid;   /* of the last background process, -1 for none */
	struct str username, hostname, working_dir, python;
	struct str prefix, suffix;
};
/* Content of more than the contract's limit is cut in the middle unless hidden. */
void observe_run(struct buf *out, const struct run_observation *o);

void observe_read(struct act *a, struct str path, struct str content);
/* As observe_read, for the editor's view. */
void observe_view(struct act *a, struct str path, struct str content);
void observe_write(struct act *a, struct str path);

struct edit_observation {
	struct str path; /* as sent */
	struct str content;
	struct str old_str; /* p is NULL for none */
	struct str new_str;
	struct str diff;
};
void observe_edit(struct act *a, const struct edit_observation *o);

/* Begins an observation up to its extras, which are left open for the caller. */
void observe_begin(struct jw *w, struct buf *out, const char *kind, struct str message,
	struct str content);
/* Closes extras and the observation. */
void observe_end(struct jw *w);

#endif
