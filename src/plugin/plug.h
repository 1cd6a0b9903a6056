/*
 * Plugins: functions of a sandbox beyond files and shells, started on request.
 *
 * A plugin is a const struct plugin. plugins[] in table.c lists the built-in ones;
 * external.h makes one of a folder. Plugins are started concurrently. If a plugin lacks
 * something, only that plugin becomes unavailable, with a reason. The layers above use no
 * plugin by its name.
 */
#ifndef PLUGIN_PLUG_H
#define PLUGIN_PLUG_H

#include "action/act.h"
#include "limits.h"
#include "net/request.h"

struct plug;
struct plugs;

/* A path of a plugin. The session key is checked before handle is called. */
struct plug_route {
	const char *method;
	const char *path; /* a "*" at its end matches any rest of a path */
	/* Answers at once, or later. p->state is the plugin's availability. */
	void (*handle)(struct plug *p, struct request *rq);
	/*
	 * The client has disconnected, while rq->user is set. NULL: handle never waits.
	 */
	void (*gone)(struct request *rq);
	/* All of a piece of the reply has been sent. May be NULL. */
	void (*room)(struct request *rq);
};

struct plugin {
	const char *name;
	const char *missing; /* not NULL: why it cannot be started here */
	/*
	 * Starts the plugin. plug_ready or plug_unavailable follows, perhaps before this
	 * returns, perhaps more than once. NULL: there is nothing to start. -errno.
	 */
	int (*start)(struct plug *p);
	/* If own is set, ends endless replies, because the server stops. May be NULL. */
	void (*drain)(struct plug *p);
	/*
	 * If own is set, ends all that start has begun, and answers the waiting requests.
	 */
	void (*stop)(struct plug *p);
	/* Writes further members of its object in /server_info. May be NULL. */
	void (*info)(const struct plug *p, struct jw *w);
	/*
	 * Lists that end with a NULL or a zero; or NULL. Valid even if the plugin is not
	 * started.
	 */
	const struct action *const *actions;
	const struct plug_route *routes;
};

extern const struct plugin *const plugins[];
extern const size_t plugins_n;

enum plug_state {
	PLUG_OFF, /* not requested */
	PLUG_STARTING,
	PLUG_READY,
	PLUG_UNAVAILABLE, /* why is the reason; it may still become ready */
};

/* A plugin in a sandbox. */
struct plug {
	const struct plugin *plugin;
	struct box *box;
	bool wanted; /* the configuration requests it */
	bool quiet;  /* it is offered by default: the log omits its state */
	enum plug_state state;
	char why[PLUGIN_WHY_MAX];
	void *own;  /* the plugin's data */
	void *more; /* likewise, if own belongs to external.h */
};

typedef void plugs_settled_fn(void *arg);

/*
 * Creates all built-in plugins and those from folders that the box's config names.
 * Nothing is started. NULL: out of memory.
 */
struct plugs *plugs_new(struct box *box);
/* No more requests will come: ends the replies that have no end of their own. */
void plugs_drain(struct plugs *ps);
/* Stops all plugins for good, and answers the requests that wait for them. */
void plugs_stop(struct plugs *ps);
/* Stops all plugins and frees them. ps may be NULL. */
void plugs_del(struct plugs *ps);
/*
 * Starts all requested plugins. settled is called once, when each of them is ready or
 * unavailable, or the time limit has passed; at once if none is requested.
 */
void plugs_start(struct plugs *ps, plugs_settled_fn *settled, void *arg);

/* The plug of this plugin; never NULL in a box with plugs. */
struct plug *plugs_find(struct plugs *ps, const struct plugin *plugin);
/* Whether the configuration requests the plugin, started or not. */
bool plugs_asked(struct plugs *ps, const struct plugin *plugin);
/* Finds an action of any plugin; for box->more_actions. NULL: there is none. */
const struct action *plugs_action(const struct box *box, struct str name);
/*
 * Finds a route of any plugin with that path. An empty method matches any. NULL: there is
 * none.
 */
const struct plug_route *plugs_route(
	const struct plugs *ps, struct str method, struct str path);
/* Appends the methods of that path to a comma-separated list. */
void plugs_methods(const struct plugs *ps, struct str path, struct buf *methods);
/* Calls the handle of the request's route, which must exist. */
void plugs_handle(struct plugs *ps, struct request *rq);
/* Writes the member "plugins" of /server_info, if any plugin is requested. */
void plugs_write_info(const struct plugs *ps, struct jw *w);

/* Called by the plugin itself. */
void plug_ready(struct plug *p);
void plug_unavailable(struct plug *p, const char *why);

#endif
