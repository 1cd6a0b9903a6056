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
	struct plugin_instance *plug;
	struct buf prepare;                 /* code that interpreters execute first */
	struct cells *kernels[KERNELS_MAX]; /* the first is the default */
	size_t kernels_n;
};

/* --- Kernels -------------------------------------------------------------------- */

static void jupyter_del_kernel(struct cells *c)
{
	cells_end(c);
	free(c);
}

static void jupyter_on_free_later(struct later *l)
{
	jupyter_del_kernel(container_of(l, struct cells, later));
}

/*
 * Creates the runner of the embedded kernel, and the native, which executes calls of
 * skills if there is no Python.
 */
static void jupyter_make_embedded(const struct jupyter *j, struct cells *c)
{
	const struct shell_setup *setup = c->box->shell_setup;
	struct loop *loop = c->box->loop;

	c->no_kernel_text = no_python;
	c->native = native_new(loop, setup->env, setup->user, cells_on_calls_done, c);
	if (c->native)
		c->runner = driver_new(loop, setup->env, setup->user,
			buf_view(&j->prepare), &cells_ops, c);
}

/* NULL: out of memory. */
static struct cells *jupyter_kernel_new(struct jupyter *j, struct str name)
{
	const struct shell_setup *setup = j->plug->box->shell_setup;
	struct cells *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	snprintf(c->name, sizeof(c->name), "%.*s", STR_ARG(name));
	c->box = j->plug->box;
	c->plug = j->kernels_n ? NULL : j->plug;
	c->vars_lost = c->box->after_crash;
	rich_init(&c->rich);
	if (str_eq(name, STR(embedded)))
		jupyter_make_embedded(j, c);
	else
		c->runner = named_new(c->box->loop, setup->env, setup->user, name,
			buf_view(&j->prepare), &cells_ops, c);
	if (c->runner)
		return c;
	native_del(c->native);
	free(c);
	return NULL;
}

static struct cells *jupyter_find_kernel(const struct jupyter *j, struct str name)
{
	if (!name.n)
		return j->kernels[0];
	for (size_t i = 0; i < j->kernels_n; i++)
		if (str_eq(name, str_c(j->kernels[i]->name)))
			return j->kernels[i];
	return NULL;
}

/* The place for a new kernel. If all are used, that of a kernel that is not running. */
static struct cells **jupyter_find_slot(struct jupyter *j)
{
	if (j->kernels_n < KERNELS_MAX)
		return &j->kernels[j->kernels_n];
	for (size_t i = 1; i < j->kernels_n; i++)
		if (j->kernels[i]->runner->state == RUNNER_NONE)
			return &j->kernels[i];
	return NULL;
}

/* Finds the kernel of that name, or creates it without starting it. */
static int jupyter_get_kernel(struct jupyter *j, struct str name, struct cells **out)
{
	struct cells *c = jupyter_find_kernel(j, name);
	struct cells **place;

	if (!c) {
		place = jupyter_find_slot(j);
		if (!place)
			return ERR_LIMIT;
		c = jupyter_kernel_new(j, name);
		if (!c)
			return -ENOMEM;
		if (place == &j->kernels[j->kernels_n])
			j->kernels_n++;
		else
			/*
			 * The old kernel may be inside its callback for a failed start.
			 */
			loop_defer_free(
				c->box->loop, &(*place)->later, jupyter_on_free_later);
		*place = c;
	}
	*out = c;
	return 0;
}

/* --- The action ----------------------------------------------------------------- */

static struct jupyter *jupyter_of(const struct act *a)
{
	struct plugin_instance *p =
		a->box->plugs ? plugin_set_find(a->box->plugs, &plugin_jupyter) : NULL;

	return p ? p->data : NULL;
}

static int jupyter_run_cell(struct act *a)
{
	struct jupyter *j = jupyter_of(a);
	struct str code, name = STR("");
	struct cells *c = NULL;
	int r;

	if (!j) {
		a->why = "JupyterRequirement not found. Unable to run IPython action.";
		return ACT_FAIL;
	}
	if (act_arg_str(a, "code", str_make(NULL, 0), &code) < 0) {
		observe_error(a,
			STR("The run_ipython action needs the argument \"code\", a "
			    "string."));
		return ACT_DONE;
	}
	if (act_arg_str(a, "kernel", name, &name) < 0 || name.n > KERNELSPEC_NAME_MAX) {
		observe_error(a,
			STR("The argument \"kernel\" is not a valid name of a kernel."));
		return ACT_DONE;
	}
	r = jupyter_get_kernel(j, name, &c);
	if (r == ERR_LIMIT) {
		observe_error(a,
			STR("Too many kernels are in use in this sandbox. Use one of "
			    "them: GET /v1/kernels lists them."));
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
	.start = jupyter_run_cell,
	.abandon = cells_abandon,
	.cancel = cells_cancel,
	.stop = cells_stop,
};

/* --- Routes --------------------------------------------------------------------- */

static void jupyter_write_process(const struct runner *r, struct jw *w)
{
	jw_key(w, "pid");
	if (r->pid)
		jw_int(w, r->pid);
	else
		jw_null(w);
	jw_key(w, "starts");
	jw_uint(w, r->starts);
}

static void jupyter_write_kernel(const struct cells *c, struct jw *w)
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
	jupyter_write_process(r, w);
	jw_key(w, "waiting");
	jw_uint(w, c->queue_n);
	jw_key(w, "cells");
	jw_uint(w, c->done_n);
	r->kind->info(r, w);
	jw_end(w);
}

static void jupyter_reply_list(struct plugin_instance *p, struct request *rq)
{
	const struct jupyter *j = p->data;
	struct jw w;

	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "kernels");
	jw_array(&w);
	for (size_t i = 0; j && i < j->kernels_n; i++)
		jupyter_write_kernel(j->kernels[i], &w);
	jw_end(&w);
	jw_end(&w);
	request_reply(rq, 200, "application/json");
}

/* The kernel that the query names. NULL: there is none, and the request is answered. */
static struct cells *jupyter_query_kernel(struct plugin_instance *p, struct request *rq)
{
	const struct jupyter *j = p->data;
	struct str name = STR("");
	int r = request_query(rq, STR("kernel"), &name);
	struct cells *c = r >= 0 && j ? jupyter_find_kernel(j, name) : NULL;

	if (r < 0)
		request_fail(rq, 422,
			STR("The parameter \"kernel\" is given twice or malformed."));
	else if (!c)
		request_fail(rq, 404,
			STR("No kernel has this name. GET /v1/kernels lists the "
			    "kernels."));
	return c;
}

static void jupyter_reply_outputs(struct plugin_instance *p, struct request *rq)
{
	const struct cells *c = jupyter_query_kernel(p, rq);
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

static void jupyter_reply_kernel(struct request *rq, const struct cells *c)
{
	struct jw w;

	jw_init(&w, request_out(rq));
	jupyter_write_kernel(c, &w);
	request_reply(rq, 200, "application/json");
}

static void jupyter_interrupt(struct plugin_instance *p, struct request *rq)
{
	const struct cells *c = jupyter_query_kernel(p, rq);

	if (!c)
		return;
	if (c->runner->state == RUNNER_BUSY)
		c->runner->kind->send_interrupt(c->runner);
	jupyter_reply_kernel(rq, c);
}

static void jupyter_restart(struct plugin_instance *p, struct request *rq)
{
	struct cells *c = jupyter_query_kernel(p, rq);

	if (!c)
		return;
	c->runner->kind->stop(c->runner);
	cells_start(c);
	jupyter_reply_kernel(rq, c);
}

static const struct plugin_endpoint routes[] = {
	{"GET", "/v1/kernels", jupyter_reply_list},
	{"GET", "/v1/kernels/outputs", jupyter_reply_outputs},
	{"POST", "/v1/kernels/interrupt", jupyter_interrupt},
	{"POST", "/v1/kernels/restart", jupyter_restart},
	{0},
};

/* --- The plugin ----------------------------------------------------------------- */

static void jupyter_stop(struct plugin_instance *p)
{
	struct jupyter *j = p->data;

	p->data = NULL;
	while (j->kernels_n)
		jupyter_del_kernel(j->kernels[--j->kernels_n]);
	buf_free(&j->prepare);
	free(j);
}

/* Creates the state, with the default kernel, which is not started yet. */
static struct jupyter *jupyter_new(struct plugin_instance *p)
{
	const char *wanted = env_value(p->box->shell_setup->env, "JUPYTER_KERNEL");
	struct jupyter *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->plug = p;
	buf_init(&j->prepare, KERNEL_PREPARE_MAX);
	buf_str(&j->prepare, skills_text());
	buf_puts(&j->prepare,
		plugin_set_is_requested(p->box->plugs, &plugin_agent_skills)
			? "install(sys.modules['__main__'].__dict__)\n"
			: "install()\n");
	if (!j->prepare.err)
		j->kernels[0] =
			jupyter_kernel_new(j, wanted ? str_c(wanted) : STR(embedded));
	j->kernels_n = 1;
	if (j->kernels[0])
		return j;
	buf_free(&j->prepare);
	free(j);
	return NULL;
}

static int jupyter_start(struct plugin_instance *p)
{
	struct jupyter *j = jupyter_new(p);

	if (!j)
		return -ENOMEM;
	p->data = j;
	cells_start(j->kernels[0]);
	return 0;
}

static void jupyter_write_info(const struct plugin_instance *p, struct jw *w)
{
	const struct jupyter *j = p->data;
	const struct runner *r = j ? j->kernels[0]->runner : NULL;

	if (!r || !r->pid)
		return;
	jw_key(w, "kernel");
	jw_cstr(w, j->kernels[0]->name);
	r->kind->info(r, w);
	jupyter_write_process(r, w);
}

static const struct action *const actions_of_it[] = {&action_run_ipython, NULL};

const struct plugin plugin_jupyter = {
	.name = "jupyter",
	.start = jupyter_start,
	.stop = jupyter_stop,
	.info = jupyter_write_info,
	.actions = actions_of_it,
	.routes = routes,
};
