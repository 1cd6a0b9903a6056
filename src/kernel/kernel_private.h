/* Of use to the kernel's own files alone. */
#ifndef KERNEL_KERNEL_PRIVATE_H
#define KERNEL_KERNEL_PRIVATE_H

#include "kernel/kernel.h"

/* Why, when nobody made it end. */
extern const char kernel_ended_itself[];

enum kernel_rung { KERNEL_BY_MESSAGE, KERNEL_BY_SIGTERM, KERNEL_BY_SIGKILL };

/* A step, which must be legal; its timers are those of the present state. */
void kernel_enter(struct kernel *k, enum kernel_state s);
/* Sends k->request, if that channel is up. */
void kernel_send_request(struct kernel *k, enum connection_channel to);

/* Begins the end at that rung, at once or after a while; from there it goes on. */
void kernel_end_from(
	struct kernel *k, enum kernel_rung rung, uint64_t wait, const char *why);
/* To all of its group. */
void kernel_signal_group(const struct kernel *k, int signo);

#endif
