#include "plugin/plugin.h"

#include "base/log.h"
#include "plugin/external.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUILT_IN_MAX = 32 }; /* bits of config->plugins */

struct plugin_set {
	struct box *box;
	struct timer timer;
	plugin_settled_fn *settled; /* NULL: was called */
	void *arg;
	bool starting; /* some plugins are not started yet */
	struct plugin_instance plug[BUILT_IN_MAX + PLUGINS_DISK_MAX];
	size_t n;
	struct external *disk[PLUGINS_DISK_MAX]; /* follow the built-in ones */
	size_t disk_n;
};

static void plugin_set_settle(struct plugin_set *ps)
{
	plugin_settled_fn *fn = ps->settled;

	ps->settled = NULL;
	timer_cancel(ps->box->loop, &ps->timer);
	if (fn)
		fn(ps->arg);
}

/* Called after each change: calls settled if no plugin is starting any more. */
static void plugin_set_check_settled(struct plugin_set *ps)
{
	bool waits = ps->starting;

	for (size_t i = 0; i < ps->n; i++)
		waits = waits || ps->plug[i].state == PLUGIN_STATE_STARTING;
	if (!waits)
		plugin_set_settle(ps);
}

static void plugin_enter(struct plugin_instance *p, enum plugin_state to, const char *why)
{
	static const unsigned from[] = {
		[PLUGIN_STATE_OFF] = 1 << PLUGIN_STATE_OFF | 1 << PLUGIN_STATE_STARTING |
			1 << PLUGIN_STATE_READY | 1 << PLUGIN_STATE_UNAVAILABLE,
		[PLUGIN_STATE_STARTING] = 1 << PLUGIN_STATE_OFF,
		[PLUGIN_STATE_READY] = 1 << PLUGIN_STATE_STARTING |
			1 << PLUGIN_STATE_READY | 1 << PLUGIN_STATE_UNAVAILABLE,
		[PLUGIN_STATE_UNAVAILABLE] = 1 << PLUGIN_STATE_STARTING |
			1 << PLUGIN_STATE_READY | 1 << PLUGIN_STATE_UNAVAILABLE,
	};
	bool changed = p->state != to;

	assert(from[to] & 1U << p->state);
	p->state = to;
	/* why may be p->why itself. */
	if (why != p->why)
		snprintf(p->why, sizeof(p->why), "%s", why);
	changed = changed && !p->quiet;
	if (changed && to == PLUGIN_STATE_UNAVAILABLE)
		log_warn("plugin %s is unavailable: %s", p->plugin->name, why);
	else if (changed && to == PLUGIN_STATE_READY)
		log_info("plugin %s is ready", p->plugin->name);
	plugin_set_check_settled(p->box->plugs);
}

void plugin_mark_ready(struct plugin_instance *p)
{
	plugin_enter(p, PLUGIN_STATE_READY, "");
}

void plugin_mark_unavailable(struct plugin_instance *p, const char *why)
{
	plugin_enter(p, PLUGIN_STATE_UNAVAILABLE, why);
}

/* A plugin that is late may still become ready. */
static void plugin_set_on_timeout(struct timer *t)
{
	struct plugin_set *ps = container_of(t, struct plugin_set, timer);

	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].state == PLUGIN_STATE_STARTING)
			plugin_mark_unavailable(&ps->plug[i], "it was not ready in time");
}

static void plugin_start(struct plugin_instance *p)
{
	int r;

	plugin_enter(p, PLUGIN_STATE_STARTING, "");
	if (p->plugin->missing) {
		plugin_mark_unavailable(p, p->plugin->missing);
		return;
	}
	if (!p->plugin->start) {
		plugin_mark_ready(p);
		return;
	}
	r = p->plugin->start(p);
	if (r < 0)
		plugin_mark_unavailable(p, err_text(r));
}

/* --- The plugins of a box ----------------------------------------------------------- */

static const struct action *plugin_set_find_action(
	const struct plugin_set *ps, struct str name)
{
	for (size_t i = 0; i < ps->n; i++)
		for (const struct action *const *a = ps->plug[i].plugin->actions; a && *a;
			a++)
			if (str_eq(name, str_c((*a)->name)))
				return *a;
	return NULL;
}

/* Only actions can clash: each route is below a path with the plugin's name. */
static bool plugin_set_has_clash(
	const struct plugin_set *ps, const struct plugin *p, struct buf *why)
{
	for (const struct action *const *a = p->actions; a && *a; a++) {
		bool own = false;

		for (size_t i = 0; i < actions_n; i++)
			own = own || !strcmp(actions[i]->name, (*a)->name);
		if (!own && !plugin_set_find_action(ps, str_c((*a)->name)))
			continue;
		buf_fmt(why, "its action %s is already that of %s", (*a)->name,
			own ? "the sandbox" : "another plugin");
		return true;
	}
	return false;
}

static int plugin_set_add_folder(struct plugin_set *ps, const char *name)
{
	struct external *e = external_new(ps->box, name);
	struct buf why = BUF_INIT(PLUGIN_WHY_MAX);

	if (!e)
		return -ENOMEM;
	ps->disk[ps->disk_n++] = e;
	if (plugin_set_has_clash(ps, external_plugin(e), &why))
		external_refuse(e, buf_cstr(&why) ? why.p : "its actions clash");
	buf_free(&why);
	ps->plug[ps->n++] = (struct plugin_instance){
		.plugin = external_plugin(e), .box = ps->box, .wanted = true};
	return 0;
}

struct plugin_set *plugin_set_new(struct box *box)
{
	const struct config *c = box->config;
	struct plugin_set *ps = calloc(1, sizeof(*ps));

	assert(plugins_n <= BUILT_IN_MAX);
	if (!ps)
		return NULL;
	ps->box = box;
	for (size_t i = 0; i < plugins_n; i++)
		ps->plug[ps->n++] = (struct plugin_instance){
			.plugin = plugins[i],
			.box = box,
			.wanted = c->plugins >> i & 1,
		};
	for (size_t i = 0; i < c->disk_plugins_n; i++) {
		if (plugin_set_add_folder(ps, c->disk_plugins[i]) == 0)
			continue;
		plugin_set_del(ps);
		return NULL;
	}
	return ps;
}

static bool plugin_set_has_wanted(const struct plugin_set *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].wanted)
			return true;
	return false;
}

void plugin_set_start(struct plugin_set *ps, plugin_settled_fn *settled, void *arg)
{
	const struct config *c = ps->box->config;
	bool any = plugin_set_has_wanted(ps);

	ps->settled = settled;
	ps->arg = arg;
	ps->starting = true;
	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].wanted)
			plugin_start(&ps->plug[i]);
	ps->starting = false;
	if (any)
		timer_set(ps->box->loop, &ps->timer, c->plugin_ms, plugin_set_on_timeout);
	plugin_set_check_settled(ps);
}

void plugin_set_drain(struct plugin_set *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].data && ps->plug[i].plugin->drain)
			ps->plug[i].plugin->drain(&ps->plug[i]);
}

void plugin_set_stop(struct plugin_set *ps)
{
	timer_cancel(ps->box->loop, &ps->timer);
	ps->settled = NULL;
	for (size_t i = 0; i < ps->n; i++) {
		struct plugin_instance *p = &ps->plug[i];

		if (p->data)
			p->plugin->stop(p);
		plugin_enter(p, PLUGIN_STATE_OFF, "");
	}
}

void plugin_set_del(struct plugin_set *ps)
{
	if (!ps)
		return;
	plugin_set_stop(ps);
	for (size_t i = 0; i < ps->disk_n; i++)
		external_del(ps->disk[i]);
	ps->box->plugs = NULL;
	free(ps);
}

struct plugin_instance *plugin_set_find(
	struct plugin_set *ps, const struct plugin *plugin)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->plug[i].plugin == plugin)
			return &ps->plug[i];
	return NULL;
}

bool plugin_set_is_requested(struct plugin_set *ps, const struct plugin *plugin)
{
	const struct plugin_instance *p = plugin_set_find(ps, plugin);

	return p && p->wanted;
}

const struct action *plugin_find_action(const struct box *box, struct str name)
{
	return box->plugs ? plugin_set_find_action(box->plugs, name) : NULL;
}

/* --- Routes ------------------------------------------------------------------------- */

static bool plugin_is_route(
	const struct plugin_endpoint *r, struct str method, struct str path)
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
static const struct plugin_endpoint *plugin_set_next_route(
	const struct plugin_set *ps, struct place *at, struct str method, struct str path)
{
	for (; at->plug < ps->n; at->plug++, at->route = 0) {
		const struct plugin_endpoint *r = ps->plug[at->plug].plugin->routes;

		while (r && r[at->route].path)
			if (plugin_is_route(&r[at->route++], method, path))
				return &r[at->route - 1];
	}
	return NULL;
}

const struct plugin_endpoint *plugin_find_route(struct plugin_set *ps, struct str method,
	struct str path, struct plugin_instance **plugin)
{
	struct place at = {0};
	const struct plugin_endpoint *r = plugin_set_next_route(ps, &at, method, path);

	if (r)
		*plugin = &ps->plug[at.plug];
	return r;
}

void plugin_put_methods(const struct plugin_set *ps, struct str path, struct buf *methods)
{
	const struct plugin_endpoint *r;
	struct place at = {0};

	while ((r = plugin_set_next_route(ps, &at, STR(""), path)))
		buf_fmt(methods, "%s%s", methods->n ? ", " : "", r->method);
}

void plugin_set_write_info(const struct plugin_set *ps, struct jw *w)
{
	static const char *const words[] = {
		[PLUGIN_STATE_STARTING] = "starting",
		[PLUGIN_STATE_READY] = "ready",
		[PLUGIN_STATE_UNAVAILABLE] = "unavailable",
	};

	if (!ps || !plugin_set_has_wanted(ps))
		return;
	jw_key(w, "plugins");
	jw_object(w);
	for (size_t i = 0; i < ps->n; i++) {
		const struct plugin_instance *p = &ps->plug[i];

		if (p->state == PLUGIN_STATE_OFF)
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
