#include "inject/image/build.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/engine/engine_image.h"
#include "inject/image/cache.h"
#include "inject/image/commit.h"
#include "inject/image/context.h"
#include "inject/image/plan_part.h"
#include "inject/image/pull.h"
#include "inject/names/owner.h"
#include "inject/names/ref.h"
#include "inject/names/tag.h"
#include "limits.h"

#include <stdio.h>

enum { LENT_MAX = 48 + OWNER_MAX };
enum { SWEEP_ROUNDS = 40, SWEEP_QUIET = 8, SWEEP_MS = 50 };

/* An image that is being built, and the things that a failure removes again. */
struct build {
	struct plan *plan;
	enum rung rung, below;
	struct image *on; /* the image of the rung below, on which it is based */
	bool buildkit;    /* this build uses BuildKit */
	bool replaces;    /* its name existed before */
	struct buf name;  /* of the product */
	struct buf from;  /* the name in the FROM line */
	struct buf plugin[INJECT_PLUGINS]; /* the names in the lines COPY --from */
	/* The temporary names of these images; empty for none. */
	char lent[1 + INJECT_PLUGINS][LENT_MAX];
};

/* The labels that mark an image of a rung. */
static const struct {
	const char *key, *stage;
} marks[] = {
	[RUNG_VERSIONED] = {"od.key.version", "versioned"},
	[RUNG_LOCK] = {"od.key.lock", "lock"},
	[RUNG_SOURCE] = {"od.key.source", ""},
};

static bool copies_from_image(const struct build *b, size_t i)
{
	return b->rung == RUNG_LOCK && b->plan->plugins.list[i].image;
}

static int lend(struct build *b, const char *id, char lent[LENT_MAX])
{
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];
	int r = random_bytes(random, sizeof(random));

	if (r)
		return r;
	hex_encode(random, sizeof(random), hex);
	/*
	 * Stored before the request: without an answer the image may have the name all
	 * the same.
	 */
	snprintf(lent, LENT_MAX, TAG_BASE_REPO ":%s.%s", hex, owner_text());
	return engine_image_tag(b->plan->engine, str_c(id), TAG_BASE_REPO,
		str_skip(str_c(lent), sizeof(TAG_BASE_REPO ":") - 1),
		"naming the base image");
}

/*
 * BuildKit takes an id for a name on Docker Hub, so the images it needs get a temporary
 * name. An image without any name must not get one: removing its last name would remove
 * the image. The classic builder accepts ids.
 */
static bool can_lend(const struct build *b)
{
	bool all = image_has_name(b->on);

	for (size_t i = 0; i < b->plan->plugins.n; i++)
		if (copies_from_image(b, i))
			all = all && b->plan->plugins.list[i].named;
	return all;
}

static int lend_names(struct build *b)
{
	struct plan *p = b->plan;
	const char *id;
	int r = 0;

	b->buildkit = p->engine->buildkit && can_lend(b);
	buf_str(&b->from, b->on->id);
	/* The id becomes a line of a Dockerfile. */
	if (!ref_is_id(b->on->id))
		return out_fail(
			ENGINE_NEXT, "the engine's id of the base image is no id");
	for (size_t i = 0; i < p->plugins.n; i++)
		if (copies_from_image(b, i))
			buf_fmt(&b->plugin[i], "sha256:%s", p->plugins.list[i].hash);
	for (size_t i = 0; b->buildkit && i <= p->plugins.n && !r; i++) {
		struct buf *name = i ? &b->plugin[i - 1] : &b->from;

		if (i && !copies_from_image(b, i - 1))
			continue;
		id = buf_cstr(name);
		r = id ? lend(b, id, b->lent[i]) : name->err;
		buf_reset(name);
		buf_puts(name, b->lent[i]);
	}
	return r ? r : b->from.err;
}

static void take_names_back(struct build *b)
{
	for (size_t i = 0; i < ARRAY_LEN(b->lent); i++)
		if (b->lent[i][0])
			engine_image_remove(b->plan->engine, str_c(b->lent[i]));
}

static bool is_good(struct build *b, struct image *im)
{
	return b->rung == RUNG_SOURCE ? plan_matches(b->plan, im)
				      : plan_is_rung(b->plan, im, b->rung);
}

/* Whether the image that has the name now is the planned one. */
static bool is_there(struct build *b)
{
	const char *name = buf_cstr(&b->name);
	struct image im;
	bool good;

	if (!name || plan_inspect(b->plan->engine, name, &im))
		return false;
	good = is_good(b, &im);
	image_free(&im);
	return good;
}

/* Removes the images that have our key and no name. True if it removed any. */
static bool sweep_once(struct build *b)
{
	struct buf text = BUF_INIT(1024);
	struct json_val image;
	struct reply reply;
	struct doc d;
	int it = 0;
	bool found = false;

	buf_fmt(&text,
		"{\"dangling\":[\"true\"],\"label\":[\"%s=%.*s\",\"od.stage=%s\"]}",
		marks[b->rung].key, STR_ARG(plan_tag(b->plan, b->rung)),
		marks[b->rung].stage);
	if (engine_tidy(b->plan->engine, &reply, "GET", "/images/json?filters=%.*s",
		    STR_ARG(buf_view(&text))) == 0 &&
		doc_parse(&d, buf_view(&reply.body)) == 0) {
		while (json_next(doc_root(&d), &it, NULL, &image)) {
			struct str id = doc_str(&d, json_get(image, "Id"));

			/*
			 * Removing with pruning would also remove a base without a name.
			 */
			if (ref_is_id(id) && engine_image_has_own_names(&d, image) &&
				engine_image_remove(b->plan->engine, id) == 0)
				found = true;
		}
		doc_free(&d);
	}
	reply_free(&reply);
	buf_free(&text);
	return found;
}

/*
 * Removes images that have our key and no name: steps of a build that failed, or images
 * whose name a newer image took. Each removed image exposes the image below it. A
 * builder whose client has closed the connection may go on for a moment and still finish
 * a step, or even give the product its name.
 */
static void sweep(struct build *b, bool failed)
{
	unsigned quiet = failed && stop_signal() ? SWEEP_QUIET : 1;

	for (unsigned round = 0; round < SWEEP_ROUNDS && quiet; round++) {
		/* Not a name that existed before, and not a good image. */
		if (failed && !b->replaces && (stop_signal() || !is_there(b)))
			engine_image_remove(b->plan->engine, buf_view(&b->name));
		if (!sweep_once(b))
			quiet--;
		if (quiet && failed && stop_signal() &&
			stop_wait(-1, 0, clock_ms() + SWEEP_MS, true) < 0)
			break;
	}
}

static int push(void *call, struct str piece)
{
	return call_push(call, piece);
}

static int push_context(const void *context, struct call *c)
{
	return context_put(context, push, c);
}

static int send_context(struct build *b, const struct context *c)
{
	struct plan *p = b->plan;
	struct build_log log;
	struct target target;
	struct call_request q = {
		.method = "POST",
		.target = &target,
		.type = "application/x-tar",
		.more = push_context,
		.more_arg = c,
		.chunked = true,
	};
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target,
		"/build?dockerfile=Dockerfile&rm=1&forcerm=1&pull=0&t=%.*s&version=%d",
		STR_ARG(buf_view(&b->name)), b->buildkit ? 2 : 1);
	/* Only extra dependencies need the network. */
	target_add(&target, b->rung == RUNG_VERSIONED ? "" : "&networkmode=none");
	target_add(&target, p->options->force ? "&nocache=1" : "");
	/* Only extra dependencies have commands that print output. */
	build_log_init(&log);
	r = pull_lines(p->engine, &q, "building",
		p->deps.n ? "try the commands of --extra-deps in a container of the image"
			  : "look into the engine's log",
		b->rung == RUNG_VERSIONED ? &log : NULL);
	build_log_free(&log);
	target_free(&target);
	return r;
}

/* Checks the image: the builder's report of success does not suffice. */
static int verify(struct build *b, struct image *im)
{
	struct plan *p = b->plan;
	const char *name = buf_cstr(&b->name);
	int r = name ? plan_inspect(p->engine, name, im) : b->name.err;

	if (r == 1)
		return out_fail(ENGINE_NEXT,
			"the engine says that it built %s, but has no such image", name);
	if (r)
		return r;
	if (!is_good(b, im)) {
		image_free(im);
		return out_fail(
			"try again", "the engine built something else than %s", name);
	}
	if (b->replaces)
		sweep(b, false);
	return 0;
}

static int send(struct build *b)
{
	struct plan *p = b->plan;
	const bool product = b->rung == RUNG_SOURCE;
	struct buf text = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct context context = {0};
	const struct plan_part part = {
		.from = buf_view(&b->from),
		.below = b->below,
		.upto = b->rung,
		.lent = b->plugin,
	};
	int r = plan_dockerfile(p, &part, &text);
	const struct context_files files = {
		.dockerfile = buf_view(&text),
		.plugins = b->rung == RUNG_LOCK ? &p->plugins : NULL,
		.client = product ? buf_view(&p->client.bytes) : STR(""),
		.plugins_program = product ? program_plugins(&p->client) : STR(""),
		.busybox = product && p->shell == IMAGE_SHELL_BUSYBOX
			? buf_view(&p->busybox.bytes)
			: STR(""),
		.drop_in = p->drop_in,
	};

	if (!r)
		r = context_init(&context, &files);
	if (!r)
		r = send_context(b, &context);
	context_free(&context);
	buf_free(&text);
	return r;
}

/* Sets the name of the rung, and whether an image has that name already. */
static int look_for_name(struct build *b)
{
	const char *name;
	struct image im = {0};
	int r;

	if (b->rung == RUNG_SOURCE) {
		buf_str(&b->name, buf_view(&b->plan->name));
		b->replaces = b->plan->old_id.n != 0;
		return b->name.err;
	}
	buf_puts(&b->name, TAG_REPO ":");
	buf_str(&b->name, plan_tag(b->plan, b->rung));
	name = buf_cstr(&b->name);
	r = name ? plan_inspect(b->plan->engine, name, &im) : b->name.err;
	b->replaces = r == 0;
	if (r == 0)
		image_free(&im);
	return r < 0 ? r : 0;
}

/*
 * The client alone needs no builder: a commit takes the engine half the time and leaves
 * no steps. But files that are put into a volume do not get into the image.
 */
static bool commits(struct build *b)
{
	const struct plan *p = b->plan;

	if (b->rung != RUNG_SOURCE)
		return false;
	return plan_must_commit(b->plan) ||
		(p->options->via == VIA_AUTO && !p->engine->podman &&
			!json_count(json_get(b->on->config, "Volumes")));
}

/* Makes an image based on another; the result is *im. */
static int make(struct build *b, struct image *im)
{
	int r;

	b->name = (struct buf)BUF_INIT(1024);
	b->from = (struct buf)BUF_INIT(256);
	for (size_t i = 0; i < INJECT_PLUGINS; i++)
		b->plugin[i] = (struct buf)BUF_INIT(256);
	r = look_for_name(b);
	if (!r && !commits(b))
		r = lend_names(b);
	out_step("building: %.*s", STR_ARG(buf_view(&b->name)));
	if (!r) {
		r = commits(b) ? commit_image(b->plan, b->on) : send(b);
		if (!r)
			r = verify(b, im);
		if (r)
			sweep(b, true);
	}
	take_names_back(b);
	out_step_end();
	buf_free(&b->name);
	buf_free(&b->from);
	for (size_t i = 0; i < INJECT_PLUGINS; i++)
		buf_free(&b->plugin[i]);
	return r;
}

/* Gives another name to an image of the engine. */
static int name_also(struct plan *p, struct str id, const char *repo, struct str tag)
{
	return engine_image_tag(p->engine, id, repo, tag, "naming the image");
}

/* Makes every rung that has content above the highest rung that exists. */
static int climb(struct plan *p)
{
	struct image made[RUNG_SOURCE + 1] = {0};
	struct image *on = p->rung == RUNG_BASE ? p->base : &p->below;
	enum rung below = p->rung;
	int r = 0;

	for (enum rung at = p->rung + 1; at <= RUNG_SOURCE && !r; at++) {
		struct build b = {.plan = p, .rung = at, .below = below, .on = on};

		if (!plan_has(p, at))
			continue;
		r = make(&b, &made[at]);
		on = &made[at];
		below = at;
		/* Without plugins the rungs "versioned" and "lock" are the same image. */
		if (!r && at == RUNG_VERSIONED && !plan_has(p, RUNG_LOCK))
			r = name_also(p, on->id, TAG_REPO, plan_tag(p, RUNG_LOCK));
	}
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		image_free(&made[i]);
	return r;
}

static void warn(struct plan *p)
{
	if (p->shell == IMAGE_SHELL_NONE && !p->options->no_busybox)
		out_note("od-runtime: the image %.*s " PROGRAM_NO_SHELL,
			STR_ARG(buf_view(&p->base_ref)));
}

static const char *legacy_repo(void)
{
	return plan_in_development() ? TAG_LEGACY_DEV_REPO : TAG_LEGACY_REPO;
}

static void legacy_tag(const struct plan *p, struct buf *out)
{
	const struct tag_inputs in = {.base_ref = buf_view(&p->canonical)};

	tag_legacy(&in, out);
}

void build_legacy(const struct plan *p, struct buf *out)
{
	buf_fmt(out, "%s:", legacy_repo());
	legacy_tag(p, out);
}

int build_name(struct plan *p)
{
	if (p->options->tag_style != TAG_STYLE_LEGACY)
		return 0;
	buf_reset(&p->name);
	build_legacy(p, &p->name);
	return p->name.err;
}

/* Adds the name of the old style, which is then printed for the user. */
static int add_legacy(struct plan *p)
{
	struct buf tag = BUF_INIT(256);
	int r;

	legacy_tag(p, &tag);
	r = name_also(p, buf_view(&p->name), legacy_repo(), buf_view(&tag));
	buf_free(&tag);
	return r ? r : build_name(p);
}

/* Serializes builds on the same base: each finds the images of the build before. */
static int take_turn(struct plan *p, int *turn)
{
	struct buf name = BUF_INIT(ENGINE_PATH_MAX + 256);
	int r;

	/*
	 * The name includes the engine, so an engine that hangs delays only its own
	 * builds.
	 */
	buf_fmt(&name, "%s ", p->engine->path);
	buf_str(&name, buf_view(&p->version));
	r = name.err ? name.err : cache_turn(buf_view(&name), turn);
	buf_free(&name);
	return r == 1 ? plan_again(p) : r;
}

int build_run(struct plan *p)
{
	int turn = -1, r = 0;

	warn(p);
	if (p->kind == PLAN_BUILD)
		r = take_turn(p, &turn);
	if (!r && p->kind == PLAN_BUILD)
		r = climb(p);
	fd_close(&turn);
	if (!r && p->options->tag_style == TAG_STYLE_LEGACY)
		r = add_legacy(p);
	return r;
}
