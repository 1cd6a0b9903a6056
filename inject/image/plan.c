#include "inject/image/plan.h"

#include "inject/console/out.h"
#include "inject/engine/engine_image.h"
#include "inject/image/plan_part.h"
#include "inject/image/probe.h"
#include "inject/image/pull.h"
#include "inject/names/ref.h"
#include "inject/names/tag.h"
#include "inject/options/spec.h"
#include "limits.h"

#include <errno.h>
#include <stdlib.h>

int plan_inspect(const struct engine *e, const char *name, struct image *im)
{
	struct reply reply;
	int r = engine_image_inspect(e, str_c(name), &reply);

	if (!r && reply.status == 404)
		r = 1;
	else if (!r && reply.status != 200)
		r = engine_fail_reply(&reply, NULL, "inspecting the image %s", name);
	if (!r) {
		r = image_read_take(im, &reply.body);
		if (r && r != -ENOMEM)
			r = out_fail(ENGINE_NEXT_LOG ", or use another image",
				"the engine's description of the image %s cannot be read",
				name);
	}
	reply_free(&reply);
	return r;
}

static int plan_set_base_ref(struct plan *p, const char *text)
{
	const char *why;
	struct ref ref;

	/* A typed name was checked before, but a label can have any content. */
	if (ref_parse(&ref, str_c(text), &why))
		return out_fail("name another image",
			"'%s' is not the name of an image: %s", text, why);
	buf_reset(&p->base_ref);
	buf_puts(&p->base_ref, text);
	buf_reset(&p->canonical);
	ref_write_canonical(&ref, &p->canonical);
	return p->base_ref.err ? p->base_ref.err : p->canonical.err;
}

/*
 * Whether the image does not fit --platform: an image of another platform has the name.
 */
static bool plan_is_foreign(const struct plan *p)
{
	const char *platform = p->options->platform, *why;
	struct str arch;

	return platform && spec_parse_platform(str_c(platform), &arch, &why) == 0 &&
		!str_eq(arch, p->base->arch);
}

int plan_require_image(struct plan *p, const char *name, int r, struct image *im)
{
	if (r == 1 && p->options->pull != PULL_NEVER) {
		r = pull_image(p->engine, name, p->options->platform);
		if (!r)
			r = plan_inspect(p->engine, name, im);
	}
	if (r != 1)
		return r;
	return out_fail("leave --pull never out, or load the image with docker load",
		"the engine at %s does not have the image %s, and --pull never is set",
		p->engine->path, name);
}

static int plan_find_base(struct plan *p, const char *name)
{
	const struct options *o = p->options;
	int r = o->pull == PULL_ALWAYS ? 1 : plan_inspect(p->engine, name, p->base);

	if (r == 0 && plan_is_foreign(p) && o->pull == PULL_MISSING) {
		image_free(p->base);
		r = 1;
	}
	r = plan_require_image(p, name, r, p->base);
	if (!r && plan_is_foreign(p))
		return out_fail("leave --pull never out, or name another image",
			"the image %s is for %.*s, not for %s", name,
			STR_ARG(p->base->arch), o->platform);
	return r;
}

/* Makes the tags of the product of p->base with this busybox. */
static void plan_make_tags(struct plan *p, struct str busybox)
{
	const struct tag_inputs in = {
		.base_ref = buf_view(&p->canonical),
		.base_id = p->base->id,
		.arch = p->base->arch,
		.deps = buf_view(&p->deps),
		.plugins = buf_view(&p->plugins_label),
		.client_sha256 = str_c(p->client.sha256),
		.busybox_sha256 = busybox,
		.plugins_sha256 = program_plugins_sha256(&p->client),
	};

	buf_reset(&p->version);
	buf_reset(&p->lock);
	buf_reset(&p->tag);
	tag_write_versioned(&in, &p->version);
	tag_write_lock(&in, &p->lock);
	tag_write_source(&in, &p->tag);
}

static int plan_canonical_ref(struct str text, struct buf *out)
{
	const char *why;
	struct ref ref;
	int r = ref_parse(&ref, text, &why);

	if (!r)
		ref_write_canonical(&ref, out);
	return r ? r : out->err;
}

/* Whether the image has layers of ours with the present client. */
static bool plan_has_client(struct plan *p)
{
	struct buf ref = BUF_INIT(1024), tag = BUF_INIT(256);
	struct tag_inputs in = {
		.base_id = image_label(p->base, "od.base.id"),
		.arch = p->base->arch,
		.deps = image_label(p->base, "od.deps"),
		.plugins = image_label(p->base, "od.plugins"),
		.client_sha256 = str_c(p->client.sha256),
		.busybox_sha256 = image_label(p->base, "od.busybox.sha256"),
		.plugins_sha256 = program_plugins_sha256(&p->client),
	};
	bool same = (!p->deps.n || str_eq(buf_view(&p->deps), in.deps)) &&
		(!p->plugins.n || str_eq(buf_view(&p->plugins_label), in.plugins));

	if (same && plan_canonical_ref(image_label(p->base, "od.base.ref"), &ref) == 0) {
		in.base_ref = buf_view(&ref);
		tag_write_source(&in, &tag);
		same = str_eq(buf_view(&tag), image_label(p->base, "od.key.source"));
		/* The tag of this image is shown, because this image is started. */
		buf_reset(&p->tag);
		buf_str(&p->tag, buf_view(&tag));
	} else {
		same = false;
	}
	buf_free(&ref);
	buf_free(&tag);
	return same;
}

/*
 * Replaces the base, which is a product with another client, by the image that it was
 * made from, so that layers do not pile up with every update.
 */
static int plan_restore_base(struct plan *p, size_t layers)
{
	struct image *from = &p->images[1];
	struct buf id = BUF_INIT(256), ref = BUF_INIT(1024);
	const char *name;
	int r;

	buf_str(&id, image_label(p->base, "od.base.id"));
	buf_str(&ref, image_label(p->base, "od.base.ref"));
	name = buf_cstr(&id);
	r = name && ref_is_id(buf_view(&id)) ? plan_inspect(p->engine, name, from) : 1;
	/* Labels can have any content, so that the layers decide. */
	if (r == 0 &&
		(json_count(from->layers) != layers || !image_is_above(p->base, from)))
		r = 1;
	if (r == 1)
		r = out_fail("pull that image again, or name another one",
			"the image %.*s was built from %.*s, which the engine no longer "
			"has",
			STR_ARG(buf_view(&p->base_ref)), STR_ARG(buf_view(&ref)));
	name = r ? NULL : buf_cstr(&ref);
	if (!r)
		r = name ? plan_set_base_ref(p, name) : ref.err;
	if (!r)
		p->base = from;
	buf_free(&id);
	buf_free(&ref);
	return r;
}

/*
 * Fails if the image is an older product with dependencies or plugins that the options do
 * not name: they cannot be taken from it, and must not be dropped silently.
 */
static int plan_check_inherited(struct plan *p)
{
	bool deps = !p->deps.n && image_label(p->base, "od.deps").n;
	bool plugins = !p->plugins.n && image_label(p->base, "od.plugins").n;

	if (!deps && !plugins)
		return 0;
	return out_fail(deps ? "give them again with --extra-deps, or name the base image"
			     : "give them again with --plugin, or name the base image",
		"the image %.*s contains another client and %s, which are lost if it is "
		"replaced",
		STR_ARG(buf_view(&p->base_ref)), deps ? "extra dependencies" : "plugins");
}

bool plan_is_development(void)
{
	struct str v = str_c(getenv("SANDBOX_UPDATE_SOURCE_CODE"));

	return str_eq_nocase(v, STR("true")) || str_eq(v, STR("1")) ||
		str_eq_nocase(v, STR("yes"));
}

bool plan_needs_image(const struct options *o)
{
	const char *value;
	size_t it = 0;

	while ((value = options_next(o, LIST_PLUGIN, &it)))
		if (value[plugin_option_name(value).n])
			return true;
	return o->extra_deps != NULL;
}

bool plan_requires_commit(struct plan *p)
{
	return p->options->via == INJECTION_COMMIT ||
		image_build_refusal(p->base) != NULL;
}

/* why: the reason why the image cannot be used; NULL: none. */
static int plan_check_arch(struct plan *p, const char *why)
{
	if (why)
		return out_fail("choose another image", "%.*s cannot be used: %s",
			STR_ARG(buf_view(&p->base_ref)), why);
	if (!str_eq(p->base->arch, str_c(p->client.arch)))
		return out_fail(
			"give the od-runtime-client for that architecture with --client",
			"%.*s is for %.*s, the client binary for %s",
			STR_ARG(buf_view(&p->base_ref)), STR_ARG(p->base->arch),
			p->client.arch);
	return 0;
}

static int plan_check_base(struct plan *p)
{
	const char *why = image_refusal(p->base);

	if (!why && plan_requires_commit(p) && (p->deps.n || p->plugins.n))
		why = p->options->via == INJECTION_COMMIT
			? "--extra-deps and --plugin cannot be combined with a commit"
			: image_build_refusal(p->base);
	return plan_check_arch(p, why);
}

struct str plan_busybox_sha256(const struct plan *p)
{
	return str_c(p->shell == IMAGE_SHELL_BUSYBOX ? p->busybox.sha256 : NULL);
}

bool plan_matches(struct plan *p, struct image *im)
{
	return str_eq(image_label(im, "od.managed"), STR("1")) &&
		str_eq(image_label(im, "od.key.source"), buf_view(&p->tag)) &&
		image_is_above(im, p->base);
}

/* Loads a busybox, if it is wanted and there is one: then p->busybox has an arch. */
static int plan_find_busybox(struct plan *p)
{
	int r;

	if (p->options->no_busybox || p->busybox.arch)
		return 0;
	r = program_find_busybox(&p->busybox, p->options->busybox, p->client.arch);
	return r == 1 ? 0 : r;
}

/*
 * 1: an image of ours has the shell that it would get now; otherwise 0 or an error. A
 * busybox that another host put in is accepted.
 */
static int plan_check_shell(struct plan *p, struct image *im)
{
	struct str sha256 = image_label(im, "od.busybox.sha256");
	int r;

	switch (image_shell(im)) {
	case IMAGE_SHELL_OWN:
		return 1;
	case IMAGE_SHELL_BUSYBOX:
		if (p->options->no_busybox || !p->options->busybox)
			return !p->options->no_busybox;
		r = plan_find_busybox(p);
		return r ? r : str_eq(sha256, str_c(p->busybox.sha256));
	default:
		r = plan_find_busybox(p);
		return r ? r : !p->busybox.arch;
	}
}

/*
 * Names the product that has this busybox and inspects it: 1: it exists from an earlier
 * build, with *im; otherwise 0 or an error.
 */
static int plan_inspect_product(struct plan *p, struct str busybox, struct image *im)
{
	const char *name;
	int r;

	plan_make_tags(p, busybox);
	buf_reset(&p->name);
	buf_reset(&p->old_id);
	buf_puts(&p->name, TAG_REPO ":");
	buf_str(&p->name, buf_view(&p->tag));
	name = buf_cstr(&p->name);
	r = name ? plan_inspect(p->engine, name, im) : p->name.err;
	if (r)
		return r == 1 ? 0 : r;
	buf_str(&p->old_id, im->id);
	if (p->old_id.err || !plan_matches(p, im)) {
		image_free(im);
		return p->old_id.err;
	}
	return 1;
}

/* 1: the product of an earlier build exists and fits; otherwise 0 or an error. */
static int plan_find_product(struct plan *p)
{
	struct image im = {0};
	int r = plan_inspect_product(p, (struct str){0}, &im);

	if (r == 1) {
		r = plan_check_shell(p, &im);
		p->shell = image_shell(&im);
		image_free(&im);
	}
	if (r)
		return r;
	r = plan_find_busybox(p);
	if (r || !p->busybox.arch)
		return r;
	r = plan_inspect_product(p, str_c(p->busybox.sha256), &im);
	if (r == 1) {
		p->shell = IMAGE_SHELL_BUSYBOX;
		image_free(&im);
	}
	return r;
}

/* The extra dependencies run in a shell and need one. */
static int plan_check_deps(struct plan *p, const struct probe *seen)
{
	if (!p->deps.n || p->stage != IMAGE_STAGE_BASE || seen->sh ||
		json_count(json_get(p->base->config, "Shell")))
		return 0;
	return out_fail("leave --extra-deps out, or choose another image",
		"the image %.*s has no /bin/sh to run the commands of --extra-deps",
		STR_ARG(buf_view(&p->base_ref)));
}

int plan_probe_base(struct plan *p)
{
	struct image old = {0};
	struct probe seen;
	int r = probe_image(p->engine, p->base->id, &seen);

	if (r)
		return r;
	if (seen.od != PROBE_ABSENT && seen.od != PROBE_FOLDER)
		return probe_fail_od(buf_view(&p->base_ref));
	r = plan_check_deps(p, &seen);
	if (r)
		return r;
	/* An existing /openhands of the image stays. */
	p->drop_in = seen.openhands == PROBE_ABSENT;
	if (!p->drop_in && !seen.linked)
		probe_note_openhands(buf_view(&p->base_ref));
	p->shell = IMAGE_SHELL_OWN;
	if (!seen.shell) {
		r = plan_find_busybox(p);
		if (r)
			return r;
		p->shell = p->busybox.arch ? IMAGE_SHELL_BUSYBOX : IMAGE_SHELL_NONE;
	}
	r = plan_inspect_product(p, plan_busybox_sha256(p), &old);
	if (r == 1)
		image_free(&old);
	return r < 0 ? r : 0;
}

/* Whether p->base, an image of ours, can be started as it is: 1, 0 or an error. */
static int plan_check_as_is(struct plan *p)
{
	int r;

	if (p->options->force || !plan_has_client(p))
		return 0;
	r = plan_check_shell(p, p->base);
	if (r != 1)
		return r;
	p->kind = PLAN_AS_IS;
	/*
	 * The label of an image that users made from ours may not describe its shell any
	 * more.
	 */
	if (image_is_product(p->base))
		p->shell = image_shell(p->base);
	buf_str(&p->name, p->base->id);
	return p->name.err ? p->name.err : 1;
}

static int plan_decide(struct plan *p)
{
	size_t layers;
	int r = 0;

	if (image_base_layers(p->base, &layers) == 0) {
		r = plan_check_as_is(p);
		if (r)
			return r == 1 ? 0 : r;
		if (image_is_product(p->base)) {
			r = plan_check_inherited(p);
			if (!r)
				r = plan_restore_base(p, layers);
			if (r)
				return r;
		}
	}
	r = plan_check_base(p);
	if (r)
		return r;
	if (!p->options->force) {
		r = plan_find_product(p);
		if (r == 1)
			p->kind = PLAN_EXISTS;
		if (r)
			return r == 1 ? 0 : r;
	}
	p->kind = PLAN_BUILD;
	r = p->options->force ? 0 : plan_find_stage(p);
	return r ? r : plan_probe_base(p);
}

static int plan_init(
	struct plan *p, struct engine *e, const struct options *o, const char *operand)
{
	int r;

	*p = (struct plan){
		.engine = e,
		.options = o,
		.base_ref = BUF_INIT(1024),
		.canonical = BUF_INIT(1024),
		.plugins_label = BUF_INIT(INJECT_LABEL_MAX),
		.deps = BUF_INIT(INJECT_LABEL_MAX),
		.version = BUF_INIT(256),
		.lock = BUF_INIT(256),
		.tag = BUF_INIT(256),
		.name = BUF_INIT(1024),
		.old_id = BUF_INIT(256),
	};
	p->base = &p->images[0];
	r = plugins_read(&p->plugins, o);
	if (r)
		return r;
	r = plan_set_base_ref(p, operand);
	if (r)
		return r;
	r = plan_find_base(p, operand);
	if (r)
		return r;
	r = plan_find_parts(p);
	if (r)
		return r;
	r = program_find_client(&p->client, o->client, p->base->arch, !o->no_od_plugins);
	return r || !o->busybox ? r : plan_find_busybox(p);
}

int plan_make(
	struct plan *p, struct engine *e, const struct options *o, const char *operand)
{
	int r = plan_init(p, e, o, operand);

	return r ? r : plan_decide(p);
}

int plan_update(struct plan *p)
{
	image_free(&p->below);
	return plan_decide(p);
}

/* If the image has an older client of ours, the injected client hides it. */
int plan_make_base(
	struct plan *p, struct engine *e, const struct options *o, const char *operand)
{
	size_t layers;
	int r = plan_init(p, e, o, operand);

	if (!r && image_base_layers(p->base, &layers) == 0)
		r = plan_check_as_is(p);
	if (r)
		return r == 1 ? 0 : r;
	r = plan_check_arch(p, image_refusal(p->base));
	p->kind = PLAN_BASE;
	buf_str(&p->name, p->base->id);
	return r ? r : p->name.err;
}

void plan_free(struct plan *p)
{
	program_free(&p->client);
	program_free(&p->busybox);
	image_free(&p->images[0]);
	image_free(&p->images[1]);
	buf_free(&p->base_ref);
	buf_free(&p->canonical);
	plugins_free(&p->plugins);
	image_free(&p->below);
	buf_free(&p->plugins_label);
	buf_free(&p->deps);
	buf_free(&p->version);
	buf_free(&p->lock);
	buf_free(&p->tag);
	buf_free(&p->name);
	buf_free(&p->old_id);
}
