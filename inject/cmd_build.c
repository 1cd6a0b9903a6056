#include "inject/commands.h"

#include "inject/append.h"
#include "inject/build.h"
#include "inject/out.h"
#include "inject/timing.h"
#include "limits.h"

static int print(const struct options *o, const struct plan *p, const struct timing *t)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	if (o->json) {
		jw_init(&w, &out);
		jw_object(&w);
		jw_key(&w, "image");
		jw_str(&w, buf_view(&p->name));
		jw_key(&w, "built");
		jw_bool(&w, p->kind == PLAN_BUILD);
		jw_key(&w, "shell");
		jw_str(&w, image_shell_word(p->shell));
		jw_key(&w, "timings");
		timing_json(t, &w);
		jw_end(&w);
	} else {
		buf_str(&out, buf_view(&p->name));
	}
	buf_putc(&out, '\n');
	r = out_buf(&out);
	buf_free(&out);
	return r;
}

int cmd_build(const struct options *o)
{
	struct plan p = {0};
	struct engine e;
	struct timing t;
	int r;

	if (o->output)
		return append_run(o);
	timing_start(&t);
	r = engine_open(&e, o->host);
	if (!r)
		r = plan_make(&p, &e, o, o->operand[0]);
	timing_step(&t, "resolve");
	if (!r)
		r = build_run(&p);
	timing_step(&t, "build");
	if (!r)
		r = print(o, &p, &t);
	if (!r && o->timings)
		timing_print(&t);
	plan_free(&p);
	return r;
}

int cmd_dockerfile(const struct options *o)
{
	struct buf out = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct plan p = {0};
	struct engine e;
	int r = engine_open(&e, o->host);

	if (!r)
		r = plan_make(&p, &e, o, o->operand[0]);
	if (!r && p.kind == PLAN_AS_IS)
		r = out_fail(NULL, "%s has this od-runtime-client in it already",
			o->operand[0]);
	if (!r)
		r = plan_dockerfile(&p, p.base->id, &out);
	if (!r)
		r = out_buf(&out);
	plan_free(&p);
	buf_free(&out);
	return r;
}
