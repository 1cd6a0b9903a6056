/* Internal declarations of the kernel's files. */
#ifndef KERNEL_KERNEL_PRIVATE_H
#define KERNEL_KERNEL_PRIVATE_H

#include "kernel/kernel.h"

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
