/* Of use to the files of external plugins alone. */
#ifndef PLUG_EXTERNAL_PRIVATE_H
#define PLUG_EXTERNAL_PRIVATE_H

#include "base/lines.h"
#include "limits.h"
#include "plug/external.h"
#include "plug/frame.h"
#include "plug/manifest.h"
#include "proc/children.h"
#include "proc/spawn.h"

/*
 *   OFF -> PROBING -> STARTING -> READY <-> ABSENT
 *
 * A need or a probe leads to LACKING, the end of the process to PAUSED, perhaps by
 * ENDING; from there it begins anew.
 */
enum external_state {
	EXTERNAL_OFF,      /* not started yet, or stopped for good */
	EXTERNAL_LACKING,  /* something it needs is not there; a call looks again */
	EXTERNAL_PROBING,  /* its probe runs */
	EXTERNAL_RESTING,  /* all is there; the first call starts it */
	EXTERNAL_STARTING, /* it runs, and has not said yet that it is ready */
	EXTERNAL_READY,
	EXTERNAL_ABSENT, /* it runs, and has said why it is unavailable */
	EXTERNAL_ENDING, /* it has closed its channel, or was killed */
	EXTERNAL_PAUSED, /* it has ended, and is started again in a moment */
};

struct call;

struct external_action {
	struct action action;
	struct external *e;
};

struct external {
	struct plugin plugin;           /* as plug.c sees it */
	const struct external_own *own; /* NULL for one on the disk */
	struct box *box;
	struct plug *plug; /* while it is started */
	struct arena memory;
	struct plugin_manifest manifest;
	const char *dir;
	const char **env;
	struct external_action *actions;
	char missing[PLUGIN_WHY_MAX];

	enum external_state state;
	struct timer timer; /* of the state */
	bool probed;        /* with success */
	bool hopeless;  /* it ended when it was not ready: nobody waits for the next */
	uint64_t since; /* of the state */
	uint64_t pause; /* ms, before the next start; 0: none yet */
	unsigned starts;
	char trouble[PLUGIN_WHY_MAX]; /* why it was killed; or empty */

	/* The process. */
	pid_t pid; /* and that of its group; 0: none */
	struct child child;
	struct spawn_report report;
	struct io pipe;    /* what it prints */
	struct io channel; /* frames */
	struct lines lines;
	struct buf out; /* frames that are on their way */
	struct arena json;
	char line[PLUGIN_LINE_MAX], last[PLUGIN_LINE_MAX];
	size_t line_n;

	/* A call was not answered in time: does it live? */
	struct timer doubt;
	char ended[PLUGIN_WHY_MAX]; /* how the process before this one has ended */

	/* What nobody has asked for. */
	struct timer quiet;
	unsigned noise, dropped;
	unsigned changes; /* of those, frames that say whether it is ready */

	struct call *calls; /* in the order in which they came */
	size_t calls_n;
	uint64_t last_id;
};

/* --- external.c: its life */

/* Starts it: p->own is e from now on. */
void external_begin(struct external *e, struct plug *p);
/* As of struct plugin. */
int external_start(struct plug *p);
void external_drain_calls(struct plug *p);
void external_stop(struct plug *p);
/* A call has come in LACKING: looks again. */
void external_again(struct external *e);
/* A call has come in RESTING. */
void external_wake(struct external *e);
/* Its end follows; why it is. */
void external_kill(struct external *e, const char *why);
/* It has closed its channel, or will: calls that come wait for the next start. */
void external_hang_up(struct external *e);
/* It has said so. */
void external_ready(struct external *e);
void external_absent(struct external *e, struct str why);

/* It has had a call since then, in the loop's time, and has not answered. */
void external_doubt(struct external *e, uint64_t since);
/* It has said something. */
void external_heard(struct external *e);

/* --- external_io.c: its channel and what it prints */

/* Closes all that leads to the process. */
void external_close(struct external *e);
/* Before that, when it has ended: what it has said last. */
void external_drain(struct external *e);
/* Adds a frame to what is on its way. ERR_LIMIT: it does not read. */
int external_send(struct external *e, struct str frame) MUST_USE;
/* Sends a frame without members but op, and id unless that is 0, if there is room. */
void external_tell(struct external *e, const char *op, uint64_t id);
/* For the loop. */
void external_pipe_ready(struct io *io, uint32_t events);
void external_channel_ready(struct io *io, uint32_t events);

/* --- external_call.c: what it is asked */

/* A plug_route's, and an action's. */
void external_handle(struct plug *p, struct request *rq);
void external_room(struct request *rq);
int external_run(struct act *a);
/* Ends streams of events, which would hold up the end of the server. */
void external_end_streams(struct external *e);
/* READY: hands over those that wait. */
void external_pump(struct external *e);
/* Answers those that were handed over, and with all the others too. */
void external_fail(struct external *e, bool all, const char *why);
/* 0; ERR_SYNTAX with why: there was no such call. */
int external_reply(
	struct external *e, const struct plugin_frame *f, const char **why) MUST_USE;
/* The same for one of ours. */
int external_own_reply(struct external *e, uint64_t id, struct str observation,
	const char **why) MUST_USE;
/* One frame, or one line printed, that was not asked for. True: it may be shown. */
bool external_noise(struct external *e);

#endif
