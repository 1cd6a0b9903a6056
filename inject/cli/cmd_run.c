#include "inject/cli/commands.h"

#include "inject/cli/exec/exec.h"
#include "inject/console/out.h"
#include "inject/control/mcp_bridge.h"
#include "inject/image/build.h"
#include "inject/image/labels.h"
#include "inject/sandbox/launch.h"
#include "inject/sandbox/leftovers.h"
#include "inject/sandbox/sandbox_info.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

static void run_append_timings(void *arg, struct jw *w)
{
	jw_key(w, "timings");
	timing_write_json(arg, w);
}

static int run_check_entrypoint(const struct options *o, struct image *base)
{
	size_t n = 0;
	int r = 0;

	if (o->entrypoint != ENTRYPOINT_NONE)
		r = labels_command(base, NULL, NULL, &n);
	if (r == -ENOMEM)
		return r;
	if (o->entrypoint == ENTRYPOINT_NONE || (!r && n))
		return 0;
	return out_fail("leave --entrypoint out",
		r ? "the labels of %s do not say what it would have started"
		  : "%s has neither ENTRYPOINT nor CMD",
		o->operand[0]);
}

/* Starts a sandbox of the planned image. */
static int run_launch_plan(const struct settings *settings, const struct connect *connect,
	struct plan *p, struct timing *t, struct sandbox *s)
{
	const struct options *o = settings->options;
	struct buf dir = BUF_INIT(4096);
	struct launch l = {
		.engine = p->engine,
		.settings = settings,
		.image = buf_cstr(&p->name),
		.shown_image = o->operand[0],
		.base = p->base,
		.connect = connect,
		/*
		 * With an attached command this process removes the sandbox at its end.
		 */
		.auto_remove = o->remove && (!o->argc || o->detach),
		.bound = o->argc ? o->remove && !o->detach : o->command->bit == FOR_MCP,
	};
	struct injection via = {
		.engine = p->engine,
		.options = o,
		.client = &p->client,
		.busybox = &p->busybox,
		.image = p->base,
		.shown_image = o->operand[0],
	};
	int r;

	r = run_check_entrypoint(o, p->base);
	if (r)
		return r;
	if (p->kind == PLAN_BASE)
		l.injection = &via;
	if (o->working_dir)
		buf_puts(&dir, o->working_dir);
	else
		buf_str(&dir,
			json_doc_str(
				&p->base->doc, json_get(p->base->config, "WorkingDir")));
	if (!dir.n)
		buf_putc(&dir, '/');
	l.working_dir = buf_cstr(&dir);
	r = l.image && l.working_dir ? launch_run(&l, t, s) : ERR_LIMIT;
	buf_free(&dir);
	injection_free(&via);
	return r;
}

/*
 * The printed data is read before the command starts: with --rm, the sandbox may be gone
 * as soon as the command has started.
 */
static int run_exec_detached(const struct options *o, struct plan *p,
	struct timing *timings, const struct sandbox *s)
{
	struct buf line = BUF_INIT(INJECT_TEXT_MAX);
	struct options plain = *o;
	int r = sandbox_info_render(
		p->engine, &s->state, o->json, run_append_timings, timings, &line);

	plain.json = false;
	if (!r)
		r = exec_run_argv(&plain, NULL, s);
	if (!r)
		return out_write_line(&line);
	buf_free(&line);
	if (o->remove)
		sandbox_remove(p->engine, &s->state);
	else
		out_note("the sandbox %s runs without the command; od-runtime rm -f %s "
			 "removes it",
			s->state.name, s->state.name);
	return r;
}

/* The sandbox is ready: prints that, or executes the command in it. */
static int run_on_ready(const struct options *o, struct plan *p, const struct timing *t,
	const struct sandbox *s)
{
	struct timing timings = *t;
	int r;

	if (!o->argc)
		return sandbox_info_print(
			p->engine, &s->state, o->json, run_append_timings, &timings);
	if (o->detach)
		return run_exec_detached(o, p, &timings, s);
	if (!o->remove)
		out_note("sandbox %s", s->state.name);
	exec_set_limit(o);
	r = exec_run_argv(o, NULL, s);
	if (o->remove)
		sandbox_remove(p->engine, &s->state);
	return r;
}

/* In development the client is put into the container, so that update can replace it. */
static struct options run_set_development(const struct options *o)
{
	struct options with = *o;

	if (with.via == INJECTION_AUTO && plan_is_development())
		with.via = INJECTION_PUT;
	return with;
}

/* Called with a sandbox that is ready. */
typedef int run_ready_fn(const struct options *o, struct plan *p, const struct timing *t,
	const struct sandbox *s);

static int run_start_sandbox(const struct options *given, run_ready_fn *then)
{
	const struct options with = run_set_development(given), *o = &with;
	struct settings settings = {0};
	struct connect connect = {0};
	struct sandbox s = {0};
	struct plan p = {0};
	struct engine e;
	struct timing t;
	bool image = injection_makes_image(o->via) || plan_needs_image(o);
	int r;

	if (image && !injection_makes_image(o->via) && given->via != INJECTION_AUTO)
		return out_fail_usage("leave --via out",
			"extra dependencies and plugins are in an image, which --via %s "
			"does not make",
			injection_method_name(o->via));
	timing_start(&t);
	r = exec_check_options(o);
	if (!r)
		r = settings_read(&settings, o);
	if (!r)
		r = connect_read(&connect, o);
	if (!r)
		r = engine_open(&e, o->host);
	if (!r)
		r = settings_check_engine(&settings, e.minor, e.podman);
	if (!r && e.remote && o->tls)
		r = out_fail_usage("leave --tls out",
			"the engine at %s is reached over TLS already, and carries what "
			"goes to the sandbox",
			e.path);
	if (!r)
		leftovers_collect(&e, LEFTOVERS_CONTAINERS);
	if (!r)
		r = image ? plan_make(&p, &e, o, o->operand[0])
			  : plan_make_base(&p, &e, o, o->operand[0]);
	timing_end_step(&t, "resolve");
	if (!r && image)
		r = build_run(&p);
	timing_end_step(&t, "build");
	if (!r)
		r = run_launch_plan(&settings, &connect, &p, &t, &s);
	if (!r && o->timings)
		timing_print(&t);
	if (!r)
		r = then(o, &p, &t, &s);
	state_wipe_key(&s.state);
	plan_free(&p);
	settings_free(&settings);
	connect_free(&connect);
	return r;
}

int cmd_run(const struct options *given)
{
	return run_start_sandbox(given, run_on_ready);
}

/* --- mcp -------------------------------------------------------------------------- */

static int run_serve_mcp(const struct options *o, struct plan *p, const struct timing *t,
	const struct sandbox *s)
{
	int r;

	(void)o;
	(void)t;
	out_note("sandbox %s", s->state.name);
	r = bridge_run(s);
	sandbox_remove(p->engine, &s->state);
	return r;
}

/* The name is a sandbox or an image; sandboxes are looked up first. */
int cmd_mcp(const struct options *o)
{
	const char *name = o->operand[0];
	struct sandbox s = {0};
	struct engine e;
	int r = engine_open(&e, o->host);

	if (!r)
		r = state_is_name(str_c(name)) ? sandbox_find(&e, name, &s) : 1;
	if (r == 1)
		return run_start_sandbox(o, run_serve_mcp);
	if (!r && o->specific)
		r = out_fail_usage("leave it out, or name an image",
			"--%s is for a new sandbox, and %s is there already", o->specific,
			name);
	if (!r)
		r = sandbox_open(&e, name, &s);
	if (!r)
		r = bridge_run(&s);
	state_wipe_key(&s.state);
	return r;
}
