/* A plugin from a directory: a folder with a manifest, served by its own process. */
#ifndef PLUGIN_EXTERNAL_H
#define PLUGIN_EXTERNAL_H

#include "plugin/plugin.h"

struct external;

/*
 * Reads the manifest of the folder called name. If the manifest is bad, plugin->missing
 * is set. If there is no manifest, the folder is only files and there is nothing to
 * start. NULL: out of memory.
 */
struct external *external_new(struct box *box, const char *name);
/* The process must be stopped. */
void external_del(struct external *e);

const struct plugin *external_plugin(const struct external *e);
/* --- Built-in plugins with their own process */

enum external_failure {
	EXTERNAL_MISSING, /* the program is missing and was never started */
	EXTERNAL_FAILED,  /* it was started, but has not begun this action */
	EXTERNAL_LOST,    /* it has ended, or its reply is not valid */
	EXTERNAL_TIMED_OUT,
};

/* Lists end with a NULL. */
struct external_builtin {
	const char *const *argv, *const *env; /* as in a manifest */
	uint64_t call_ms;
	bool lazy; /* the first call starts it */
	/*
	 * Whether all that the program needs is present; else why is the reason. again: a
	 * call waits for the plugin.
	 */
	bool (*check_needs)(const struct box *box, bool again, struct buf *why);
	/* Writes the observation of an action that was not completed. */
	void (*fail)(struct act *a, enum external_failure how, const char *words);
	/*
	 * The process is ready for calls and for external_builtin_send_op. May be NULL.
	 */
	void (*on_ready)(struct plugin_instance *p);
	/*
	 * Receives a frame that is no reply. True: the plugin has handled it. May be
	 * NULL.
	 */
	bool (*on_frame)(struct plugin_instance *p, struct str frame);
};

/*
 * For plugin->start: sets p->own. The caller still owns own, which must outlive p->own.
 * -ENOMEM.
 */
int external_builtin_start(
	struct plugin_instance *p, const struct external_builtin *own) MUST_USE;
/* For plugin->stop and plugin->info. */
void external_builtin_stop(struct plugin_instance *p);
void external_write_info(const struct plugin_instance *p, struct jw *w);
/* For action->start, if p->own is set, and for action->abandon. */
int external_builtin_run(struct plugin_instance *p, struct act *a) MUST_USE;
void external_abandon(struct act *a);
/* For the handle of a route, if p->own is set; see docs/plugins.md. */
void external_builtin_handle(struct plugin_instance *p, struct request *rq);
/* Whether the process runs. A call may start it. */
bool external_builtin_is_running(const struct plugin_instance *p);
/* Sends a frame with the member op alone, if the process is ready. */
void external_builtin_send_op(struct plugin_instance *p, const char *op);

/*
 * Marks e as missing because it clashes with another plugin: it is not started and loses
 * its actions and routes.
 */
void external_refuse(struct external *e, const char *why);

#endif
