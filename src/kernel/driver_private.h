/* Internal declarations of the driver's files. */
#ifndef KERNEL_DRIVER_PRIVATE_H
#define KERNEL_DRIVER_PRIVATE_H

#include "base/arena.h"
#include "kernel/driver.h"
#include "kernel/driver_frame.h"
#include "kernel/python.h"
#include "limits.h"
#include "proc/children.h"

enum { DRIVER_PIPE = 1 << 20 }; /* bytes printed before a frame, at most */

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

	/* The interpreters to try. */
	struct arena search;
	const char *pythons[PYTHONS_MAX];
	size_t pythons_n, python_at;
	bool without_ipython; /* the current interpreter is tried without IPython */
	char last_error[DRIVER_WORDS];

	/* The process. */
	struct child child;
	struct spawn_report report;
	struct io pipe;    /* standard output and error */
	struct io channel; /* frames */
	struct driver_frames frames;
	struct buf out; /* frames to be sent */
	struct timer timer;
	unsigned interrupts;
	bool dying; /* killed or ended, not reported yet */

	struct arena json;
	uint64_t cell_id;
	char cwd[FILE_PATH_MAX];
	char version[64], mode[16], plain_reason[DRIVER_WORDS];
};

/* The Python source of the driver. */
struct str driver_text(void);

void driver_enter(struct driver *d, enum runner_state to);
/* Kills the process, once; driver_on_exit follows. */
void driver_kill(struct driver *d);

/* Reads up to max bytes of output. True: the pipe is at its end. */
bool driver_drain(struct driver *d, size_t max);
/*
 * Reads and handles frames. 0: there may be more; positive: none for now; ERR_CLOSED,
 * and other errors.
 */
int driver_read(struct driver *d) MUST_USE;
/* Adds a frame to those to be sent; d->out keeps errors. key may be NULL. */
void driver_put(struct driver *d, const char *op, const char *key, struct str value);
/* Sends without blocking; the loop sends the rest later. */
void driver_send(struct driver *d);
/* Callbacks of the loop. */
void driver_pipe_ready(struct io *io, uint32_t events);
void driver_channel_ready(struct io *io, uint32_t events);

#endif
