/*
 * The image's own program beside the server: --entrypoint run or wait, and the words
 * after "--". It is a child with the rights of the sandbox user, and its output goes to
 * the server's stdout and stderr. Its end is logged and ends nothing else. It survives a
 * crash of the server: the next server process neither starts it again nor loses its
 * status.
 */
#ifndef SERVER_ENTRYPOINT_H
#define SERVER_ENTRYPOINT_H

#include "action/act.h"
#include "proc/children.h"
#include "proc/spawn.h"

/*
 * Prefix of its entries in the fd store. The exit status follows it when the program has
 * ended.
 */
#define ENTRYPOINT_RECORD "entrypoint:"

enum entrypoint_state {
	ENTRYPOINT_IDLE, /* not started, or not wanted */
	ENTRYPOINT_RUNNING,
	ENTRYPOINT_ENDED,
	ENTRYPOINT_FAILED, /* the program could not be started */
};

struct entrypoint {
	const struct box *box; /* set by the caller; the rest is zero */
	enum entrypoint_state state;
	pid_t pid;
	int status; /* ENTRYPOINT_ENDED: as from wait(2) */
	int err;    /* ENTRYPOINT_FAILED: the error, and the step that failed */
	const char *step;
	struct child child;
	struct spawn_report report;
	void (*ended)(void *arg); /* may be NULL */
	void *arg;
};

/* Restores the state from a record of an earlier process. Other records are ignored. */
void entrypoint_restore(struct entrypoint *e, const struct store_record *r);

/*
 * Starts the program, unless it runs or has run. Calls ended (may be NULL) once, when the
 * program has ended or could not be started; at once if this is the case already.
 */
void entrypoint_start(struct entrypoint *e, void (*ended)(void *arg), void *arg);

/* Init has reaped pid, a process that an earlier server process started. */
void entrypoint_handle_exit(struct entrypoint *e, pid_t pid, int status);

/* Writes the member "entrypoint" of /server_info, if --entrypoint is set. */
void entrypoint_write_info(const struct entrypoint *e, struct jw *w);

void entrypoint_free(struct entrypoint *e);

#endif
