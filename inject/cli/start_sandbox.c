#include "inject/cli/start_sandbox.h"

#include "inject/console/out.h"
#include "inject/image/build.h"
#include "inject/image/labels.h"
#include "inject/image/plan.h"
#include "inject/sandbox/launch.h"
#include "inject/sandbox/leftovers.h"

#include <errno.h>

static int sandbox_start_check_entrypoint(
	const struct sandbox_start *start, struct image *base)
{
	unsigned mode = start->options->entrypoint;
	size_t n = 0;
	int r = 0;

	if (mode != ENTRYPOINT_NONE)
		r = labels_command(base, NULL, NULL, &n);
	if (r == -ENOMEM)
		return r;
	if (mode == ENTRYPOINT_NONE || (!r && n))
		return 0;
	return out_fail("leave --entrypoint out",
		r ? "the labels of the image %s do not record its original "
		    "ENTRYPOINT and CMD"
		  : "the image %s has neither ENTRYPOINT nor CMD",
		start->line->operand[0]);
}

/* Starts a sandbox of the planned image. */
static int sandbox_start_launch(const struct sandbox_start *start,
	const struct settings *settings, const struct connect *connect, struct plan *p,
	struct timing *t, struct sandbox *s)
{
	const char *working_dir = settings->options->identity.working_dir;
	struct buf dir = BUF_INIT(4096);
	struct launch l = {
		.engine = p->engine,
		.settings = settings,
		.image = buf_cstr(&p->name),
		.shown_image = start->line->operand[0],
		.base = p->base,
		.connect = connect,
		.auto_remove = start->auto_remove,
		.bound = start->bound,
	};
	struct injection injection = {
		.engine = p->engine,
		.options = settings->options,
		.client = &p->client,
		.busybox = &p->busybox,
		.image = p->base,
		.shown_image = start->line->operand[0],
	};
	int r = sandbox_start_check_entrypoint(start, p->base);

	if (r)
		return r;
	if (p->kind == PLAN_BASE)
		l.injection = &injection;
	if (working_dir)
		buf_puts(&dir, working_dir);
	else
		buf_str(&dir,
			json_doc_str(
				&p->base->doc, json_get(p->base->config, "WorkingDir")));
	if (!dir.n)
		buf_putc(&dir, '/');
	l.working_dir = buf_cstr(&dir);
	r = l.image && l.working_dir ? launch_run(&l, t, s) : ERR_LIMIT;
	buf_free(&dir);
	injection_free(&injection);
	return r;
}

/* In development the client is put into the container, so that update can replace it. */
static struct sandbox_options sandbox_start_set_development(
	const struct sandbox_options *o)
{
	struct sandbox_options with = *o;

	if (with.image.via == INJECTION_AUTO && plan_is_development())
		with.image.via = INJECTION_PUT;
	return with;
}

static int sandbox_start_open_engine(const struct sandbox_start *start,
	const struct settings *settings, struct engine *e)
{
	int r = engine_open(e, start->line->host);

	if (!r)
		r = settings_check_engine(settings, e->minor, e->podman);
	if (!r && e->remote && start->options->tls)
		r = out_fail_usage("leave --tls out",
			"--tls is not needed: requests go through the engine "
			"at %s, which already uses TLS",
			e->path);
	if (!r)
		leftovers_collect(e, LEFTOVERS_CONTAINERS);
	return r;
}

int sandbox_start_run(const struct sandbox_start *start)
{
	const struct sandbox_options o = sandbox_start_set_development(start->options);
	const enum injection_kind via = (enum injection_kind)o.image.via;
	const char *name = start->line->operand[0];
	struct settings settings = {0};
	struct connect connect = {0};
	struct sandbox s = {0};
	struct plan p = {0};
	struct engine e;
	struct timing t;
	bool image = injection_makes_image(via) || plan_needs_image(&o.image);
	int r;

	if (image && !injection_makes_image(via) &&
		start->options->image.via != INJECTION_AUTO)
		return out_fail_usage("leave --via out, or use --via build",
			"--extra-deps and --plugin need an image, which "
			"--via %s does not make",
			injection_method_name(via));
	timing_start(&t);
	r = settings_read(&settings, &o, start->line->argc);
	if (!r)
		r = connect_read(&connect, start->connect, o.read_only);
	if (!r)
		r = sandbox_start_open_engine(start, &settings, &e);
	if (!r)
		r = image ? plan_make(&p, &e, &o.image, name)
			  : plan_make_base(&p, &e, &o.image, name);
	timing_end_step(&t, "resolve");
	if (!r && image)
		r = build_run(&p);
	timing_end_step(&t, "build");
	if (!r)
		r = sandbox_start_launch(start, &settings, &connect, &p, &t, &s);
	if (!r && start->prints_timings)
		timing_print(&t);
	if (!r)
		r = start->on_ready(start, &e, &t, &s);
	state_wipe_key(&s.state);
	plan_free(&p);
	settings_free(&settings);
	connect_free(&connect);
	return r;
}
