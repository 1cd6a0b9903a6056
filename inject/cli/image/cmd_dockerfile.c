#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/image/plan_part.h"
#include "limits.h"

int cmd_dockerfile(const struct options *o)
{
	struct buf out = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct plan_part part = {.below = IMAGE_STAGE_BASE, .upto = IMAGE_STAGE_SOURCE};
	struct plan p = {0};
	struct engine e;
	int r = engine_open(&e, o->host);

	if (!r)
		r = plan_make(&p, &e, o, o->operand[0]);
	if (!r && p.kind == PLAN_AS_IS)
		r = out_fail("use it as it is, or give its base",
			"%s has this od-runtime-client in it already", o->operand[0]);
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
