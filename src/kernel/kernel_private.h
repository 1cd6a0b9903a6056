/* Internal declarations of the kernel's files. */
#ifndef KERNEL_KERNEL_PRIVATE_H
#define KERNEL_KERNEL_PRIVATE_H

#include "kernel/kernel.h"

/* Times in milliseconds, and counts. The limits that a user can meet are in limits.h. */
enum {
	KERNEL_RETRY_MS = 10,      /* between attempts to connect to a starting kernel */
	KERNEL_ASK_MS = 200,       /* for output to follow the first reply */
	KERNEL_AGAIN_MS = 1000,    /* for any output after it; it may have been lost */
	KERNEL_LAST_READS = 256,   /* of a dead kernel; sockets hold fewer messages */
	KERNEL_BEATS_MISSED = 2,   /* heartbeats without an answer that are silence */
	KERNEL_BEATS_UNHEARD = 6,  /* heartbeats of a cell until the kernel is woken */
	KERNEL_SHUTDOWN_MS = 2000, /* to end when requested; ipykernel takes 300 */
	KERNEL_TERM_MS = 2000,     /* to end after SIGTERM, and again after SIGKILL */
	KERNEL_DEATH_MS = 500,     /* from a closed connection to the process's end */
};

/* The reason if the kernel ended by itself. */
extern const char kernel_ended_itself[];

enum kernel_end_step { KERNEL_BY_MESSAGE, KERNEL_BY_SIGTERM, KERNEL_BY_SIGKILL };

/* Changes the state by a legal transition; cancels the timers of the old state. */
void kernel_enter(struct kernel *k, enum kernel_state s);
/* Sends k->request if that channel is connected. */
void kernel_send_request(struct kernel *k, enum connection_channel to);

/* Ends the kernel from that step on, at once or after wait ms; the next steps follow. */
void kernel_end_from(
	struct kernel *k, enum kernel_end_step rung, uint64_t wait, const char *why);
/* Sends a signal to its process group. */
void kernel_signal_group(const struct kernel *k, int signo);

#endif
