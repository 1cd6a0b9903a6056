#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/console/timing.h"
#include "inject/engine/engine_image.h"
#include "inject/image/append.h"
#include "inject/image/build.h"
#include "inject/image/folder.h"
#include "inject/image/plan_part.h"
#include "inject/names/ref.h"
#include "inject/sandbox/injection.h"
#include "inject/sandbox/leftovers.h"
#include "limits.h"

#include <errno.h>

/* The rung from which the image is made, or would be made. */
static const char *cmd_build_rung_name(const struct plan *p)
{
	static const char *const words[] = {
		[IMAGE_STAGE_BASE] = "base",
		[IMAGE_STAGE_VERSIONED] = "versioned",
		[IMAGE_STAGE_LOCK] = "lock",
		[IMAGE_STAGE_SOURCE] = "source",
	};

	return words[p->kind == PLAN_BUILD ? p->stage : IMAGE_STAGE_SOURCE];
}

static int cmd_build_print(
	const struct options *o, const struct plan *p, bool dry, const struct timing *t)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	if (o->json) {
		jw_init(&w, &out);
		jw_object(&w);
		jw_key(&w, "image");
		jw_str(&w, buf_view(&p->name));
		jw_key(&w, "tag");
		if (o->tag)
			jw_cstr(&w, o->tag);
		else
			jw_null(&w);
		jw_key(&w, "built");
		jw_bool(&w, p->kind == PLAN_BUILD && !dry);
		jw_key(&w, "from");
		jw_cstr(&w, cmd_build_rung_name(p));
		jw_key(&w, "shell");
		jw_str(&w, image_shell_name(p->shell));
		jw_key(&w, "timings");
		timing_write_json(t, &w);
		jw_end(&w);
	} else {
		buf_str(&out, buf_view(&p->name));
	}
	r = out_write_line(&out);
	if (!r && dry && !o->json)
		out_note("nothing was built; a build would begin at: %s",
			cmd_build_rung_name(p));
	return r;
}

/* --- -t ----------------------------------------------------------------------------- */

/* Parses --tag into name and tag. 0 or FAIL_USAGE. */
static int cmd_build_parse_tag(const char *text, struct str *name, struct str *tag)
{
	const char *why = "an id or a digest names an image that is there already";
	struct ref ref;

	if (ref_parse(&ref, str_c(text), &why) || ref.is_id || ref.digest.n)
		return out_fail_usage("as in -t agent:1 or -t host:5000/team/agent",
			"'%s' cannot be the name of the image: %s", text, why);
	if (engine_image_is_own_name(str_c(text)))
		return out_fail_usage("choose another name",
			"-t %s: od-runtime gives names of this kind to its images", text);
	*name = str_c(text);
	*tag = ref.tag.n ? ref.tag : STR("latest");
	if (ref.tag.n)
		name->n -= ref.tag.n + 1;
	return 0;
}

static int cmd_build_add_tag(const struct options *o, const struct plan *p)
{
	struct buf repo = BUF_INIT(REF_MAX + 1), doing = BUF_INIT(2 * REF_MAX);
	struct str name = {0}, tag = {0};
	int r = cmd_build_parse_tag(o->tag, &name, &tag);

	buf_str(&repo, name);
	buf_fmt(&doing, "naming the image %s", o->tag);
	if (!r)
		r = buf_cstr(&repo) && buf_cstr(&doing)
			? engine_image_tag(
				  p->engine, buf_view(&p->name), repo.p, tag, doing.p)
			: -ENOMEM;
	buf_free(&repo);
	buf_free(&doing);
	return r;
}

/*
 * Writes the build context to a folder. A base with ONBUILD instructions is refused,
 * because the builder would run them.
 */
static int cmd_build_write_folder(struct plan *p, const char *path)
{
	int r;

	if (p->kind == PLAN_AS_IS)
		return out_fail("use it as it is, or give its base",
			"%.*s has this od-runtime-client in it already",
			STR_ARG(buf_view(&p->base_ref)));
	if (plan_requires_commit(p))
		return out_fail("build it without --build-folder",
			"%.*s cannot be used: %s", STR_ARG(buf_view(&p->base_ref)),
			image_build_refusal(p->base));
	r = p->kind == PLAN_EXISTS ? plan_probe_base(p) : 0;
	return r ? r : folder_write(p, path);
}

int cmd_build(const struct options *o)
{
	struct plan p = {0};
	struct engine e;
	struct timing t;
	bool dry = o->dry_run || o->build_folder;
	struct str name, tag;
	int r;

	if (o->via != INJECTION_AUTO && !injection_makes_image(o->via))
		return out_fail_usage("use run", "--via %s makes no image",
			injection_method_name(o->via));
	if (o->output)
		return append_run(o);
	if (o->tag && (r = cmd_build_parse_tag(o->tag, &name, &tag)))
		return r;
	timing_start(&t);
	r = engine_open(&e, o->host);
	if (!r)
		leftovers_collect(&e, LEFTOVERS_CONTAINERS);
	if (!r)
		r = plan_make(&p, &e, o, o->operand[0]);
	timing_end_step(&t, "resolve");
	if (!r && o->build_folder)
		r = cmd_build_write_folder(&p, o->build_folder);
	else if (!r)
		r = o->dry_run ? build_set_name(&p) : build_run(&p);
	if (!r && o->tag)
		r = cmd_build_add_tag(o, &p);
	timing_end_step(&t, "build");
	if (!r)
		r = cmd_build_print(o, &p, dry, &t);
	if (!r && o->timings)
		timing_print(&t);
	plan_free(&p);
	return r;
}
