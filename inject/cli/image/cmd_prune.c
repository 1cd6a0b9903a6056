/*
 * Removes old images of od-runtime: the newest images of each base stay, and so do
 * images that a container uses. Intermediate images are removed if no remaining image is
 * based on them.
 */
#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/engine/engine_image.h"
#include "inject/names/ref.h"
#include "inject/names/tag.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "inject/sandbox/leftovers.h"
#include "limits.h"

#include <errno.h>
#include <stdlib.h>

struct prune_options {
	struct dry_run_options run;
	uint64_t keep;
};

/* More than the steps below a product: seven for each of three rungs. */
enum { ROUNDS = 64 };

struct prune_image {
	struct str id, base, stage; /* base: its canonical name, if it is known */
	struct json_val names;      /* RepoTags */
	int64_t created, size;
	uint64_t nanos; /* of created, if another image has the same second */
	bool used;      /* a container uses it */
	bool removed;
};

struct prune {
	const struct engine *engine;
	const struct command_line *line;
	const struct prune_options *options;
	struct json_doc images, containers;
	struct arena arena;
	struct buf leftovers;   /* lines of leftovers_list */
	struct str base_filter; /* the base given by the user; empty for all */
	struct prune_image *list;
	size_t n;
};

static int prune_fetch_list(const struct engine *e, const struct target *target,
	struct reply *reply, struct json_doc *d)
{
	int r = engine_request_at(e, reply, "GET", (struct str){0}, target);

	if (!r && reply->status != 200)
		r = engine_fail_reply(
			reply, NULL, "listing the containers, images and volumes");
	if (!r) {
		r = json_doc_parse(d, buf_view(&reply->body));
		if (r && r != -ENOMEM)
			r = out_fail(ENGINE_NEXT,
				"the engine's list of containers, images or volumes is "
				"not JSON");
	}
	return r;
}

static bool prune_is_in_use(struct prune *p, struct str id)
{
	struct json_val c;
	int it = 0;

	while (json_next(json_doc_root(&p->containers), &it, NULL, &c))
		if (str_eq(json_doc_str(&p->containers, json_get(c, "ImageID")), id))
			return true;
	return false;
}

/* Some engine versions write "<none>:<none>" for no name. */
static bool prune_is_name(struct str s)
{
	return s.n && !str_starts(s, STR("<none>"));
}

static bool prune_has_name(struct prune *p, const struct prune_image *o)
{
	struct json_val v;
	int it = 0;

	while (json_next(o->names, &it, NULL, &v))
		if (prune_is_name(json_doc_str(&p->images, v)))
			return true;
	return false;
}

/* The canonical name of a base: all spellings of a name are the same base. */
static struct str prune_canonicalize_ref(struct prune *p, struct str text)
{
	struct buf name = BUF_INIT(1024);
	struct str out = text;
	const char *why;
	struct ref ref;

	if (ref_parse(&ref, text, &why) == 0) {
		ref_write_canonical(&ref, &name);
		out = str_c(arena_cstr(&p->arena, buf_view(&name)));
	}
	buf_free(&name);
	return out;
}

static int prune_add_image(struct prune *p, struct json_val image)
{
	struct json_val labels = json_get(image, "Labels");
	struct prune_image *o = &p->list[p->n];

	*o = (struct prune_image){
		.id = json_doc_str(&p->images, json_get(image, "Id")),
		.base = prune_canonicalize_ref(
			p, json_doc_str(&p->images, json_get(labels, "od.base.ref"))),
		.stage = json_doc_str(&p->images, json_get(labels, "od.stage")),
		.names = json_get(image, "RepoTags"),
		.created = json_doc_int(json_get(image, "Created"), 0),
		.size = json_doc_int(json_get(image, "Size"), 0),
	};
	if (!ref_is_id(o->id))
		return out_fail(
			ENGINE_NEXT, "the engine's list has an image without an id");
	if (p->base_filter.n && !str_eq(o->base, p->base_filter))
		return 0;
	o->used = prune_is_in_use(p, o->id);
	p->n++;
	return 0;
}

static int prune_compare_age(const void *a, const void *b)
{
	const struct prune_image *x = a, *y = b;

	if (x->created != y->created)
		return x->created > y->created ? -1 : 1;
	return x->nanos > y->nanos ? -1 : x->nanos < y->nanos;
}

/* The nanoseconds of an RFC 3339 time; 0 without a fraction. */
static uint64_t prune_parse_nanos(struct str time)
{
	struct str digits = str_skip(time, str_find_byte(time, '.'));
	bool more = true;
	uint64_t n = 0;

	for (size_t i = 1; i <= 9; i++) {
		more = more && i < digits.n && digits.p[i] >= '0' && digits.p[i] <= '9';
		n = n * 10 + (more ? (uint64_t)(digits.p[i] - '0') : 0);
	}
	return n;
}

/*
 * Reads the nanoseconds of an image, because the list has seconds only. If the image no
 * longer exists, they stay 0.
 */
static int prune_fetch_nanos(struct prune *p, struct prune_image *o)
{
	struct reply reply;
	struct json_doc d;
	int r = engine_image_inspect(p->engine, o->id, &reply);

	if (!r && reply.status == 200 && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		o->nanos = prune_parse_nanos(
			json_doc_str(&d, json_get(json_doc_root(&d), "Created")));
		json_doc_free(&d);
	}
	reply_free(&reply);
	return r;
}

/* Whether another image of its base and stage was made in the same second. */
static bool prune_has_tie(const struct prune *p, const struct prune_image *o)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct prune_image *x = &p->list[i];

		if (x != o && x->created == o->created && str_eq(x->base, o->base) &&
			str_eq(x->stage, o->stage))
			return true;
	}
	return false;
}

static int prune_read_images(struct prune *p)
{
	struct json_val image;
	int it = 0, r = 0;

	arena_init(&p->arena, INJECT_ARENA_MAX);
	p->list = arena_array(
		&p->arena, json_count(json_doc_root(&p->images)) + 1, sizeof(*p->list));
	if (!p->list)
		return -ENOMEM;
	p->base_filter = prune_canonicalize_ref(p, str_c(p->line->operand[0]));
	while (!r && json_next(json_doc_root(&p->images), &it, NULL, &image))
		if (engine_image_has_own_names(&p->images, image))
			r = prune_add_image(p, image);
	for (size_t i = 0; i < p->n && !r; i++)
		if (prune_has_tie(p, &p->list[i]))
			r = prune_fetch_nanos(p, &p->list[i]);
	if (p->n > 1)
		qsort(p->list, p->n, sizeof(*p->list), prune_compare_age);
	return r;
}

/*
 * Whether the image stays: a container uses it, or it has a name and fewer than --keep
 * newer images of its base and stage have a name.
 */
static bool prune_is_retained(struct prune *p, size_t at)
{
	const struct prune_image *o = &p->list[at];
	uint64_t newer = 0;

	if (o->used)
		return true;
	if (!prune_has_name(p, o))
		return false;
	for (size_t i = 0; i < at; i++)
		newer += str_eq(p->list[i].base, o->base) &&
			str_eq(p->list[i].stage, o->stage) &&
			prune_has_name(p, &p->list[i]);
	return newer < p->options->keep;
}

/* False also if the engine refuses, because an image or a container depends on it. */
static bool prune_remove_name(struct prune *p, struct str name)
{
	const char *why;
	struct ref ref;

	return ref_parse(&ref, name, &why) == 0 &&
		engine_image_remove(p->engine, name) == 0;
}

static bool prune_remove_image(struct prune *p, const struct prune_image *o)
{
	struct json_val v;
	bool done = true, named = prune_has_name(p, o);
	int it = 0;

	while (named && done && json_next(o->names, &it, NULL, &v))
		done = prune_remove_name(p, json_doc_str(&p->images, v));
	return named ? done : prune_remove_name(p, o->id);
}

static void prune_append_json(struct prune *p, const struct prune_image *o, struct jw *w)
{
	struct json_val v;
	int it = 0;

	jw_object(w);
	jw_key(w, "kind");
	jw_cstr(w, "image");
	jw_key(w, "id");
	jw_str(w, o->id);
	jw_key(w, "base");
	jw_str(w, o->base);
	jw_key(w, "names");
	jw_array(w);
	while (json_next(o->names, &it, NULL, &v))
		if (prune_is_name(json_doc_str(&p->images, v)))
			jw_str(w, json_doc_str(&p->images, v));
	jw_end(w);
	jw_end(w);
}

static void prune_append_line(
	struct prune *p, const struct prune_image *o, struct buf *out)
{
	struct json_val v;
	bool named = false;
	int it = 0;

	while (json_next(o->names, &it, NULL, &v)) {
		struct str name = json_doc_str(&p->images, v);

		if (!prune_is_name(name))
			continue;
		buf_puts(out, named ? " " : "");
		out_clean(out, name, false);
		named = true;
	}
	if (!named)
		out_clean(out, o->id, false);
	buf_putc(out, '\n');
}

/* The leftovers of killed commands. */
static void prune_append_leftovers(struct prune *p, struct jw *w, struct buf *out)
{
	struct str rest = buf_view(&p->leftovers);

	if (!p->line->json) {
		buf_str(out, rest);
		return;
	}
	while (rest.n) {
		struct str name = str_cut(&rest, '\n'), kind = str_cut(&name, ' ');

		jw_object(w);
		jw_key(w, "kind");
		jw_str(w, kind);
		jw_key(w, "name");
		jw_str(w, name);
		jw_end(w);
	}
}

static int prune_print(struct prune *p)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	struct jw w;
	int r;

	jw_init(&w, &out);
	if (p->line->json)
		jw_array(&w);
	prune_append_leftovers(p, &w, &out);
	for (size_t i = 0; i < p->n; i++) {
		if (!p->list[i].removed)
			continue;
		if (p->line->json)
			prune_append_json(p, &p->list[i], &w);
		else
			prune_append_line(p, &p->list[i], &out);
	}
	if (p->line->json) {
		jw_end(&w);
		buf_putc(&out, '\n');
	}
	r = out_write_buf(&out);
	buf_free(&out);
	return r;
}

/* Removes products before the images they are based on. Returns the number removed. */
static size_t prune_remove_images(struct prune *p)
{
	bool dry = p->options->run.dry_run;
	size_t gone = 0;

	for (unsigned stages = 0; stages < 2; stages++)
		for (size_t i = 0; i < p->n; i++) {
			struct prune_image *o = &p->list[i];

			if ((o->stage.n != 0) != stages || prune_is_retained(p, i))
				continue;
			o->removed = dry || prune_remove_image(p, o);
			gone += o->removed;
		}
	return gone;
}

/* Lists the images and removes old ones. 1 if any was removed, 0, or an error. */
static int prune_run_round(struct prune *p, bool first)
{
	struct reply images, containers;
	struct target managed;
	int r;

	reply_init(&images);
	reply_init(&containers);
	p->n = 0;
	target_init(&managed, ENGINE_TARGET_MAX);
	target_add(&managed, "/images/json?filters=%s", "{\"label\":[\"od.managed=1\"]}");
	r = prune_fetch_list(p->engine, &managed, &images, &p->images);
	target_free(&managed);
	if (!r)
		r = prune_fetch_list(p->engine, TARGET("/containers/json?all=1"),
			&containers, &p->containers);
	if (!r)
		r = prune_read_images(p);
	if (!r) {
		size_t gone = prune_remove_images(p);

		if (first)
			r = prune_print(p);
		r = r ? r : gone != 0;
	}
	arena_reset(&p->arena);
	json_doc_free(&p->images);
	json_doc_free(&p->containers);
	reply_free(&images);
	reply_free(&containers);
	return r;
}

/*
 * The engine must not also remove the images below a product, because one may be a
 * user's image without a name. So each round removes only the steps that the round
 * before exposed.
 */
static int cmd_prune(const struct command_line *line)
{
	const struct prune_options *o = line->options;
	struct prune p = {
		.line = line, .options = o, .leftovers = BUF_INIT(INJECT_REPLY_MAX)};
	struct engine e;
	int r = engine_open(&e, line->host);

	p.engine = &e;
	if (!r)
		leftovers_list(&e, o->run.dry_run, &p.leftovers);
	if (!r)
		r = prune_run_round(&p, true);
	for (unsigned i = 0; i < ROUNDS && r == 1 && !o->run.dry_run; i++)
		r = stop_get_signal() ? -EINTR : prune_run_round(&p, false);
	buf_free(&p.leftovers);
	return r < 0 ? r : 0;
}

#define OPTIONS struct prune_options
static const struct option prune_options[] = {
	{SET(dry_run_set, run)},
	{"keep", "N", "keep the newest N runtime images of each base image",
		NUMBER(0, INT32_MAX), AT(keep), INITIAL("3"), GROUP(IMAGE)},
	{0},
};
#undef OPTIONS

const struct command command_prune = {
	.name = "prune",
	.usage = "[IMAGE] [OPTION...]",
	.purpose = "remove leftovers of killed commands and old runtime images",
	.more = "It removes the unused runtime images of each base image (or "
		"only of IMAGE) except the newest, and prints what it removes.",
	.examples = {"od-runtime prune --dry-run", "od-runtime prune debian:12 --keep 1"},
	.operands = 1,
	.last_optional = true,
	.subject = SUBJECT_IMAGE,
	.options = prune_options,
	.options_size = sizeof(struct prune_options),
	.run = cmd_prune,
};
