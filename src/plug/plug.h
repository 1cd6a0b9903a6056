/*
 * Plugins: what a sandbox can do beyond files and shells, started if asked for.
 *
 * A plugin is a const struct plugin; plugins[] in table.c lists those of this program,
 * external.h makes one of a folder on the disk. They are started side by side, and what
 * one of them lacks makes that one unavailable, with a reason, and nothing else. Nobody
 * above knows one by its name.
 */
#ifndef PLUG_PLUG_H
#define PLUG_PLUG_H

#include "act/act.h"
#include "limits.h"
#include "net/request.h"

struct plug;
struct plugs;

/* A path of its own; whoever asks has shown the session key. */
struct plug_route {
	const char *method;
	const char *path; /* a "*" at its end stands for whatever follows */
	/* Answers at once, or later; state tells whether the plugin is there. */
	void (*handle)(struct plug *p, struct request *rq);
	/* Who asked has hung up, while rq->user is set; NULL where handle never waits. */
	void (*gone)(struct request *rq);
	/* What was written to a reply in pieces has been sent; or NULL. */
	void (*room)(struct request *rq);
};

struct plugin {
	const char *name;
	const char *missing; /* not NULL: why it cannot be started here */
	/*
	 * Starts it: plug_ready or plug_unavailable follows, perhaps before this
	 * returns, perhaps more than once. NULL: there is nothing to start. -errno.
	 */
	int (*start)(struct plug *p);
	/* Ends, if own is set, replies without an end: the server stops. Or NULL. */
	void (*drain)(struct plug *p);
	/* Ends all that start has begun, if own is set, and answers who waits. */
	void (*stop)(struct plug *p);
	/* Writes further members of its object in /server_info; or NULL. */
	void (*info)(const struct plug *p, struct jw *w);
	/* Each with an end of NULL, or NULL; known even where it is not started. */
	const struct action *const *actions;
	const struct plug_route *routes;
};

extern const struct plugin *const plugins[];
extern const size_t plugins_n;

enum plug_state {
	PLUG_OFF, /* nobody has asked for it */
	PLUG_STARTING,
	PLUG_READY,
	PLUG_UNAVAILABLE, /* why says the reason; it may become ready yet */
};

/* One plugin in one sandbox. */
struct plug {
	const struct plugin *plugin;
	struct box *box;
	bool wanted; /* somebody has asked for it */
	bool quiet;  /* it is offered unasked: the log has nothing of its state */
	enum plug_state state;
	char why[PLUGIN_WHY_MAX];
	void *own;  /* of the plugin */
	void *more; /* likewise, for one whose own is external.h's */
};

typedef void plugs_settled_fn(void *arg);

/*
 * All of this program, and those on the disk that the box's config names; nothing is
 * started. NULL: out of memory.
 */
struct plugs *plugs_new(struct box *box);
/* No more requests will come, and those that wait for nothing shall end. */
void plugs_drain(struct plugs *ps);
/* Stops them all, for good: who waits for one of them is answered. */
void plugs_stop(struct plugs *ps);
/* The same, and frees. NULL is none. */
void plugs_del(struct plugs *ps);
/*
 * Starts all. settled is called once, when each of them is ready or unavailable, or
 * has had its time; at once where there is none.
 */
void plugs_start(struct plugs *ps, plugs_settled_fn *settled, void *arg);

/* The plug of that kind; never NULL in a box with plugs. */
struct plug *plugs_find(struct plugs *ps, const struct plugin *plugin);
/* Whether it was asked for, started or not. */
bool plugs_asked(struct plugs *ps, const struct plugin *plugin);
/* An action of any plugin; for box->more_actions. */
const struct action *plugs_action(const struct box *box, struct str name);
/* A route of any plugin with that path; method may be empty for any. NULL. */
const struct plug_route *plugs_route(
	const struct plugs *ps, struct str method, struct str path);
/* Appends the methods of that path to a list with commas. */
void plugs_methods(const struct plugs *ps, struct str path, struct buf *methods);
/* Calls the handle of its route, which there is. */
void plugs_handle(struct plugs *ps, struct request *rq);
/* The member "plugins" of /server_info, if any is asked for. */
void plugs_write_info(const struct plugs *ps, struct jw *w);

/* Said by the plugin itself. */
void plug_ready(struct plug *p);
void plug_unavailable(struct plug *p, const char *why);

#endif
