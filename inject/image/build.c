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
	enum image_stage stage, below;
	struct image *base_image; /* the image of the rung below, on which it is based */
	bool buildkit;            /* this build uses BuildKit */
	bool replaces;            /* its name existed before */
	struct buf name;          /* of the product */
	struct buf from;          /* the name in the FROM line */
	struct buf plugin_refs[INJECT_PLUGINS]; /* the names in the lines COPY --from */
	/* The temporary names of these images; empty for none. */
	char temp_tags[1 + INJECT_PLUGINS][LENT_MAX];
};

/* The labels that mark an image of a rung. */
static const struct {
	const char *key, *stage;
} marks[] = {
	[IMAGE_STAGE_VERSIONED] = {"od.key.version", "versioned"},
	[IMAGE_STAGE_LOCK] = {"od.key.lock", "lock"},
	[IMAGE_STAGE_SOURCE] = {"od.key.source", ""},
};

static bool build_has_image_plugin(const struct build *b, size_t i)
{
	return b->stage == IMAGE_STAGE_LOCK && b->plan->plugins.list[i].image;
}

static int build_tag_temp(struct build *b, const char *id, char lent[LENT_MAX])
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
		"tagging the base image");
}

/*
 * BuildKit takes an id for a name on Docker Hub, so the images it needs get a temporary
 * name. An image without any name must not get one: removing its last name would remove
 * the image. The classic builder accepts ids.
 */
static bool build_can_tag_temp(const struct build *b)
{
	bool all = image_has_name(b->base_image);

	for (size_t i = 0; i < b->plan->plugins.n; i++)
		if (build_has_image_plugin(b, i))
			all = all && b->plan->plugins.list[i].named;
	return all;
}

static int build_add_temp_tags(struct build *b)
{
	struct plan *p = b->plan;
	const char *id;
	int r = 0;

	b->buildkit = p->engine->buildkit && build_can_tag_temp(b);
	buf_str(&b->from, b->base_image->id);
	/* The id becomes a line of a Dockerfile. */
	if (!ref_is_id(b->base_image->id))
		return out_fail(ENGINE_NEXT,
			"the engine returned an invalid id of the base image");
	for (size_t i = 0; i < p->plugins.n; i++)
		if (build_has_image_plugin(b, i))
			buf_fmt(&b->plugin_refs[i], "sha256:%s", p->plugins.list[i].hash);
	for (size_t i = 0; b->buildkit && i <= p->plugins.n && !r; i++) {
		struct buf *name = i ? &b->plugin_refs[i - 1] : &b->from;

		if (i && !build_has_image_plugin(b, i - 1))
			continue;
		id = buf_cstr(name);
		r = id ? build_tag_temp(b, id, b->temp_tags[i]) : name->err;
		buf_reset(name);
		buf_puts(name, b->temp_tags[i]);
	}
	return r ? r : b->from.err;
}

static void build_remove_temp_tags(struct build *b)
{
	for (size_t i = 0; i < ARRAY_LEN(b->temp_tags); i++)
		if (b->temp_tags[i][0])
			engine_image_remove(b->plan->engine, str_c(b->temp_tags[i]));
}

static bool build_is_planned(struct build *b, struct image *im)
{
	return b->stage == IMAGE_STAGE_SOURCE ? plan_matches(b->plan, im)
					      : plan_is_stage(b->plan, im, b->stage);
}

/* Whether the image that has the name now is the planned one. */
static bool build_has_image(struct build *b)
{
	const char *name = buf_cstr(&b->name);
	struct image im;
	bool good;

	if (!name || plan_inspect(b->plan->engine, name, &im))
		return false;
	good = build_is_planned(b, &im);
	image_free(&im);
	return good;
}

/* Removes the images that have our key and no name. True if it removed any. */
static bool build_prune_round(struct build *b)
{
	struct buf text = BUF_INIT(1024);
	struct json_val image;
	struct reply reply;
	struct json_doc d;
	int it = 0;
	bool found = false;

	buf_fmt(&text,
		"{\"dangling\":[\"true\"],\"label\":[\"%s=%.*s\",\"od.stage=%s\"]}",
		marks[b->stage].key, STR_ARG(plan_stage_tag(b->plan, b->stage)),
		marks[b->stage].stage);
	if (engine_cleanup(b->plan->engine, &reply, "GET", "/images/json?filters=%.*s",
		    STR_ARG(buf_view(&text))) == 0 &&
		json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		while (json_next(json_doc_root(&d), &it, NULL, &image)) {
			struct str id = json_doc_str(&d, json_get(image, "Id"));

			/*
			 * Removing with pruning would also remove a base without a name.
			 */
			if (ref_is_id(id) && engine_image_has_own_names(&d, image) &&
				engine_image_remove(b->plan->engine, id) == 0)
				found = true;
		}
		json_doc_free(&d);
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
static void build_prune_images(struct build *b, bool failed)
{
	unsigned quiet = failed && stop_get_signal() ? SWEEP_QUIET : 1;

	for (unsigned round = 0; round < SWEEP_ROUNDS && quiet; round++) {
		/* Not a name that existed before, and not a good image. */
		if (failed && !b->replaces && (stop_get_signal() || !build_has_image(b)))
			engine_image_remove(b->plan->engine, buf_view(&b->name));
		if (!build_prune_round(b))
			quiet--;
		if (quiet && failed && stop_get_signal() &&
			stop_wait(-1, 0, clock_ms() + SWEEP_MS, true) < 0)
			break;
	}
}

static int build_push_piece(void *call, struct str piece)
{
	return http_client_push(call, piece);
}

static int build_push_context(const void *context, struct http_client *c)
{
	return context_put(context, build_push_piece, c);
}

static int build_send_context(struct build *b, const struct context *c)
{
	struct plan *p = b->plan;
	struct build_log log;
	struct target target;
	struct http_client_request q = {
		.method = "POST",
		.target = &target,
		.type = "application/x-tar",
		.more = build_push_context,
		.more_arg = c,
		.chunked = true,
	};
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target,
		"/build?dockerfile=Dockerfile&rm=1&forcerm=1&pull=0&t=%.*s&version=%d",
		STR_ARG(buf_view(&b->name)), b->buildkit ? 2 : 1);
	/* Only extra dependencies need the network. */
	target_add(&target, b->stage == IMAGE_STAGE_VERSIONED ? "" : "&networkmode=none");
	target_add(&target, p->options->force ? "&nocache=1" : "");
	/* Only extra dependencies have commands that print output. */
	build_log_init(&log);
	r = pull_read_lines(p->engine, &q, "building",
		p->deps.n ? "run the commands of --extra-deps in a container of the "
			    "image to find the error"
			  : ENGINE_NEXT_LOG,
		b->stage == IMAGE_STAGE_VERSIONED ? &log : NULL);
	build_log_free(&log);
	target_free(&target);
	return r;
}

/* Checks the image: the builder's report of success does not suffice. */
static int build_verify_image(struct build *b, struct image *im)
{
	struct plan *p = b->plan;
	const char *name = buf_cstr(&b->name);
	int r = name ? plan_inspect(p->engine, name, im) : b->name.err;

	if (r == 1)
		return out_fail(ENGINE_NEXT,
			"the engine reported that it built the image %s, but does not "
			"have it",
			name);
	if (r)
		return r;
	if (!build_is_planned(b, im)) {
		image_free(im);
		return out_fail("build again; another program may have changed the tag",
			"the image %s is not the one that was built: its labels differ",
			name);
	}
	if (b->replaces)
		build_prune_images(b, false);
	return 0;
}

static int build_send_stage(struct build *b)
{
	struct plan *p = b->plan;
	const bool product = b->stage == IMAGE_STAGE_SOURCE;
	struct buf text = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct context context = {0};
	const struct plan_part part = {
		.from = buf_view(&b->from),
		.below = b->below,
		.upto = b->stage,
		.plugin_refs = b->plugin_refs,
	};
	int r = plan_write_dockerfile(p, &part, &text);
	const struct context_files files = {
		.dockerfile = buf_view(&text),
		.plugins = b->stage == IMAGE_STAGE_LOCK ? &p->plugins : NULL,
		.client = product ? buf_view(&p->client.bytes) : STR(""),
		.plugins_program = product ? program_plugins_bytes(&p->client) : STR(""),
		.busybox = product && p->shell == IMAGE_SHELL_BUSYBOX
			? buf_view(&p->busybox.bytes)
			: STR(""),
		.drop_in = p->drop_in,
	};

	if (!r)
		r = context_init(&context, &files);
	if (!r)
		r = build_send_context(b, &context);
	context_free(&context);
	buf_free(&text);
	return r;
}

/* Sets the name of the rung, and whether an image has that name already. */
static int build_find_name(struct build *b)
{
	const char *name;
	struct image im = {0};
	int r;

	if (b->stage == IMAGE_STAGE_SOURCE) {
		buf_str(&b->name, buf_view(&b->plan->name));
		b->replaces = b->plan->old_id.n != 0;
		return b->name.err;
	}
	buf_puts(&b->name, TAG_REPO ":");
	buf_str(&b->name, plan_stage_tag(b->plan, b->stage));
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
static bool build_uses_commit(struct build *b)
{
	const struct plan *p = b->plan;

	if (b->stage != IMAGE_STAGE_SOURCE)
		return false;
	return plan_requires_commit(b->plan) ||
		(p->options->via == INJECTION_AUTO && !p->engine->podman &&
			!json_count(json_get(b->base_image->config, "Volumes")));
}

/* Makes an image based on another; the result is *im. */
static int build_make_stage(struct build *b, struct image *im)
{
	int r;

	b->name = (struct buf)BUF_INIT(1024);
	b->from = (struct buf)BUF_INIT(256);
	for (size_t i = 0; i < INJECT_PLUGINS; i++)
		b->plugin_refs[i] = (struct buf)BUF_INIT(256);
	r = build_find_name(b);
	if (!r && !build_uses_commit(b))
		r = build_add_temp_tags(b);
	out_step("building: %.*s", STR_ARG(buf_view(&b->name)));
	if (!r) {
		r = build_uses_commit(b) ? commit_image(b->plan, b->base_image)
					 : build_send_stage(b);
		if (!r)
			r = build_verify_image(b, im);
		if (r)
			build_prune_images(b, true);
	}
	build_remove_temp_tags(b);
	out_step_end();
	buf_free(&b->name);
	buf_free(&b->from);
	for (size_t i = 0; i < INJECT_PLUGINS; i++)
		buf_free(&b->plugin_refs[i]);
	return r;
}

/* Gives another name to an image of the engine. */
static int build_tag_image(
	struct plan *p, struct str id, const char *repo, struct str tag)
{
	return engine_image_tag(p->engine, id, repo, tag, "tagging the image");
}

/* Makes every rung that has content above the highest rung that exists. */
static int build_make_stages(struct plan *p)
{
	struct image made[IMAGE_STAGE_SOURCE + 1] = {0};
	struct image *on = p->stage == IMAGE_STAGE_BASE ? p->base : &p->below;
	enum image_stage below = p->stage;
	int r = 0;

	for (enum image_stage at = p->stage + 1; at <= IMAGE_STAGE_SOURCE && !r; at++) {
		struct build b = {
			.plan = p, .stage = at, .below = below, .base_image = on};

		if (!plan_has_stage(p, at))
			continue;
		r = build_make_stage(&b, &made[at]);
		on = &made[at];
		below = at;
		/* Without plugins the rungs "versioned" and "lock" are the same image. */
		if (!r && at == IMAGE_STAGE_VERSIONED &&
			!plan_has_stage(p, IMAGE_STAGE_LOCK))
			r = build_tag_image(
				p, on->id, TAG_REPO, plan_stage_tag(p, IMAGE_STAGE_LOCK));
	}
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		image_free(&made[i]);
	return r;
}

static void build_warn_no_shell(struct plan *p)
{
	if (p->shell == IMAGE_SHELL_NONE && !p->options->client.no_busybox)
		out_note("od-runtime: the image %.*s " PROGRAM_NO_SHELL,
			STR_ARG(buf_view(&p->base_ref)));
}

static const char *build_legacy_repo(void)
{
	return plan_is_development() ? TAG_LEGACY_DEV_REPO : TAG_LEGACY_REPO;
}

static void build_write_legacy_tag(const struct plan *p, struct buf *out)
{
	const struct tag_inputs in = {.base_ref = buf_view(&p->canonical)};

	tag_write_legacy(&in, out);
}

void build_write_legacy_name(const struct plan *p, struct buf *out)
{
	buf_fmt(out, "%s:", build_legacy_repo());
	build_write_legacy_tag(p, out);
}

int build_set_name(struct plan *p)
{
	if (p->options->tag_style != TAG_STYLE_LEGACY)
		return 0;
	buf_reset(&p->name);
	build_write_legacy_name(p, &p->name);
	return p->name.err;
}

/* Adds the name of the old style, which is then printed for the user. */
static int build_add_legacy_name(struct plan *p)
{
	struct buf tag = BUF_INIT(256);
	int r;

	build_write_legacy_tag(p, &tag);
	r = build_tag_image(p, buf_view(&p->name), build_legacy_repo(), buf_view(&tag));
	buf_free(&tag);
	return r ? r : build_set_name(p);
}

/* Serializes builds on the same base: each finds the images of the build before. */
static int build_lock_base(struct plan *p, int *turn)
{
	struct buf name = BUF_INIT(ENGINE_PATH_MAX + 256);
	int r;

	/*
	 * The name includes the engine, so an engine that hangs delays only its own
	 * builds.
	 */
	buf_fmt(&name, "%s ", p->engine->path);
	buf_str(&name, buf_view(&p->version));
	r = name.err ? name.err : cache_lock(buf_view(&name), turn);
	buf_free(&name);
	return r == 1 ? plan_update(p) : r;
}

int build_run(struct plan *p)
{
	int turn = -1, r = 0;

	build_warn_no_shell(p);
	if (p->kind == PLAN_BUILD)
		r = build_lock_base(p, &turn);
	if (!r && p->kind == PLAN_BUILD)
		r = build_make_stages(p);
	fd_close(&turn);
	if (!r && p->options->tag_style == TAG_STYLE_LEGACY)
		r = build_add_legacy_name(p);
	return r;
}
