#include "inject/image/plan_part.h"

#include "inject/console/out.h"
#include "inject/names/ref.h"
#include "inject/names/tag.h"
#include "limits.h"

struct dockerfile plan_describe(struct plan *p)
{
	return (struct dockerfile){
		.base = p->base,
		.base_ref = buf_view(&p->base_ref),
		.arch = p->base->arch,
		.client_sha256 = str_c(p->client.sha256),
		.shell = image_shell_name(p->shell),
		.busybox_sha256 = plan_busybox_sha256(p),
		.plugins_sha256 = program_plugins_sha256(&p->client),
		.version = buf_view(&p->version),
		.lock = buf_view(&p->lock),
		.key = buf_view(&p->tag),
		.deps = buf_view(&p->deps),
		.plugins_label = buf_view(&p->plugins_label),
		.plugins = &p->plugins,
	};
}

bool plan_has_stage(struct plan *p, enum image_stage rung)
{
	const struct dockerfile d = plan_describe(p);

	return dockerfile_has_stage(&d, rung);
}

/* The names of the plugins' images as the user typed them. */
static void plan_copy_plugin_refs(const struct plan *p, struct buf lent[INJECT_PLUGINS])
{
	for (size_t i = 0; i < p->plugins.n; i++) {
		lent[i] = (struct buf)BUF_INIT(REF_MAX);
		if (p->plugins.list[i].image)
			buf_puts(&lent[i], p->plugins.list[i].image);
	}
}

int plan_write_dockerfile(struct plan *p, const struct plan_part *part, struct buf *out)
{
	struct dockerfile d = plan_describe(p);
	struct buf lent[INJECT_PLUGINS];
	int r;

	plan_copy_plugin_refs(p, lent);
	d.from = part->from;
	d.below = part->below;
	d.upto = part->upto;
	d.plugin_refs = part->plugin_refs ? part->plugin_refs : lent;
	r = dockerfile_write(&d, out);
	for (size_t i = 0; i < p->plugins.n; i++)
		buf_free(&lent[i]);
	if (r == ERR_LIMIT)
		return out_fail("choose another image",
			"a setting of the image %.*s is too long for a label",
			STR_ARG(buf_view(&p->base_ref)));
	if (r == ERR_SYNTAX)
		return out_fail("leave --extra-deps out, or choose another image",
			"the user of the image %.*s cannot be written into a Dockerfile",
			STR_ARG(buf_view(&p->base_ref)));
	return r;
}

struct str plan_stage_tag(const struct plan *p, enum image_stage rung)
{
	switch (rung) {
	case IMAGE_STAGE_VERSIONED:
		return buf_view(&p->version);
	case IMAGE_STAGE_LOCK:
		return buf_view(&p->lock);
	default:
		return buf_view(&p->tag);
	}
}

bool plan_is_stage(struct plan *p, struct image *im, enum image_stage rung)
{
	struct str plugins =
		rung == IMAGE_STAGE_LOCK ? buf_view(&p->plugins_label) : STR("");

	return str_eq(image_label(im, "od.managed"), STR("1")) &&
		image_label(im, "od.stage").n &&
		str_eq(image_label(im, "od.template"), STR(TAG_TEMPLATE)) &&
		str_eq(image_label(im, "od.base.id"), p->base->id) &&
		str_eq(image_label(im, "od.deps"), buf_view(&p->deps)) &&
		str_eq(image_label(im, "od.plugins"), plugins) &&
		/* Extra dependencies may have changed nothing. */
		image_begins_with(im, p->base);
}

int plan_find_stage(struct plan *p)
{
	p->stage = IMAGE_STAGE_BASE;
	for (enum image_stage at = IMAGE_STAGE_LOCK; at > IMAGE_STAGE_BASE; at--) {
		struct buf name = BUF_INIT(256);
		const char *text;
		int r = 1;

		if (!plan_has_stage(p, at) && !(at == IMAGE_STAGE_LOCK && p->deps.n))
			continue;
		buf_puts(&name, TAG_REPO ":");
		buf_str(&name, plan_stage_tag(p, at));
		text = buf_cstr(&name);
		if (text)
			r = plan_inspect(p->engine, text, &p->below);
		buf_free(&name);
		if (r < 0)
			return r;
		if (r == 0 && plan_is_stage(p, &p->below, at)) {
			p->stage = at;
			return 0;
		}
		if (r == 0)
			image_free(&p->below);
	}
	return 0;
}

/* Inspects the image of a plugin, whose hash is the image's id. */
static int plan_find_plugin(struct plan *p, struct plugin *plugin)
{
	struct image im = {0};
	struct str id;
	int r = plan_require_image(
		p, plugin->image, plan_inspect(p->engine, plugin->image, &im), &im);

	if (r)
		return r;
	id = im.id;
	plugin->named = image_has_name(&im);
	(void)str_cut(&id, ':');
	if (!str_eq(im.arch, p->base->arch))
		r = out_fail("give the plugin as an image for the architecture of the "
			     "base image",
			"the plugin image %s is for %.*s, %.*s for %.*s", plugin->image,
			STR_ARG(im.arch), STR_ARG(buf_view(&p->base_ref)),
			STR_ARG(p->base->arch));
	else if (!ref_is_id(im.id) || id.n >= sizeof(plugin->hash))
		r = out_fail(ENGINE_NEXT,
			"the engine returned an invalid id of the image %s",
			plugin->image);
	else
		memcpy(plugin->hash, id.p, id.n);
	image_free(&im);
	return r;
}

int plan_find_parts(struct plan *p)
{
	struct str deps = str_c(p->options->extra_deps);
	int r = 0;

	if (deps.n > INJECT_DEPS_MAX)
		return out_fail_usage("build an image that has them, and name it",
			"--extra-deps is longer than %d bytes", INJECT_DEPS_MAX);
	if (deps.n)
		dockerfile_quote(deps, &p->deps);
	for (size_t i = 0; i < p->plugins.n && !r; i++)
		if (p->plugins.list[i].image)
			r = plan_find_plugin(p, &p->plugins.list[i]);
	plugins_write_label(&p->plugins, &p->plugins_label);
	return r ? r : p->plugins_label.err ? p->plugins_label.err : p->deps.err;
}
