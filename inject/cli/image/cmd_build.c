#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/console/timing.h"
#include "inject/engine/engine_image.h"
#include "inject/image/append.h"
#include "inject/image/build.h"
#include "inject/image/folder.h"
#include "inject/image/plan_part.h"
#include "inject/names/ref.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "inject/sandbox/injection.h"
#include "inject/sandbox/leftovers.h"
#include "limits.h"

#include <errno.h>

struct build_options {
	struct image_options image;
	struct output_options output;
	struct dry_run_options dry;
	const char *build_folder;
	bool timings;
};

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

static int cmd_build_print(const struct command_line *line, const struct plan *p,
	bool dry, const struct timing *t)
{
	const struct build_options *o = line->options;
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	if (line->json) {
		jw_init(&w, &out);
		jw_object(&w);
		jw_key(&w, "image");
		jw_str(&w, buf_view(&p->name));
		jw_key(&w, "tag");
		if (o->output.tag)
			jw_cstr(&w, o->output.tag);
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
	if (!r && dry && !line->json)
		out_note("nothing was built; a build would start at the step %s",
			cmd_build_rung_name(p));
	return r;
}

/* --- -t ----------------------------------------------------------------------------- */

/* Parses --tag into name and tag. 0 or FAIL_USAGE. */
static int cmd_build_parse_tag(const char *text, struct str *name, struct str *tag)
{
	const char *why = "an id or a digest can only name an existing image";
	struct ref ref;

	if (ref_parse(&ref, str_c(text), &why) || ref.is_id || ref.digest.n)
		return out_fail_usage(
			"give a name such as agent:1 or host:5000/team/agent",
			"-t '%s' is not a valid image name: %s", text, why);
	if (engine_image_is_own_name(str_c(text)))
		return out_fail_usage("choose another name",
			"-t %s: names of this form are reserved for the "
			"images that od-runtime names itself",
			text);
	*name = str_c(text);
	*tag = ref.tag.n ? ref.tag : STR("latest");
	if (ref.tag.n)
		name->n -= ref.tag.n + 1;
	return 0;
}

static int cmd_build_add_tag(const struct build_options *o, const struct plan *p)
{
	struct buf repo = BUF_INIT(REF_MAX + 1), doing = BUF_INIT(2 * REF_MAX);
	struct str name = {0}, tag = {0};
	int r = cmd_build_parse_tag(o->output.tag, &name, &tag);

	buf_str(&repo, name);
	buf_fmt(&doing, "tagging the image %s", o->output.tag);
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
		return out_fail("run it as it is, or build from its base image",
			"%.*s already contains this od-runtime-client",
			STR_ARG(buf_view(&p->base_ref)));
	if (plan_requires_commit(p))
		return out_fail(
			"leave --build-folder out, so that the image is committed "
			"from a container",
			"no build folder can be made from %.*s: %s",
			STR_ARG(buf_view(&p->base_ref)), image_build_refusal(p->base));
	r = p->kind == PLAN_EXISTS ? plan_probe_base(p) : 0;
	return r ? r : folder_write(p, path);
}

static int cmd_build(const struct command_line *line)
{
	const struct build_options *o = line->options;
	unsigned via = o->image.via;
	struct plan p = {0};
	struct engine e;
	struct timing t;
	bool dry = o->dry.dry_run || o->build_folder;
	struct str name, tag;
	int r;

	if (via != INJECTION_AUTO && !injection_makes_image(via))
		return out_fail_usage("use run", "--via %s does not make an image",
			injection_method_name(via));
	if (o->output.output)
		return append_run(line->operand[0], &o->image, &o->output, line->json);
	if (o->output.tag && (r = cmd_build_parse_tag(o->output.tag, &name, &tag)))
		return r;
	timing_start(&t);
	r = engine_open(&e, line->host);
	if (!r)
		leftovers_collect(&e, LEFTOVERS_CONTAINERS);
	if (!r)
		r = plan_make(&p, &e, &o->image, line->operand[0]);
	timing_end_step(&t, "resolve");
	if (!r && o->build_folder)
		r = cmd_build_write_folder(&p, o->build_folder);
	else if (!r)
		r = o->dry.dry_run ? build_set_name(&p) : build_run(&p);
	if (!r && o->output.tag)
		r = cmd_build_add_tag(o, &p);
	timing_end_step(&t, "build");
	if (!r)
		r = cmd_build_print(line, &p, dry, &t);
	if (!r && o->timings)
		timing_print(&t);
	plan_free(&p);
	return r;
}

static int cmd_build_check(const struct command_line *line)
{
	const struct build_options *o = line->options;
	const struct output_options *output = &o->output;
	bool dry = o->build_folder || o->dry.dry_run;

	if ((output->ca || output->realm || output->plain_http || output->verify) &&
		!output->output)
		return out_fail_usage(out_help_hint(),
			"--ca, --plain-http, --realm and --verify need "
			"--output");
	if (output->tag && dry)
		return out_fail_usage("leave --tag out",
			"--tag cannot be combined with --build-folder or "
			"--dry-run, which make no image");
	if (output->output &&
		(o->image.extra_deps || dry || o->image.via != INJECTION_AUTO))
		return out_fail_usage("leave --output out",
			"--extra-deps, --build-folder, --dry-run and --via "
			"need an engine, which --output does not use");
	if (output->output && o->image.plugin.plugins.n)
		return out_fail_usage("leave --output out",
			"--plugin needs an engine, which --output does not "
			"use");
	/* With --output both operands are places of images; opening them checks them. */
	return output->output ? 0 : options_check_image(line->operand[0]);
}

#define OPTIONS struct build_options
static const struct option build_options[] = {
	{SET(pull_set, image)},
	{"platform", "OS/ARCH",
		"require IMAGE to be for this platform; with --output, select this "
		"platform of a multi-platform IMAGE",
		TEXT, AT(image.platform), EXAMPLE("linux/amd64"), GROUP(IMAGE)},
	{SET(force_build_set, image)},
	{"output", "PLACE",
		"read IMAGE from a place and write the result to PLACE without an "
		"engine; a place is oci:DIR[:REF], archive:FILE[:REF] or "
		"registry:HOST/NAME[:TAG]",
		TEXT, FILES, .letter = 'o', AT(output.output), EXAMPLE("oci:./image"),
		GROUP(IMAGE)},
	{"tag", "NAME[:TAG]",
		"add this name to the image, at the engine or in --output; TAG is latest "
		"if absent, and prune keeps images with such a name",
		TEXT, .letter = 't', AT(output.tag), EXAMPLE("agent:1"), GROUP(IMAGE)},
	{"ca", "FILE", "trust the certificate authorities in FILE (PEM) for registries",
		TEXT, FILES, AT(output.ca), DEFAULT("the authorities of this machine"),
		GROUP(IMAGE)},
	{"plain-http", NULL,
		"use HTTP for registries; registries on loopback addresses do not need "
		"this option",
		FLAG, AT(output.plain_http), GROUP(IMAGE)},
	{"verify", NULL,
		"verify the digests of layers that are linked or copied without being "
		"read",
		FLAG, AT(output.verify), GROUP(IMAGE)},
	{"realm", "HOST",
		"allow the token server HOST to receive the credentials for a registry",
		TEXT, AT(output.realm), EXAMPLE("auth.example.com"), GROUP(IMAGE)},
	{SET(extra_deps_set, image)},
	{SET(dry_run_set, dry)},
	{"build-folder", "DIR",
		"write the build context to DIR, for docker build, and build nothing",
		TEXT, FOLDERS, AT(build_folder), EXAMPLE("./context"), GROUP(IMAGE)},
	{SET(tag_style_set, image)},
	{"timings", NULL, "print the milliseconds of each step on stderr", FLAG,
		AT(timings), GROUP(IMAGE)},
	{SET(client_set, image.client)},
	{SET(plugin_source_set, image.plugin)},
	{"via", "auto|bind|volume|put|build|commit",
		"make the image by this method, build or commit; auto is commit if no "
		"step needs a builder",
		CHOICE(injection_choices), .default_choice = INJECTION_AUTO,
		AT(image.via), DEFAULT("auto"), GROUP(CLIENT)},
	{0},
};
#undef OPTIONS

const struct command command_build = {
	.name = "build",
	.usage = "IMAGE [OPTION...]",
	.purpose = "make a runtime image of IMAGE and print its name or digest",
	.examples = {"od-runtime build -t agent:1 debian:12",
		"od-runtime build registry:docker.io/library/debian:12 -o "
		"oci:./image"},
	.operands = 1,
	.subject = SUBJECT_IMAGE,
	.options = build_options,
	.options_size = sizeof(struct build_options),
	.check = cmd_build_check,
	.run = cmd_build,
};
