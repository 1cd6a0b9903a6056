/*
 * A service: a program that runs for long and helps this process, with its channel, its
 * output, its end and its restarts. The content of the channel is its owner's.
 *
 *   OFF -> STARTING -> READY -> ENDING -> OFF
 *   OFF -> PAUSED -> OFF
 *
 * STARTING also leads to ENDING, and READY back to STARTING.
 */
#ifndef PROC_SERVICE_H
#define PROC_SERVICE_H

#include "base/buf.h"
#include "proc/children.h"
#include "proc/spawn.h"

enum { SERVICE_WHY_MAX = 256 }; /* bytes of a sentence */

enum service_state {
	SERVICE_OFF,      /* there is no process */
	SERVICE_PAUSED,   /* there is no process; restart follows */
	SERVICE_STARTING, /* the process runs and is not ready */
	SERVICE_READY,
	SERVICE_ENDING, /* the process is being ended, step by step; exited follows */
};

/* The steps that end a process, in their order; SERVICE_STEP_MS lie between two. */
enum service_step {
	SERVICE_ASK,  /* the ask of its kind */
	SERVICE_TERM, /* SIGTERM to its process group */
	SERVICE_KILL, /* SIGKILL to all processes that come from it; repeated */
};

/* The descriptors of the process that lead to this one. */
enum service_channel {
	SERVICE_SILENT, /* none */
	SERVICE_PRINTS, /* 1 and 2: its output */
	SERVICE_SOCKET, /* 1 and 2: its output; 3: the channel */
	SERVICE_STDIO,  /* 0 and 1: the channel */
};

struct service;

/* The common part of services of a kind. Functions that are not needed may be NULL. */
struct service_kind {
	uint64_t pause_ms, pause_max_ms; /* before a restart: the first, the longest */
	uint64_t steady_ms;     /* ready for this long, a process resets the pause */
	uint64_t closed_ms;     /* from the end of its channel to SIGKILL */
	const char *closed_why; /* the reason of its end, if that SIGKILL was needed */
	/* STARTING has lasted for the time limit. */
	void (*late)(struct service *s);
	/*
	 * n bytes have come through the channel; the function may change them. Another
	 * value than 0: the channel is unusable and is closed; the function has killed
	 * the process.
	 */
	int (*received)(struct service *s, char *bytes, size_t n);
	void (*printed)(struct service *s, struct str text);
	/* Asks the process to end. */
	void (*ask)(struct service *s);
	/*
	 * The process has ended, all that it wrote was passed on, and the state is OFF.
	 * why is the reason if it failed to start or was ended with a reason, else NULL;
	 * status is as from wait(2).
	 */
	void (*exited)(struct service *s, const char *why, int status);
	/* The pause has passed: the state is OFF, and service_start may be called. */
	void (*restart)(struct service *s);
};

struct service {
	const struct service_kind *kind;
	struct loop *loop;
	enum service_state state;
	pid_t pid;      /* also its process group; 0: none */
	struct buf out; /* what is to be sent; the owner appends, then service_flush */
	uint64_t pause; /* the last pause in ms; 0: none since it was steady */
	bool was_ready; /* the state before the last ENDING was READY */

	/* Internal members. */
	enum service_channel channel;
	struct io from, to; /* the channel; a socket has only from */
	struct io output;
	bool deaf; /* it is not read from */
	struct child child;
	struct spawn_report report;
	struct timer timer; /* of the state */
	uint64_t since;     /* of the state */
	enum service_step step;
	char why[SERVICE_WHY_MAX];
};

/* out_max is the limit of s->out. */
void service_init(struct service *s, const struct service_kind *kind, struct loop *loop,
	size_t out_max);
/*
 * Starts the program that sp describes, except for the descriptors of the channel. It has
 * ready_ms to get ready; 0: no limit. -errno: there is no process, the state stays OFF.
 */
int service_start(struct service *s, const struct spawn *sp, enum service_channel channel,
	uint64_t ready_ms) MUST_USE;
void service_set_ready(struct service *s);
/* Returns to STARTING, without a limit. */
void service_set_unready(struct service *s);
/* Whether the process runs, and neither was ended nor has ended. */
bool service_is_running(const struct service *s);

/*
 * Ends the process from that step on, after wait ms; the next steps follow. If it is
 * being ended, step is only the least that follows. why is the reason for exited, unless
 * there is one; or NULL. No effect without a process.
 */
void service_end(
	struct service *s, enum service_step step, uint64_t wait, const char *why);
/* SERVICE_KILL at once. */
void service_kill(struct service *s, const char *why);
/* Sends a signal to its process group. */
void service_signal(const struct service *s, int signo);
/* In OFF: the kind's restart follows after a pause, which grows each time. */
void service_pause(struct service *s);
/*
 * Forgets the process, in any state: closes all that leads to it; no function is called
 * any more. kill: kills it, too.
 */
void service_forget(struct service *s, bool kill);

/* Sends s->out; the loop sends later what does not fit now. */
void service_flush(struct service *s);
/* Closes the channel of SERVICE_STDIO in the direction to the process. */
void service_close_input(struct service *s);
/* Reads the output that is there now, and would be read later. */
void service_drain_output(struct service *s);
/* Pauses or resumes reading: a process that writes blocks if the buffers are full. */
void service_set_deaf(struct service *s, bool deaf);

#endif
