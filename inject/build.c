#include "inject/build.h"

#include "base/clock.h"
#include "base/hash.h"
#include "inject/commit.h"
#include "inject/context.h"
#include "inject/out.h"
#include "inject/pull.h"
#include "inject/ref.h"
#include "inject/stop.h"
#include "inject/tag.h"
#include "limits.h"

#include <stdio.h>

enum { SWEEP_ROUNDS = 40, SWEEP_QUIET = 8, SWEEP_MS = 50 };

/* What a build has made so far and what a failure takes away again. */
struct build {
	struct plan *plan;
	bool buildkit;   /* this build uses it */
	char lent[48];   /* the name lent to the base; empty for none */
	struct buf from; /* what the FROM line names */
};

/* A name of some sort besides the id; without one the engine would drop the image. */
static bool has_name(struct image *im)
{
	struct json_val root = doc_root(&im->doc);

	return json_count(json_get(root, "RepoTags")) ||
		json_count(json_get(root, "RepoDigests"));
}

/*
 * BuildKit takes an id for a name on Docker Hub, so that the base gets a name for
 * a while. A base that has no name at all must not get one: taking away the last
 * name takes away the image. The classic builder understands ids.
 */
static int lend_name(struct build *b)
{
	struct plan *p = b->plan;
	const struct engine calm = engine_calm(p->engine);
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];
	struct reply reply;
	int r;

	b->buildkit = p->engine->buildkit && has_name(p->base);
	if (!b->buildkit) {
		buf_str(&b->from, p->base->id);
		return b->from.err;
	}
	r = random_bytes(random, sizeof(random));
	if (r)
		return r;
	hex_encode(random, sizeof(random), hex);
	r = engine_ask(&calm, &reply, "POST", (struct str){0},
		"/images/%.*s/tag?repo=" TAG_BASE_REPO "&tag=%s", STR_ARG(p->base->id),
		hex);
	if (!r && reply.status != 201)
		r = engine_refused(&reply, NULL, "naming the base image");
	reply_free(&reply);
	if (r)
		return r;
	snprintf(b->lent, sizeof(b->lent), TAG_BASE_REPO ":%s", hex);
	buf_puts(&b->from, b->lent);
	return b->from.err;
}

static void take_name_back(struct build *b)
{
	if (b->lent[0])
		engine_tidy(
			b->plan->engine, NULL, "DELETE", "/images/%s?noprune=1", b->lent);
	b->lent[0] = '\0';
}

/* Takes away the images that have our key and no name. True if there was one. */
static bool sweep_once(struct build *b)
{
	struct buf filters = BUF_INIT(1024), text = BUF_INIT(1024);
	struct json_val image;
	struct reply reply;
	struct doc d;
	int it = 0;
	bool found = false;

	buf_fmt(&text, "{\"dangling\":[\"true\"],\"label\":[\"od.key.source=%.*s\"]}",
		STR_ARG(buf_view(&b->plan->tag)));
	engine_encode(&filters, buf_view(&text));
	if (engine_tidy(b->plan->engine, &reply, "GET", "/images/json?filters=%.*s",
		    STR_ARG(buf_view(&filters))) == 0 &&
		doc_parse(&d, buf_view(&reply.body)) == 0) {
		while (json_next(doc_root(&d), &it, NULL, &image)) {
			struct str id = doc_str(&d, json_get(image, "Id"));

			/* Pruning would take a nameless base with it. */
			if (ref_is_id(id) &&
				engine_tidy(b->plan->engine, NULL, "DELETE",
					"/images/%.*s?noprune=1", STR_ARG(id)) == 0)
				found = true;
		}
		doc_free(&d);
	}
	reply_free(&reply);
	buf_free(&text);
	buf_free(&filters);
	return found;
}

/*
 * Takes away what has our key and no name: steps of a build that failed, or what a
 * newer image took the name from. Each image taken away shows the one below it.
 * A builder that was cut off needs a moment to notice, and may still finish a step
 * or even give the product its name.
 */
static void sweep(struct build *b, bool failed)
{
	unsigned quiet = failed && stop_signal() ? SWEEP_QUIET : 1;

	for (unsigned round = 0; round < SWEEP_ROUNDS && quiet; round++) {
		/* A name that was there before the failure is not ours to take. */
		if (failed && !b->plan->old_id.n)
			engine_tidy(b->plan->engine, NULL, "DELETE",
				"/images/%.*s?noprune=1",
				STR_ARG(buf_view(&b->plan->name)));
		if (!sweep_once(b))
			quiet--;
		if (quiet && failed && stop_signal() &&
			stop_wait(-1, 0, clock_ms() + SWEEP_MS, true) < 0)
			break;
	}
}

static int send_context(struct build *b, struct context *c)
{
	struct plan *p = b->plan;
	struct buf target = BUF_INIT(ENGINE_TARGET_MAX);
	struct call_request q = {
		.method = "POST",
		.type = "application/x-tar",
		.parts = c->parts,
		.parts_n = CONTEXT_PARTS,
		.chunked = true,
	};
	int r;

	buf_puts(&target,
		"/build?dockerfile=Dockerfile&rm=1&forcerm=1&pull=0"
		"&networkmode=none&t=");
	engine_encode(&target, buf_view(&p->name));
	buf_fmt(&target, "&version=%d%s", b->buildkit ? 2 : 1,
		p->options->force ? "&nocache=1" : "");
	q.target = buf_cstr(&target);
	r = q.target ? pull_lines(p->engine, &q, "building") : target.err;
	buf_free(&target);
	return r;
}

/* The builder's word for its success is not enough. */
static int verify(struct build *b)
{
	struct plan *p = b->plan;
	const char *name = buf_cstr(&p->name);
	struct image im = {0};
	int r = name ? plan_inspect(p->engine, name, &im) : p->name.err;

	if (r == 1)
		return out_fail("look into the engine's log",
			"the engine says that it built %s, but has no such image", name);
	if (r)
		return r;
	if (!plan_matches(p, &im))
		r = out_fail(
			"try again", "the engine built something else than %s", name);
	if (!r && p->old_id.n)
		sweep(b, false);
	image_free(&im);
	return r;
}

static int build(struct build *b)
{
	struct plan *p = b->plan;
	struct buf text = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct context context = {0};
	struct context_files files = {
		.client = buf_view(&p->client.bytes),
		.drop_in = p->drop_in,
	};
	int r = lend_name(b);

	if (p->shell == IMAGE_SHELL_BUSYBOX)
		files.busybox = buf_view(&p->busybox.bytes);
	if (!r)
		r = plan_dockerfile(p, buf_view(&b->from), &text);
	if (!r) {
		files.dockerfile = buf_view(&text);
		r = context_init(&context, &files);
	}
	if (!r) {
		r = send_context(b, &context);
		if (!r)
			r = verify(b);
		if (r)
			sweep(b, true);
	}
	context_free(&context);
	buf_free(&text);
	return r;
}

static int by_commit(struct build *b)
{
	int r = commit_image(b->plan);

	if (!r)
		r = verify(b);
	if (r)
		sweep(b, true);
	return r;
}

int build_run(struct plan *p)
{
	struct build b = {.plan = p, .from = BUF_INIT(256)};
	int r = 0;

	if (p->shell == IMAGE_SHELL_NONE && !p->options->no_busybox)
		out_note("od-runtime: the image %.*s has no shell, so that commands will "
			 "not run "
			 "in it; give a static busybox with --busybox",
			STR_ARG(buf_view(&p->base_ref)));
	if (p->kind == PLAN_BUILD) {
		out_step("building: %.*s", STR_ARG(buf_view(&p->name)));
		r = p->options->via == VIA_COMMIT ? by_commit(&b) : build(&b);
		take_name_back(&b);
		out_step_end();
	}
	buf_free(&b.from);
	return r;
}
