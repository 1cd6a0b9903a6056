#include "inject/build.h"

#include "base/clock.h"
#include "base/hash.h"
#include "inject/context.h"
#include "inject/out.h"
#include "inject/probe.h"
#include "inject/pull.h"
#include "inject/stop.h"
#include "inject/tag.h"
#include "limits.h"

#include <stdio.h>

enum { STEP_ID_MAX = 71, ID_SHOWN = 12, TIDY_TRIES = 20, TIDY_MS = 50 };

/* What a build has made so far and what a failure takes away again. */
struct build {
	struct plan *plan;
	bool force;
	bool drop_in;
	bool buildkit;   /* this build uses it */
	char lent[48];   /* the name lent to the base; empty for none */
	struct buf from; /* what the FROM line names */
	unsigned steps_n;
	char steps[INJECT_STEPS_MAX][STEP_ID_MAX + 1]; /* images of the classic builder */
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
		engine_tidy(b->plan->engine, "DELETE", "/images/%s?noprune=1", b->lent);
	b->lent[0] = '\0';
}

/* Notes " ---> 0123456789ab", an image that the classic builder made on the way. */
static void see_line(void *arg, const struct progress *p)
{
	struct build *b = arg;
	struct str id = str_trim(p->text, " \r\n");
	struct str base = b->plan->base->id;

	if (!str_starts(id, STR("---> ")) || b->steps_n == INJECT_STEPS_MAX)
		return;
	id = str_skip(id, 5);
	if (id.n < ID_SHOWN || id.n > STEP_ID_MAX)
		return;
	for (size_t i = 0; i < id.n; i++)
		if (!strchr("0123456789abcdef", id.p[i]))
			return;
	if (str_starts(base, STR("sha256:")))
		base = str_skip(base, 7);
	if (str_starts(base, id))
		return;
	memcpy(b->steps[b->steps_n], id.p, id.n);
	b->steps[b->steps_n++][id.n] = '\0';
}

/*
 * Takes away what a failed build left. Without force and without pruning: what
 * others use or have named stays, and so does every parent that is not ours.
 */
static void take_steps_away(struct build *b)
{
	while (b->steps_n) {
		const char *id = b->steps[--b->steps_n];
		unsigned tries = TIDY_TRIES;

		/* A builder that was cut off still holds on to it for a moment. */
		while (engine_tidy(b->plan->engine, "DELETE", "/images/%s?noprune=1",
			       id) == ERR_TYPE &&
			stop_signal() && --tries)
			if (stop_wait(-1, 0, clock_ms() + TIDY_MS, true) < 0)
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
		b->force ? "&nocache=1" : "");
	q.target = buf_cstr(&target);
	r = q.target ? pull_lines(p->engine, &q, "building", see_line, b) : target.err;
	buf_free(&target);
	return r;
}

/*
 * Takes away an image that has lost its name to a newer one, and the steps that
 * the classic builder went through to it, down to the base.
 */
static void take_old_away(struct build *b)
{
	struct plan *p = b->plan;
	struct buf id = BUF_INIT(256);
	struct image im;

	buf_str(&id, buf_view(&p->old_id));
	while (id.n && !str_eq(buf_view(&id), p->base->id)) {
		const char *name = buf_cstr(&id);
		bool found = name && plan_inspect(p->engine, name, &im) == 0;

		if (!found)
			break;
		if (engine_tidy(p->engine, "DELETE", "/images/%s?noprune=1", name) == 0) {
			buf_reset(&id);
			buf_str(&id,
				doc_str(&im.doc, json_get(doc_root(&im.doc), "Parent")));
		} else {
			buf_reset(&id);
		}
		image_free(&im);
	}
	buf_free(&id);
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
	if (!r && p->old_id.n && !str_eq(buf_view(&p->old_id), im.id))
		take_old_away(b);
	image_free(&im);
	return r;
}

static int look_inside(struct build *b)
{
	struct plan *p = b->plan;
	struct probe seen;
	int r = probe_image(p->engine, p->base->id, &seen);

	if (r)
		return r;
	if (seen.od == PROBE_OTHER)
		return out_fail("choose another image",
			"%.*s cannot be used: its /.od is "
			"no directory",
			STR_ARG(buf_view(&p->base_ref)));
	/* An /openhands of the image's own stays as it is. */
	b->drop_in = seen.openhands == PROBE_ABSENT;
	return 0;
}

static int build(struct build *b)
{
	struct plan *p = b->plan;
	struct buf text = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct context context = {0};
	int r = look_inside(b);

	if (!r)
		r = lend_name(b);
	if (!r)
		r = plan_dockerfile(p, buf_view(&b->from), &text);
	if (!r)
		r = context_init(&context, buf_view(&text), buf_view(&p->client.bytes),
			b->drop_in);
	if (!r) {
		r = send_context(b, &context);
		if (!r)
			r = verify(b);
		/* A tag that was there before the failure is not ours to take. */
		if (r && !p->old_id.n)
			engine_tidy(p->engine, "DELETE", "/images/%.*s?noprune=1",
				STR_ARG(buf_view(&p->name)));
		if (r)
			take_steps_away(b);
	}
	context_free(&context);
	buf_free(&text);
	return r;
}

int build_run(struct plan *p, bool force)
{
	struct build b = {.plan = p, .force = force, .from = BUF_INIT(256)};
	int r = 0;

	if (p->kind == PLAN_BUILD) {
		out_step("building: %.*s", STR_ARG(buf_view(&p->name)));
		r = build(&b);
		take_name_back(&b);
		out_step_end();
	}
	buf_free(&b.from);
	return r;
}
