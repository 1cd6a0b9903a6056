#include "plug/plug.h"

#include "base/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLUGS_MAX = 32 }; /* bits of config->plugins */

struct plugs {
	struct box *box;
	struct timer timer;
	plugs_settled_fn *settled; /* NULL: it has been called */
	void *arg;
	bool starting; /* not all have been asked to start */
	struct plug plug[PLUGS_MAX];
};

static void settle(struct plugs *ps)
{
	plugs_settled_fn *fn = ps->settled;

	ps->settled = NULL;
	timer_cancel(ps->box->loop, &ps->timer);
	if (fn)
		fn(ps->arg);
}

/* After each change: whether there is anything left to wait for. */
static void look(struct plugs *ps)
{
	bool waits = ps->starting;

	for (size_t i = 0; i < plugins_n; i++)
		waits = waits || ps->plug[i].state == PLUG_STARTING;
	if (!waits)
		settle(ps);
}

static void enter(struct plug *p, enum plug_state to, const char *why)
{
	bool new = p->state != to;

	assert(to != PLUG_OFF);
	p->state = to;
	snprintf(p->why, sizeof(p->why), "%s", why);
	if (new &&to == PLUG_UNAVAILABLE)
		log_warn("plugin %s is unavailable: %s", p->plugin->name, why);
	else if (new &&to == PLUG_READY)
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

/* Those who are late may become ready later. */
static void time_over(struct timer *t)
{
	struct plugs *ps = container_of(t, struct plugs, timer);

	for (size_t i = 0; i < plugins_n; i++)
		if (ps->plug[i].state == PLUG_STARTING)
			plug_unavailable(&ps->plug[i], "it was not ready in time");
}

static void start(struct plug *p)
{
	int r;

	p->state = PLUG_STARTING;
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

struct plugs *plugs_new(struct box *box)
{
	struct plugs *ps = calloc(1, sizeof(*ps));

	assert(plugins_n <= PLUGS_MAX);
	if (!ps)
		return NULL;
	ps->box = box;
	for (size_t i = 0; i < plugins_n; i++)
		ps->plug[i] = (struct plug){.plugin = plugins[i], .box = box};
	return ps;
}

void plugs_start(struct plugs *ps, plugs_settled_fn *settled, void *arg)
{
	const struct config *c = ps->box->config;

	ps->settled = settled;
	ps->arg = arg;
	ps->starting = true;
	for (size_t i = 0; i < plugins_n; i++)
		if (c->plugins >> i & 1)
			start(&ps->plug[i]);
	ps->starting = false;
	if (c->plugins &&
		timer_set(ps->box->loop, &ps->timer, c->plugin_ms, time_over) < 0)
		time_over(&ps->timer);
	look(ps);
}

void plugs_stop(struct plugs *ps)
{
	timer_cancel(ps->box->loop, &ps->timer);
	ps->settled = NULL;
	for (size_t i = 0; i < plugins_n; i++) {
		struct plug *p = &ps->plug[i];

		if (p->own)
			p->plugin->stop(p);
		p->state = PLUG_OFF;
	}
}

void plugs_del(struct plugs *ps)
{
	if (!ps)
		return;
	plugs_stop(ps);
	ps->box->plugs = NULL;
	free(ps);
}

struct plug *plugs_find(struct plugs *ps, const struct plugin *plugin)
{
	for (size_t i = 0; i < plugins_n; i++)
		if (ps->plug[i].plugin == plugin)
			return &ps->plug[i];
	return NULL;
}

const struct action *plugs_action(struct str name)
{
	for (size_t i = 0; i < plugins_n; i++)
		for (const struct action *const *a = plugins[i]->actions; a && *a; a++)
			if (str_eq(name, str_c((*a)->name)))
				return *a;
	return NULL;
}

static bool is_route(const struct plug_route *r, struct str method, struct str path)
{
	return str_eq(path, str_c(r->path)) &&
		(!method.n || str_eq(method, str_c(r->method)));
}

const struct plug_route *plugs_route(struct str method, struct str path)
{
	for (size_t i = 0; i < plugins_n; i++)
		for (const struct plug_route *r = plugins[i]->routes; r && r->path; r++)
			if (is_route(r, method, path))
				return r;
	return NULL;
}

void plugs_handle(struct plugs *ps, const struct plug_route *route, struct request *rq)
{
	for (size_t i = 0; i < plugins_n; i++)
		for (const struct plug_route *r = plugins[i]->routes; r && r->path; r++)
			if (r == route)
				r->handle(&ps->plug[i], rq);
}

void plugs_write_info(const struct plugs *ps, struct jw *w)
{
	static const char *const words[] = {
		[PLUG_STARTING] = "starting",
		[PLUG_READY] = "ready",
		[PLUG_UNAVAILABLE] = "unavailable",
	};

	if (!ps || !ps->box->config->plugins)
		return;
	jw_key(w, "plugins");
	jw_object(w);
	for (size_t i = 0; i < plugins_n; i++) {
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
