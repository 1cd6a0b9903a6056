#include "server/idempotency/idem_private.h"

#include "base/fd.h"
#include "base/log.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { LEDGER_STEP_MS = 1 }; /* before the next step: other work has its turn */

/* --- The ledger --------------------------------------------------------------- */

/* Puts the ledger's descriptor into init's fd store, where it survives a crash. */
static void idem_store_ledger(struct idem *o)
{
	int r = store_put(o->box->store, RESTORED_LEDGER, o->ledger.journal.fd, 0);

	if (r < 0)
		log_warn("the ledger of actions cannot be stored in init, so a crash of "
			 "the server may lose it: %s",
			err_text(r));
	o->ledger.moved = false;
}

/* Compacts the ledger in steps. Other events are handled between them. */
static void idem_on_compact(struct timer *t)
{
	struct idem *o = container_of(t, struct idem, tidy);
	bool more = ledger_shrink(&o->ledger);

	/* init must have the new file before anything is recorded in it. */
	if (o->ledger.moved)
		idem_store_ledger(o);
	if (more)
		timer_set(o->box->loop, &o->tidy, LEDGER_STEP_MS, idem_on_compact);
}

void idem_compact(struct idem *o)
{
	if (!timer_is_armed(&o->tidy) && ledger_is_large(&o->ledger))
		timer_set(o->box->loop, &o->tidy, 0, idem_on_compact);
}

/* Without outputs, actions are still recorded. */
static void idem_open_outputs(struct idem *o)
{
	int fd = o->outputs_fd;
	bool known = fd >= 0;
	uint32_t max = o->dir < 0 ? OUTPUT_BLOCKS_MEMORY : OUTPUT_BLOCKS;
	int r;

	o->outputs_fd = -1;
	if (fd < 0 && o->dir < 0)
		fd = fd_create_memory("od-outputs", 0);
	else if (fd < 0)
		fd = fd_openat(
			o->dir, "actions.out", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	r = fd < 0 ? fd : store_put(o->box->store, RESTORED_OUTPUTS, fd, 0);
	if (r < 0)
		log_warn("the output of actions cannot be stored in init, so a crash of "
			 "the server may lose it: %s",
			err_text(r));
	if (fd >= 0)
		r = outputs_open(&o->outputs, fd, max, known);
	if (fd < 0 || r < 0)
		log_warn("the output of actions cannot be stored: %s", err_text(r));
	else
		ledger_set_outputs(&o->ledger, &o->outputs);
}

static int idem_open_ledger(struct idem *o, int fd)
{
	uint64_t torn = 0;
	bool sync = o->box->config->state_sync && o->dir >= 0;
	int r = ledger_open(&o->ledger, o->dir, "actions", fd, sync, &torn);

	/* An unreadable ledger is not overwritten, and the sandbox starts without it. */
	if (r < 0 && o->dir >= 0) {
		log_warn("the ledger of actions in --state-dir cannot be used: %s; a new "
			 "ledger is kept in memory",
			r == -EBUSY ? "another sandbox uses the folder" : err_text(r));
		fd_close(&o->dir);
		r = ledger_open(&o->ledger, -1, "actions", -1, false, &torn);
	}
	if (r < 0)
		return r;
	if (o->ledger.dir < 0)
		fd_close(&o->dir);
	if (torn)
		log_warn("the last record of the ledger of actions was incomplete; %llu "
			 "bytes were dropped",
			(unsigned long long)torn);
	o->open = true;
	idem_open_outputs(o);
	idem_store_ledger(o);
	idem_resume_started(o);
	idem_compact(o);
	return 0;
}

struct idem *idem_new(struct box *box, const char *state, int ledger, int outputs)
{
	struct idem *o = calloc(1, sizeof(*o));
	int r = 0;

	if (!o) {
		fd_close(&ledger);
		fd_close(&outputs);
		return NULL;
	}
	o->box = box;
	o->dir = -1;
	o->outputs.fd = -1;
	o->outputs_fd = outputs;
	if (state) {
		if (mkdir(state, 0700) < 0 && errno != EEXIST)
			r = -errno;
		else
			o->dir = fd_open(state, O_PATH | O_DIRECTORY, 0);
		if (r || o->dir < 0)
			log_warn("--state-dir %s: %s; the ledger of actions is kept in "
				 "memory",
				state, err_text(r ? r : o->dir));
	}
	/*
	 * The ledger may hold accepted actions, which are started without a further
	 * request.
	 */
	if (ledger >= 0 || o->dir >= 0) {
		r = idem_open_ledger(o, ledger);
		if (r < 0)
			log_warn("the ledger of actions was lost in the crash of the "
				 "server: %s",
				err_text(r));
	}
	return o;
}

int idem_prepare(struct idem *o)
{
	return o->open ? 0 : idem_open_ledger(o, -1);
}

void idem_del(struct idem *o)
{
	if (!o)
		return;
	LIST_EACH (struct pending_action, d, &o->pending, node)
		pending_action_free(d);
	timer_cancel(o->box->loop, &o->wake);
	timer_cancel(o->box->loop, &o->tidy);
	if (o->open)
		ledger_close(&o->ledger);
	outputs_close(&o->outputs);
	fd_close(&o->outputs_fd);
	fd_close(&o->dir);
	free(o);
}
