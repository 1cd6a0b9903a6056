/*
 * The image's own program beside the server: --entrypoint run or wait, and the words
 * behind "--". A child like any other, with the sandbox user's rights, whose output
 * goes where ours goes; its end is logged and ends nothing else. It outlives a crash
 * of the server, which then neither starts it again nor loses its status.
 */
#ifndef SRV_ENTRYPOINT_H
#define SRV_ENTRYPOINT_H

#include "act/act.h"
#include "proc/children.h"
#include "proc/spawn.h"

/* The names of its entries in the fd store begin so; its status follows, once known. */
#define ENTRYPOINT_KEPT "entrypoint:"

enum entrypoint_state {
	ENTRYPOINT_IDLE, /* it has not been started, or none is wanted */
	ENTRYPOINT_RUNNING,
	ENTRYPOINT_ENDED,
	ENTRYPOINT_FAILED, /* it could not be started */
};

struct entrypoint {
	const struct box *box; /* set by the caller; the rest is zero */
	enum entrypoint_state state;
	pid_t pid;
	int status; /* ENDED: as from wait(2) */
	int err;    /* FAILED: why, and at which step */
	const char *step;
	struct child child;
	struct spawn_report report;
	void (*ended)(void *arg); /* NULL: nobody waits */
	void *arg;
};

/* What an earlier process has kept of it; others' entries are ignored. */
void entrypoint_kept(struct entrypoint *e, const struct store_record *r);

/*
 * Starts it, unless it runs or has run, and calls ended (NULL: nobody) once, when it
 * has ended or could not be started: at once where that is so already.
 */
void entrypoint_start(struct entrypoint *e, void (*ended)(void *arg), void *arg);

/* Init has reaped a process that an earlier server had started. */
void entrypoint_exited(struct entrypoint *e, pid_t pid, int status);

/* The member "entrypoint" of /server_info, if one is wanted. */
void entrypoint_write_info(const struct entrypoint *e, struct jw *w);

void entrypoint_free(struct entrypoint *e);

#endif
