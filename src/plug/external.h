/* A plugin on the disk: a folder with a manifest, served by a process of its own. */
#ifndef PLUG_EXTERNAL_H
#define PLUG_EXTERNAL_H

#include "plug/plug.h"

struct external;

/*
 * Reads the manifest of the folder called name. One that is bad makes a plugin with
 * plugin->missing set; a folder without one is files alone, with nothing to start.
 * NULL: out of memory.
 */
struct external *external_new(struct box *box, const char *name);
/* Its process is stopped. */
void external_del(struct external *e);

const struct plugin *external_plugin(const struct external *e);
/* --- Plugins of this program with a process of their own */

enum external_failure {
	EXTERNAL_NOT_THERE, /* it cannot be had, and was never started */
	EXTERNAL_FAILED,    /* it was, and has not begun with this */
	EXTERNAL_LOST,      /* it has ended, or what it says is no answer */
	EXTERNAL_LATE,
};

/* Lists end with a NULL. */
struct external_own {
	const char *const *argv, *const *env; /* as in a manifest */
	uint64_t call_ms;
	bool lazy; /* the first call starts it */
	/* Whether all that it needs is there; or why not. again: somebody waits. */
	bool (*look)(const struct box *box, bool again, struct buf *why);
	/* Writes the observation of an action that was not done to its end. */
	void (*fail)(struct act *a, enum external_failure how, const char *words);
	/* It has become ready, for calls and for external_own_tell. Or NULL. */
	void (*ready)(struct plug *p);
	/* A frame that is no reply: whether it was one for the plugin. Or NULL. */
	bool (*said)(struct plug *p, struct str frame);
};

/* For plugin->start: sets p->own. own stays the caller's. -ENOMEM. */
int external_own_start(struct plug *p, const struct external_own *own) MUST_USE;
/* For plugin->stop and plugin->info. */
void external_own_stop(struct plug *p);
void external_info(const struct plug *p, struct jw *w);
/* For action->start, with p->own set, and action->abandon. */
int external_own_run(struct plug *p, struct act *a) MUST_USE;
void external_abandon(struct act *a);
/* For a route's handle, with p->own set, and its gone; see docs/plugins.md. */
void external_own_handle(struct plug *p, struct request *rq);
void external_gone(struct request *rq);
/* Whether its process is there; a call may start it. */
bool external_own_runs(const struct plug *p);
/* Sends a frame without members but op, if it is ready. */
void external_own_tell(struct plug *p, const char *op);

/* It clashes with another: it will not be started, and has no actions any more. */
void external_refuse(struct external *e, const char *why);

#endif
