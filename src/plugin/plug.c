#include "plugin/plug.h"

#include "base/log.h"
#include "plugin/external.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUILT_IN_MAX = 32 }; /* bits of config->plugins */

struct plugs {
	struct box *box;
	struct timer timer;
	plugs_settled_fn *settled; /* NULL: was called */
	void *arg;
	bool starting; /* some plugins are not started yet */
	struct plug plug[BUILT_IN_MAX + PLUGINS_DISK_MAX];
	size_t n;
	struct external *disk[PLUGINS_DISK_MAX]; /* follow the built-in ones */
	size_t disk_n;
};

static void settle(struct plugs *ps)
{
	plugs_settled_fn *fn = ps->settled;

	ps->settled = NULL;
	timer_cancel(ps->box->loop, &ps->timer);
	if (fn)
		fn(ps->arg);
}

/* Called after each change: calls settled if no plugin is starting any more. */
static void look(struct plugs *ps)
{
	bool waits = ps->starting;

	for (size_t i = 0; i < ps->n; i++)
		waits = waits || ps->plug[i].state == PLUG_STARTING;
	if (!waits)
		settle(ps);
}

static void enter(struct plug *p, enum plug_state to, const char *why)
{
	static const unsigned from[] = {
		[PLUG_OFF] = 1 << PLUG_OFF | 1 << PLUG_STARTING | 1 << PLUG_READY |
			1 << PLUG_UNAVAILABLE,
		[PLUG_STARTING] = 1 << PLUG_OFF,
		[PLUG_READY] =
			1 << PLUG_STARTING | 1 << PLUG_READY | 1 << PLUG_UNAVAILABLE,
		[PLUG_UNAVAILABLE] =
			1 << PLUG_STARTING | 1 << PLUG_READY | 1 << PLUG_UNAVAILABLE,
	};
	bool changed = p->state != to;

	assert(from[to] & 1U << p->state);
	p->state = to;
	/* why may be p->why itself. */
	if (why != p->why)
		snprintf(p->why, sizeof(p->why), "%s", why);
	changed = changed && !p->quiet;
	if (changed && to == PLUG_UNAVAILABLE)
		log_warn("plugin %s is unavailable: %s", p->plugin->name, why);
	else if (changed && to == PLUG_READY)
		log_info("plugin %s is ready", p->plugin->name);
	look(p->box->plugs);
}

void plug_ready(struct plug *p)
{
	enter(p, PLUG_READY, "");
}

void plug_unavailable(struct plug *p, const char *why)
{
	enter(p, PLUG_UNAVAILABLE, why);
}

/* A plugin that is late may still become ready. */
static void time_over(struct timer *t)
{
	struct plugs *ps = container_of(t, struct plugs, timer);

	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].state == PLUG_STARTING)
			plug_unavailable(&ps->plug[i], "it was not ready in time");
}

static void start(struct plug *p)
{
	int r;

	enter(p, PLUG_STARTING, "");
	if (p->plugin->missing) {
		plug_unavailable(p, p->plugin->missing);
		return;
	}
	if (!p->plugin->start) {
		plug_ready(p);
		return;
	}
	r = p->plugin->start(p);
	if (r < 0)
		plug_unavailable(p, err_text(r));
}

/* --- The plugins of a box ----------------------------------------------------------- */

static const struct action *find_action(const struct plugs *ps, struct str name)
{
	for (size_t i = 0; i < ps->n; i++)
		for (const struct action *const *a = ps->plug[i].plugin->actions; a && *a;
			a++)
			if (str_eq(name, str_c((*a)->name)))
				return *a;
	return NULL;
}

/* Only actions can clash: each route is below a path with the plugin's name. */
static bool clashes(const struct plugs *ps, const struct plugin *p, struct buf *why)
{
	for (const struct action *const *a = p->actions; a && *a; a++) {
		bool own = false;

		for (size_t i = 0; i < actions_n; i++)
			own = own || !strcmp(actions[i]->name, (*a)->name);
		if (!own && !find_action(ps, str_c((*a)->name)))
			continue;
		buf_fmt(why, "its action %s is already that of %s", (*a)->name,
			own ? "the sandbox" : "another plugin");
		return true;
	}
	return false;
}

static int add_disk(struct plugs *ps, const char *name)
{
	struct external *e = external_new(ps->box, name);
	struct buf why = BUF_INIT(PLUGIN_WHY_MAX);

	if (!e)
		return -ENOMEM;
	ps->disk[ps->disk_n++] = e;
	if (clashes(ps, external_plugin(e), &why))
		external_refuse(e, buf_cstr(&why) ? why.p : "its actions clash");
	buf_free(&why);
	ps->plug[ps->n++] = (struct plug){
		.plugin = external_plugin(e), .box = ps->box, .wanted = true};
	return 0;
}

struct plugs *plugs_new(struct box *box)
{
	const struct config *c = box->config;
	struct plugs *ps = calloc(1, sizeof(*ps));

	assert(plugins_n <= BUILT_IN_MAX);
	if (!ps)
		return NULL;
	ps->box = box;
	for (size_t i = 0; i < plugins_n; i++)
		ps->plug[ps->n++] = (struct plug){
			.plugin = plugins[i],
			.box = box,
			.wanted = c->plugins >> i & 1,
		};
	for (size_t i = 0; i < c->disk_plugins_n; i++) {
		if (add_disk(ps, c->disk_plugins[i]) == 0)
			continue;
		plugs_del(ps);
		return NULL;
	}
	return ps;
}

static bool any_wanted(const struct plugs *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].wanted)
			return true;
	return false;
}

void plugs_start(struct plugs *ps, plugs_settled_fn *settled, void *arg)
{
	const struct config *c = ps->box->config;
	bool any = any_wanted(ps);

	ps->settled = settled;
	ps->arg = arg;
	ps->starting = true;
	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].wanted)
			start(&ps->plug[i]);
	ps->starting = false;
	if (any && timer_set(ps->box->loop, &ps->timer, c->plugin_ms, time_over) < 0)
		time_over(&ps->timer);
	look(ps);
}

void plugs_drain(struct plugs *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].own && ps->plug[i].plugin->drain)
			ps->plug[i].plugin->drain(&ps->plug[i]);
}

void plugs_stop(struct plugs *ps)
{
	timer_cancel(ps->box->loop, &ps->timer);
	ps->settled = NULL;
	for (size_t i = 0; i < ps->n; i++) {
		struct plug *p = &ps->plug[i];

		if (p->own)
			p->plugin->stop(p);
		enter(p, PLUG_OFF, "");
	}
}

void plugs_del(struct plugs *ps)
{
	if (!ps)
		return;
	plugs_stop(ps);
	for (size_t i = 0; i < ps->disk_n; i++)
		external_del(ps->disk[i]);
	ps->box->plugs = NULL;
	free(ps);
}

struct plug *plugs_find(struct plugs *ps, const struct plugin *plugin)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].plugin == plugin)
			return &ps->plug[i];
	return NULL;
}

bool plugs_asked(struct plugs *ps, const struct plugin *plugin)
{
	const struct plug *p = plugs_find(ps, plugin);

	return p && p->wanted;
}

const struct action *plugs_action(const struct box *box, struct str name)
{
	return box->plugs ? find_action(box->plugs, name) : NULL;
}

/* --- Routes ------------------------------------------------------------------------- */

static bool is_route(const struct plug_route *r, struct str method, struct str path)
{
	struct str want = str_c(r->path);
	bool all = str_ends(want, STR("*"));

	if (method.n && !str_eq(method, str_c(r->method)))
		return false;
	return all ? str_starts(path, str_make(want.p, want.n - 1)) : str_eq(path, want);
}

/* A position in the routes of all plugins. Zero is before the first route. */
struct place {
	size_t plug, route;
};

/* Finds the next route from *at on; at->plug is the index of its plugin. */
static const struct plug_route *next_route(
	const struct plugs *ps, struct place *at, struct str method, struct str path)
{
	for (; at->plug < ps->n; at->plug++, at->route = 0) {
		const struct plug_route *r = ps->plug[at->plug].plugin->routes;

		while (r && r[at->route].path)
			if (is_route(&r[at->route++], method, path))
				return &r[at->route - 1];
	}
	return NULL;
}

const struct plug_route *plugs_route(
	const struct plugs *ps, struct str method, struct str path)
{
	struct place at = {0};

	return next_route(ps, &at, method, path);
}

void plugs_methods(const struct plugs *ps, struct str path, struct buf *methods)
{
	const struct plug_route *r;
	struct place at = {0};

	while ((r = next_route(ps, &at, STR(""), path)))
		buf_fmt(methods, "%s%s", methods->n ? ", " : "", r->method);
}

void plugs_handle(struct plugs *ps, struct request *rq)
{
	struct place at = {0};
	const struct plug_route *r = next_route(ps, &at, rq->method, rq->path);

	r->handle(&ps->plug[at.plug], rq);
}

void plugs_write_info(const struct plugs *ps, struct jw *w)
{
	static const char *const words[] = {
		[PLUG_STARTING] = "starting",
		[PLUG_READY] = "ready",
		[PLUG_UNAVAILABLE] = "unavailable",
	};

	if (!ps || !any_wanted(ps))
		return;
	jw_key(w, "plugins");
	jw_object(w);
	for (size_t i = 0; i < ps->n; i++) {
		const struct plug *p = &ps->plug[i];

		if (p->state == PLUG_OFF)
			continue;
		jw_key(w, p->plugin->name);
		jw_object(w);
		jw_key(w, "state");
		jw_cstr(w, words[p->state]);
		if (p->why[0]) {
			jw_key(w, "why");
			jw_cstr(w, p->why);
		}
		if (p->plugin->info)
			p->plugin->info(p, w);
		jw_end(w);
	}
	jw_end(w);
}
