/* Of use to the driver's own files alone. */
#ifndef KERNEL_DRIVER_PRIVATE_H
#define KERNEL_DRIVER_PRIVATE_H

#include "base/arena.h"
#include "kernel/driver.h"
#include "kernel/driver_frame.h"
#include "limits.h"
#include "proc/children.h"

enum {
	DRIVER_WORDS = 512,
	DRIVER_LAST_READS = 64, /* more than a socket holds */
};

struct driver {
	struct runner runner;
	struct loop *loop;
	const struct spawn_user *user;
	struct arena env_memory;
	const char **env;
	struct str prepare; /* executed first */

	/* The interpreters that are tried. */
	struct arena search;
	const char *pythons[PYTHONS_MAX];
	size_t pythons_n, python_at;
	bool plain; /* this one did not survive IPython */
	char trouble[DRIVER_WORDS];

	/* The process. */
	struct child child;
	struct spawn_report report;
	struct io pipe;    /* what is printed */
	struct io channel; /* frames */
	struct driver_frames frames;
	struct buf out; /* frames that are on their way */
	struct timer timer;
	unsigned interrupts;
	bool dying; /* it was killed or has ended; it is not told yet */

	struct arena json;
	uint64_t cell_id;
	char cwd[FILE_PATH_MAX];
	char version[64], mode[16], why[DRIVER_WORDS];
};

/* The Python text that drives cells. */
struct str driver_text(void);

void driver_enter(struct driver *d, enum runner_state to);
/* Once: its end follows. */
void driver_kill(struct driver *d);

/* Takes up to max bytes of what was printed. True: nothing can be printed any more. */
bool driver_drain(struct driver *d, size_t max);
/* 0: there may be more; positive: not now; ERR_CLOSED, and other errors. */
int driver_read(struct driver *d) MUST_USE;
/* Adds a frame to what is on its way; errors stick in d->out. key may be NULL. */
void driver_put(struct driver *d, const char *op, const char *key, struct str value);
/* Sends what can be sent now; the rest follows by itself. */
void driver_send(struct driver *d);
/* For the loop. */
void driver_pipe_ready(struct io *io, uint32_t events);
void driver_channel_ready(struct io *io, uint32_t events);

#endif
