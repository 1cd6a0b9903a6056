#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/image/plan_part.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "limits.h"

struct dockerfile_options {
	struct image_options image;
};

static int cmd_dockerfile(const struct command_line *line)
{
	const struct dockerfile_options *o = line->options;
	struct buf out = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct plan_part part = {.below = IMAGE_STAGE_BASE, .upto = IMAGE_STAGE_SOURCE};
	struct plan p = {0};
	struct engine e;
	int r = engine_open(&e, line->host);

	if (!r)
		r = plan_make(&p, &e, &o->image, line->operand[0]);
	if (!r && p.kind == PLAN_AS_IS)
		r = out_fail("run it as it is, or build from its base image",
			"%s already contains this od-runtime-client", line->operand[0]);
	if (!r && p.kind == PLAN_EXISTS)
		r = plan_probe_base(&p);
	if (!r) {
		part.from = p.base->id;
		r = plan_write_dockerfile(&p, &part, &out);
	}
	if (!r)
		r = out_write_buf(&out);
	plan_free(&p);
	buf_free(&out);
	return r;
}

#define OPTIONS struct dockerfile_options
static const struct option dockerfile_options[] = {
	{SET(pull_set, image)},
	{SET(platform_set, image)},
	{SET(extra_deps_set, image)},
	{SET(client_set, image.client)},
	{SET(plugin_source_set, image.plugin)},
	{0},
};
#undef OPTIONS

const struct command command_dockerfile = {
	.name = "dockerfile",
	.usage = "IMAGE [OPTION...]",
	.purpose = "print the Dockerfile that build sends to the engine",
	.examples = {"od-runtime dockerfile debian:12"},
	.operands = 1,
	.subject = SUBJECT_IMAGE,
	.options = dockerfile_options,
	.options_size = sizeof(struct dockerfile_options),
	.run = cmd_dockerfile,
};
