/*
 * Plugins: functions of a sandbox beyond files and shells, started on request.
 *
 * A plugin is a const struct plugin. plugins[] in table.c lists the built-in ones;
 * external.h makes one of a folder. Plugins are started concurrently. If a plugin lacks
 * something, only that plugin becomes unavailable, with a reason. The layers above use no
 * plugin by its name.
 */
#ifndef PLUGIN_PLUGIN_H
#define PLUGIN_PLUGIN_H

#include "action/act.h"
#include "net/request.h"

enum { PLUGIN_WHY_MAX = 256 }; /* bytes of a sentence, shown in /server_info */

struct plugin_instance;
struct plugin_set;

/* A path of a plugin. The session key is checked before handle is called. */
struct plugin_endpoint {
	const char *method;
	const char *path; /* a "*" at its end matches any rest of a path */
	/* Answers at once, or later. p->state is the plugin's availability. */
	void (*handle)(struct plugin_instance *p, struct request *rq);
};

struct plugin {
	const char *name;
	const char *missing; /* not NULL: why it cannot be started here */
	/*
	 * Starts the plugin. plugin_mark_ready or plugin_mark_unavailable follows,
	 * perhaps before this returns, perhaps more than once. NULL: there is nothing to
	 * start. -errno.
	 */
	int (*start)(struct plugin_instance *p);
	/* If own is set, ends endless replies, because the server stops. May be NULL. */
	void (*drain)(struct plugin_instance *p);
	/*
	 * If own is set, ends all that start has begun, and answers the waiting requests.
	 */
	void (*stop)(struct plugin_instance *p);
	/* Writes further members of its object in /server_info. May be NULL. */
	void (*info)(const struct plugin_instance *p, struct jw *w);
	/*
	 * Lists that end with a NULL or a zero; or NULL. Valid even if the plugin is not
	 * started.
	 */
	const struct action *const *actions;
	const struct plugin_endpoint *routes;
};

extern const struct plugin *const plugins[];
extern const size_t plugins_n;

enum plugin_state {
	PLUGIN_STATE_OFF, /* not requested */
	PLUGIN_STATE_STARTING,
	PLUGIN_STATE_READY,
	PLUGIN_STATE_UNAVAILABLE, /* why is the reason; it may still become ready */
};

/* A plugin in a sandbox. */
struct plugin_instance {
	const struct plugin *plugin;
	struct box *box;
	bool wanted; /* the configuration requests it */
	bool quiet;  /* it is offered by default: the log omits its state */
	enum plugin_state state;
	char why[PLUGIN_WHY_MAX];
	void *data;  /* the plugin's data */
	void *extra; /* likewise, if own belongs to external.h */
};

typedef void plugin_settled_fn(void *arg);

/*
 * Creates all built-in plugins and those from folders that the box's config names.
 * Nothing is started. NULL: out of memory.
 */
struct plugin_set *plugin_set_new(struct box *box);
/* No more requests will come: ends the replies that have no end of their own. */
void plugin_set_drain(struct plugin_set *ps);
/* Stops all plugins for good, and answers the requests that wait for them. */
void plugin_set_stop(struct plugin_set *ps);
/* Stops all plugins and frees them. ps may be NULL. */
void plugin_set_del(struct plugin_set *ps);
/*
 * Starts all requested plugins. settled is called once, when each of them is ready or
 * unavailable, or the time limit has passed; at once if none is requested.
 */
void plugin_set_start(struct plugin_set *ps, plugin_settled_fn *settled, void *arg);

/* The plug of this plugin; never NULL in a box with plugs. */
struct plugin_instance *plugin_set_find(
	struct plugin_set *ps, const struct plugin *plugin);
/* Whether the configuration requests the plugin, started or not. */
bool plugin_set_is_requested(struct plugin_set *ps, const struct plugin *plugin);
/* Finds an action of any plugin; for box->find_plugin_action. NULL: there is none. */
const struct action *plugin_find_action(const struct box *box, struct str name);
/*
 * Finds a route of any plugin with that path, and its plugin. An empty method matches
 * any. NULL: there is none.
 */
const struct plugin_endpoint *plugin_find_route(struct plugin_set *ps, struct str method,
	struct str path, struct plugin_instance **plugin);
/* Appends the methods of that path to a comma-separated list. */
void plugin_put_methods(
	const struct plugin_set *ps, struct str path, struct buf *methods);
/* Writes the member "plugins" of /server_info, if any plugin is requested. */
void plugin_set_write_info(const struct plugin_set *ps, struct jw *w);

/* Called by the plugin itself. */
void plugin_mark_ready(struct plugin_instance *p);
void plugin_mark_unavailable(struct plugin_instance *p, const char *why);

#endif
