#include "inject/plan.h"

#include "inject/dockerfile.h"
#include "inject/out.h"
#include "inject/pull.h"
#include "inject/ref.h"
#include "inject/tag.h"
#include "limits.h"

#include <errno.h>

#define NEXT_PULL "add --pull, or fetch it with the engine's own tools"

int plan_inspect(const struct engine *e, const char *name, struct image *im)
{
	struct reply reply;
	int r = engine_ask(e, &reply, "GET", (struct str){0}, "/images/%s/json", name);

	if (!r && reply.status == 404)
		r = 1;
	else if (!r && reply.status != 200)
		r = engine_refused(&reply, NULL, "inspecting the image %s", name);
	if (!r) {
		r = image_read_take(im, &reply.body);
		if (r && r != -ENOMEM)
			r = out_fail(NULL,
				"the engine describes the image %s in a way "
				"that od-runtime does not understand",
				name);
	}
	reply_free(&reply);
	return r;
}

static int name_base(struct plan *p, const char *text)
{
	const char *why;
	struct ref ref;

	if (ref_parse(&ref, str_c(text), &why))
		return out_fail_usage("names look like debian:12, host:5000/a/b:tag, "
				      "name@sha256:...",
			"%s is not the name of an image: %s", text, why);
	buf_reset(&p->base_ref);
	buf_puts(&p->base_ref, text);
	buf_reset(&p->canonical);
	ref_canonical(&ref, &p->canonical);
	return p->base_ref.err ? p->base_ref.err : p->canonical.err;
}

static int find_base(struct plan *p, const struct options *o, const char *name)
{
	int r = plan_inspect(p->engine, name, p->base);

	if (r == 1 && o->pull) {
		r = pull_image(p->engine, name);
		if (!r)
			r = plan_inspect(p->engine, name, p->base);
	}
	if (r == 1)
		return out_fail(NEXT_PULL, "the engine at %s has no image %s",
			p->engine->path, name);
	return r;
}

static void name_product(struct plan *p, struct str ref, struct str id)
{
	const struct tag_inputs in = {
		.base_ref = ref,
		.base_id = id,
		.arch = p->base->arch,
		.client_sha256 = str_c(p->client.sha256),
	};

	buf_reset(&p->tag);
	tag_source(&in, &p->tag);
}

static int canonical_of(struct str text, struct buf *out)
{
	const char *why;
	struct ref ref;
	int r = ref_parse(&ref, text, &why);

	if (!r)
		ref_canonical(&ref, out);
	return r ? r : out->err;
}

/* True if the present client is in an image that has layers of ours. */
static bool carries_client(struct plan *p)
{
	struct buf ref = BUF_INIT(1024);
	bool same = false;

	if (canonical_of(image_label(p->base, "od.base.ref"), &ref) == 0) {
		name_product(p, buf_view(&ref), image_label(p->base, "od.base.id"));
		same = str_eq(buf_view(&p->tag), image_label(p->base, "od.key.source"));
	}
	buf_free(&ref);
	return same;
}

/*
 * The image is our product with another client in it. What the user had before is
 * the base, lest layers pile up with every update.
 */
static int go_back(struct plan *p, size_t layers)
{
	struct image *from = &p->images[1];
	struct buf id = BUF_INIT(256), ref = BUF_INIT(1024);
	const char *name;
	int r;

	buf_str(&id, image_label(p->base, "od.base.id"));
	buf_str(&ref, image_label(p->base, "od.base.ref"));
	name = buf_cstr(&id);
	r = name && ref_is_id(buf_view(&id)) ? plan_inspect(p->engine, name, from) : 1;
	/* Labels can say anything; the layers decide. */
	if (r == 0 &&
		(json_count(from->layers) != layers || !image_is_above(p->base, from)))
		r = 1;
	if (r == 1)
		r = out_fail("fetch that image again, or name another one",
			"%.*s was made from %.*s, which is not here any more",
			STR_ARG(buf_view(&p->base_ref)), STR_ARG(buf_view(&ref)));
	name = r ? NULL : buf_cstr(&ref);
	if (!r)
		r = name ? name_base(p, name) : ref.err;
	if (!r)
		p->base = from;
	buf_free(&id);
	buf_free(&ref);
	return r;
}

static int check_base(struct plan *p)
{
	const char *why = image_refusal(p->base);

	if (why)
		return out_fail("choose another image", "%.*s cannot be used: %s",
			STR_ARG(buf_view(&p->base_ref)), why);
	if (!str_eq(p->base->arch, str_c(p->client.arch)))
		return out_fail("give the od-runtime-client of that architecture with "
				"--client",
			"%.*s is for %.*s, the client binary for %s",
			STR_ARG(buf_view(&p->base_ref)), STR_ARG(p->base->arch),
			p->client.arch);
	return 0;
}

bool plan_matches(struct plan *p, struct image *im)
{
	return str_eq(image_label(im, "od.managed"), STR("1")) &&
		str_eq(image_label(im, "od.key.source"), buf_view(&p->tag)) &&
		image_is_above(im, p->base);
}

/* Looks for the product of an earlier build. */
static int find_product(struct plan *p)
{
	const char *name;
	struct image im = {0};
	int r;

	buf_puts(&p->name, TAG_REPO ":");
	buf_str(&p->name, buf_view(&p->tag));
	name = buf_cstr(&p->name);
	r = name ? plan_inspect(p->engine, name, &im) : p->name.err;
	p->kind = PLAN_BUILD;
	if (r)
		return r == 1 ? 0 : r;
	if (plan_matches(p, &im))
		p->kind = PLAN_EXISTS;
	buf_str(&p->old_id, im.id);
	image_free(&im);
	return p->old_id.err;
}

static int decide(struct plan *p, const struct options *o)
{
	size_t layers;
	int r = 0;

	if (image_base_layers(p->base, &layers) == 0) {
		if (!o->force && carries_client(p)) {
			p->kind = PLAN_AS_IS;
			buf_str(&p->name, p->base->id);
			return p->name.err;
		}
		if (image_is_product(p->base))
			r = go_back(p, layers);
	}
	if (!r)
		r = check_base(p);
	if (r)
		return r;
	name_product(p, buf_view(&p->canonical), p->base->id);
	r = find_product(p);
	if (!r && o->force)
		p->kind = PLAN_BUILD;
	return r;
}

int plan_make(
	struct plan *p, struct engine *e, const struct options *o, const char *operand)
{
	int r;

	*p = (struct plan){
		.engine = e,
		.base_ref = BUF_INIT(1024),
		.canonical = BUF_INIT(1024),
		.tag = BUF_INIT(256),
		.name = BUF_INIT(1024),
		.old_id = BUF_INIT(256),
	};
	p->base = &p->images[0];
	r = name_base(p, operand);
	if (!r)
		r = find_base(p, o, operand);
	if (!r)
		r = client_load(&p->client, o->client);
	return r ? r : decide(p, o);
}

void plan_free(struct plan *p)
{
	client_free(&p->client);
	image_free(&p->images[0]);
	image_free(&p->images[1]);
	buf_free(&p->base_ref);
	buf_free(&p->canonical);
	buf_free(&p->tag);
	buf_free(&p->name);
	buf_free(&p->old_id);
}

int plan_dockerfile(struct plan *p, struct str from, struct buf *out)
{
	const struct dockerfile d = {
		.from = from,
		.base = p->base,
		.base_ref = buf_view(&p->base_ref),
		.arch = p->base->arch,
		.client_sha256 = str_c(p->client.sha256),
		.key = buf_view(&p->tag),
	};
	int r = dockerfile_write(&d, out);

	if (r == ERR_LIMIT)
		return out_fail("choose another image",
			"a setting of %.*s is too long to "
			"be kept",
			STR_ARG(buf_view(&p->base_ref)));
	return r;
}
