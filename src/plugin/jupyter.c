/*
 * The plugin for cells: the action run_ipython, on an embedded driver in a Python process
 * or on Jupyter kernels by name, and the routes that show them.
 */
#include "plugin/table.h"

#include "action/observe.h"
#include "base/env.h"
#include "kernel/driver.h"
#include "kernel/named.h"
#include "plugin/cells.h"
#include "shell/shell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char embedded[] = "embedded";
static const char no_python[] =
	"[No Python interpreter was found in this sandbox. Only agentskills calls can "
	"run here; use the bash tool instead, or build the image with the plugin "
	"python.]";

struct jupyter {
	struct plug *plug;
	struct buf prepare;                 /* code that interpreters execute first */
	struct cells *kernels[KERNELS_MAX]; /* the first is the default */
	size_t kernels_n;
};

/* --- Kernels -------------------------------------------------------------------- */

static void cells_del(struct cells *c)
{
	cells_end(c);
	free(c);
}

static void del_later(struct later *l)
{
	cells_del(container_of(l, struct cells, later));
}

/*
 * Creates the runner of the embedded kernel, and the native, which executes calls of
 * skills if there is no Python.
 */
static void make_embedded(const struct jupyter *j, struct cells *c)
{
	const struct shell_setup *setup = c->box->shell_setup;
	struct loop *loop = c->box->loop;

	c->sorry = no_python;
	c->native = native_new(loop, setup->env, setup->user, cells_calls_done, c);
	if (c->native)
		c->runner = driver_new(loop, setup->env, setup->user,
			buf_view(&j->prepare), &cells_ops, c);
}

/* NULL: out of memory. */
static struct cells *cells_new(struct jupyter *j, struct str name)
{
	const struct shell_setup *setup = j->plug->box->shell_setup;
	struct cells *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	snprintf(c->name, sizeof(c->name), "%.*s", STR_ARG(name));
	c->box = j->plug->box;
	c->plug = j->kernels_n ? NULL : j->plug;
	c->lost = c->box->again;
	rich_init(&c->rich);
	if (str_eq(name, STR(embedded)))
		make_embedded(j, c);
	else
		c->runner = named_new(c->box->loop, setup->env, setup->user, name,
			buf_view(&j->prepare), &cells_ops, c);
	if (c->runner)
		return c;
	native_del(c->native);
	free(c);
	return NULL;
}

static struct cells *find(const struct jupyter *j, struct str name)
{
	if (!name.n)
		return j->kernels[0];
	for (size_t i = 0; i < j->kernels_n; i++)
		if (str_eq(name, str_c(j->kernels[i]->name)))
			return j->kernels[i];
	return NULL;
}

/* The place for a new kernel. If all are used, that of a kernel that is not running. */
static struct cells **find_place(struct jupyter *j)
{
	if (j->kernels_n < KERNELS_MAX)
		return &j->kernels[j->kernels_n];
	for (size_t i = 1; i < j->kernels_n; i++)
		if (j->kernels[i]->runner->state == RUNNER_NONE)
			return &j->kernels[i];
	return NULL;
}

/* Finds the kernel of that name, or creates it without starting it. */
static int get(struct jupyter *j, struct str name, struct cells **out)
{
	struct cells *c = find(j, name);
	struct cells **place;

	if (!c) {
		place = find_place(j);
		if (!place)
			return ERR_LIMIT;
		c = cells_new(j, name);
		if (!c)
			return -ENOMEM;
		if (place == &j->kernels[j->kernels_n])
			j->kernels_n++;
		else
			/*
			 * The old kernel may be inside its callback for a failed start.
			 */
			loop_free_later(c->box->loop, &(*place)->later, del_later);
		*place = c;
	}
	*out = c;
	return 0;
}

/* --- The action ----------------------------------------------------------------- */

static struct jupyter *jupyter_of(const struct act *a)
{
	struct plug *p =
		a->box->plugs ? plugs_find(a->box->plugs, &plugin_jupyter) : NULL;

	return p ? p->own : NULL;
}

static int run(struct act *a)
{
	struct jupyter *j = jupyter_of(a);
	struct str code, name = STR("");
	struct cells *c = NULL;
	int r;

	if (!j) {
		a->why = "JupyterRequirement not found. Unable to run IPython action.";
		return ACT_FAIL;
	}
	if (arg_str(a, "code", str_make(NULL, 0), &code) < 0) {
		observe_error(a,
			STR("The run_ipython action needs the argument \"code\", a "
			    "string."));
		return ACT_DONE;
	}
	if (arg_str(a, "kernel", name, &name) < 0 || name.n > KERNELSPEC_NAME_MAX) {
		observe_error(a, STR("The argument \"kernel\" is no name of a kernel."));
		return ACT_DONE;
	}
	r = get(j, name, &c);
	if (r == ERR_LIMIT) {
		observe_error(a, STR("There are too many kernels in this sandbox."));
		return ACT_DONE;
	}
	return r ? r : cells_run(c, a, code);
}

static const struct arg args[] = {
	{"code", "Python, as in a cell of a notebook; variables stay for the next one.",
		.required = true},
	{"timeout", "Seconds after which the cell is interrupted.", .type = ARG_TIMEOUT},
	{0},
};

static const struct action action_run_ipython = {
	.name = "run_ipython",
	.args = args,
	.start = run,
	.abandon = cells_abandon,
	.cancel = cells_cancel,
	.stop = cells_stop,
};

/* --- Routes --------------------------------------------------------------------- */

static void write_process(const struct runner *r, struct jw *w)
{
	jw_key(w, "pid");
	if (r->pid)
		jw_int(w, r->pid);
	else
		jw_null(w);
	jw_key(w, "starts");
	jw_uint(w, r->starts);
}

static void write_kernel(const struct cells *c, struct jw *w)
{
	const struct runner *r = c->runner;

	jw_object(w);
	jw_key(w, "name");
	jw_cstr(w, c->name);
	jw_key(w, "state");
	jw_cstr(w, runner_state_name(r->state));
	if (c->why[0]) {
		jw_key(w, "why");
		jw_cstr(w, c->why);
	}
	write_process(r, w);
	jw_key(w, "waiting");
	jw_uint(w, c->line_n);
	jw_key(w, "cells");
	jw_uint(w, c->done_n);
	r->kind->info(r, w);
	jw_end(w);
}

static void list(struct plug *p, struct request *rq)
{
	const struct jupyter *j = p->own;
	struct jw w;

	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "kernels");
	jw_array(&w);
	for (size_t i = 0; j && i < j->kernels_n; i++)
		write_kernel(j->kernels[i], &w);
	jw_end(&w);
	jw_end(&w);
	request_reply(rq, 200, "application/json");
}

/* The kernel that the query names. NULL: there is none, and the request is answered. */
static struct cells *asked(struct plug *p, struct request *rq)
{
	const struct jupyter *j = p->own;
	struct str name = STR("");
	int r = request_query(rq, STR("kernel"), &name);
	struct cells *c = r >= 0 && j ? find(j, name) : NULL;

	if (r < 0)
		request_fail(rq, 422, STR("The parameter \"kernel\" is wrong."));
	else if (!c)
		request_fail(rq, 404, STR("There is no kernel of that name."));
	return c;
}

static void outputs(struct plug *p, struct request *rq)
{
	const struct cells *c = asked(p, rq);
	struct jw w;

	if (!c)
		return;
	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "kernel");
	jw_cstr(&w, c->name);
	jw_key(&w, "cell");
	jw_uint(&w, c->done_n);
	rich_write(&c->rich, &w);
	jw_end(&w);
	request_reply(rq, 200, "application/json");
}

static void reply_kernel(struct request *rq, const struct cells *c)
{
	struct jw w;

	jw_init(&w, request_out(rq));
	write_kernel(c, &w);
	request_reply(rq, 200, "application/json");
}

static void interrupt(struct plug *p, struct request *rq)
{
	const struct cells *c = asked(p, rq);

	if (!c)
		return;
	if (c->runner->state == RUNNER_BUSY)
		c->runner->kind->nudge(c->runner);
	reply_kernel(rq, c);
}

static void restart(struct plug *p, struct request *rq)
{
	struct cells *c = asked(p, rq);

	if (!c)
		return;
	c->runner->kind->stop(c->runner);
	cells_start(c);
	reply_kernel(rq, c);
}

static const struct plug_route routes[] = {
	{"GET", "/v1/kernels", list, NULL, NULL},
	{"GET", "/v1/kernels/outputs", outputs, NULL, NULL},
	{"POST", "/v1/kernels/interrupt", interrupt, NULL, NULL},
	{"POST", "/v1/kernels/restart", restart, NULL, NULL},
	{0},
};

/* --- The plugin ----------------------------------------------------------------- */

static void stop(struct plug *p)
{
	struct jupyter *j = p->own;

	p->own = NULL;
	while (j->kernels_n)
		cells_del(j->kernels[--j->kernels_n]);
	buf_free(&j->prepare);
	free(j);
}

/* Creates the state, with the default kernel, which is not started yet. */
static struct jupyter *jupyter_new(struct plug *p)
{
	const char *wanted = env_value(p->box->shell_setup->env, "JUPYTER_KERNEL");
	struct jupyter *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->plug = p;
	buf_init(&j->prepare, KERNEL_PREPARE_MAX);
	buf_str(&j->prepare, skills_text());
	buf_puts(&j->prepare,
		plugs_asked(p->box->plugs, &plugin_agent_skills)
			? "install(sys.modules['__main__'].__dict__)\n"
			: "install()\n");
	if (!j->prepare.err)
		j->kernels[0] = cells_new(j, wanted ? str_c(wanted) : STR(embedded));
	j->kernels_n = 1;
	if (j->kernels[0])
		return j;
	buf_free(&j->prepare);
	free(j);
	return NULL;
}

static int start(struct plug *p)
{
	struct jupyter *j = jupyter_new(p);

	if (!j)
		return -ENOMEM;
	p->own = j;
	cells_start(j->kernels[0]);
	return 0;
}

static void info(const struct plug *p, struct jw *w)
{
	const struct jupyter *j = p->own;
	const struct runner *r = j ? j->kernels[0]->runner : NULL;

	if (!r || !r->pid)
		return;
	jw_key(w, "kernel");
	jw_cstr(w, j->kernels[0]->name);
	r->kind->info(r, w);
	write_process(r, w);
}

static const struct action *const actions_of_it[] = {&action_run_ipython, NULL};

const struct plugin plugin_jupyter = {
	.name = "jupyter",
	.start = start,
	.stop = stop,
	.info = info,
	.actions = actions_of_it,
	.routes = routes,
};
