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
#include "inject/sandbox/leftovers.h"
#include "limits.h"

#include <errno.h>
#include <stdlib.h>

/* More than the steps below a product: seven for each of three rungs. */
enum { ROUNDS = 64 };

struct old {
	struct str id, base, stage; /* base: its canonical name, if it is known */
	struct json_val names;      /* RepoTags */
	int64_t created, size;
	uint64_t nanos; /* of created, if another image has the same second */
	bool used;      /* a container uses it */
	bool gone;
};

struct prune {
	const struct engine *engine;
	const struct options *options;
	struct doc images, containers;
	struct arena arena;
	struct buf left; /* lines of leftovers_list */
	struct str only; /* the base given by the user; empty for all */
	struct old *list;
	size_t n;
};

static int ask(const struct engine *e, const struct target *target, struct reply *reply,
	struct doc *d)
{
	int r = engine_ask_at(e, reply, "GET", (struct str){0}, target);

	if (!r && reply->status != 200)
		r = engine_refused(reply, NULL, "listing what there is");
	if (!r) {
		r = doc_parse(d, buf_view(&reply->body));
		if (r && r != -ENOMEM)
			r = out_fail(ENGINE_NEXT, "the engine's list is not understood");
	}
	return r;
}

static bool is_used(struct prune *p, struct str id)
{
	struct json_val c;
	int it = 0;

	while (json_next(doc_root(&p->containers), &it, NULL, &c))
		if (str_eq(doc_str(&p->containers, json_get(c, "ImageID")), id))
			return true;
	return false;
}

/* Some engine versions write "<none>:<none>" for no name. */
static bool is_name(struct str s)
{
	return s.n && !str_starts(s, STR("<none>"));
}

static bool has_name(struct prune *p, const struct old *o)
{
	struct json_val v;
	int it = 0;

	while (json_next(o->names, &it, NULL, &v))
		if (is_name(doc_str(&p->images, v)))
			return true;
	return false;
}

/* The canonical name of a base: all spellings of a name are the same base. */
static struct str canonical(struct prune *p, struct str text)
{
	struct buf name = BUF_INIT(1024);
	struct str out = text;
	const char *why;
	struct ref ref;

	if (ref_parse(&ref, text, &why) == 0) {
		ref_canonical(&ref, &name);
		out = str_c(arena_cstr(&p->arena, buf_view(&name)));
	}
	buf_free(&name);
	return out;
}

static int take_one(struct prune *p, struct json_val image)
{
	struct json_val labels = json_get(image, "Labels");
	struct old *o = &p->list[p->n];

	*o = (struct old){
		.id = doc_str(&p->images, json_get(image, "Id")),
		.base = canonical(
			p, doc_str(&p->images, json_get(labels, "od.base.ref"))),
		.stage = doc_str(&p->images, json_get(labels, "od.stage")),
		.names = json_get(image, "RepoTags"),
		.created = doc_int(json_get(image, "Created"), 0),
		.size = doc_int(json_get(image, "Size"), 0),
	};
	if (!ref_is_id(o->id))
		return out_fail(
			ENGINE_NEXT, "the engine's list has an image without an id");
	if (p->only.n && !str_eq(o->base, p->only))
		return 0;
	o->used = is_used(p, o->id);
	p->n++;
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	if (x->created != y->created)
		return x->created > y->created ? -1 : 1;
	return x->nanos > y->nanos ? -1 : x->nanos < y->nanos;
}

/* The nanoseconds of an RFC 3339 time; 0 without a fraction. */
static uint64_t nanos_of(struct str time)
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
static int read_nanos(struct prune *p, struct old *o)
{
	struct reply reply;
	struct doc d;
	int r = engine_image_inspect(p->engine, o->id, &reply);

	if (!r && reply.status == 200 && doc_parse(&d, buf_view(&reply.body)) == 0) {
		o->nanos = nanos_of(doc_str(&d, json_get(doc_root(&d), "Created")));
		doc_free(&d);
	}
	reply_free(&reply);
	return r;
}

/* Whether another image of its base and stage was made in the same second. */
static bool has_twin(const struct prune *p, const struct old *o)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct old *x = &p->list[i];

		if (x != o && x->created == o->created && str_eq(x->base, o->base) &&
			str_eq(x->stage, o->stage))
			return true;
	}
	return false;
}

static int read_all(struct prune *p)
{
	struct json_val image;
	int it = 0, r = 0;

	arena_init(&p->arena, INJECT_ARENA_MAX);
	p->list = arena_array(
		&p->arena, json_count(doc_root(&p->images)) + 1, sizeof(*p->list));
	if (!p->list)
		return -ENOMEM;
	p->only = canonical(p, str_c(p->options->operand[0]));
	while (!r && json_next(doc_root(&p->images), &it, NULL, &image))
		if (engine_image_has_own_names(&p->images, image))
			r = take_one(p, image);
	for (size_t i = 0; i < p->n && !r; i++)
		if (has_twin(p, &p->list[i]))
			r = read_nanos(p, &p->list[i]);
	if (p->n > 1)
		qsort(p->list, p->n, sizeof(*p->list), by_age);
	return r;
}

/*
 * Whether the image stays: a container uses it, or it has a name and fewer than --keep
 * newer images of its base and stage have a name.
 */
static bool is_kept(struct prune *p, size_t at)
{
	const struct old *o = &p->list[at];
	uint64_t newer = 0;

	if (o->used)
		return true;
	if (!has_name(p, o))
		return false;
	for (size_t i = 0; i < at; i++)
		newer += str_eq(p->list[i].base, o->base) &&
			str_eq(p->list[i].stage, o->stage) && has_name(p, &p->list[i]);
	return newer < p->options->keep;
}

/* False also if the engine refuses, because an image or a container depends on it. */
static bool remove_name(struct prune *p, struct str name)
{
	const char *why;
	struct ref ref;

	return ref_parse(&ref, name, &why) == 0 &&
		engine_image_remove(p->engine, name) == 0;
}

static bool remove_image(struct prune *p, const struct old *o)
{
	struct json_val v;
	bool done = true, named = has_name(p, o);
	int it = 0;

	while (named && done && json_next(o->names, &it, NULL, &v))
		done = remove_name(p, doc_str(&p->images, v));
	return named ? done : remove_name(p, o->id);
}

static void print_one(struct prune *p, const struct old *o, struct jw *w)
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
		if (is_name(doc_str(&p->images, v)))
			jw_str(w, doc_str(&p->images, v));
	jw_end(w);
	jw_end(w);
}

static void print_line(struct prune *p, const struct old *o, struct buf *out)
{
	struct json_val v;
	bool named = false;
	int it = 0;

	while (json_next(o->names, &it, NULL, &v)) {
		struct str name = doc_str(&p->images, v);

		if (!is_name(name))
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
static void prune_put_left(struct prune *p, struct jw *w, struct buf *out)
{
	struct str rest = buf_view(&p->left);

	if (!p->options->json) {
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

static int print(struct prune *p)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	struct jw w;
	int r;

	jw_init(&w, &out);
	if (p->options->json)
		jw_array(&w);
	prune_put_left(p, &w, &out);
	for (size_t i = 0; i < p->n; i++) {
		if (!p->list[i].gone)
			continue;
		if (p->options->json)
			print_one(p, &p->list[i], &w);
		else
			print_line(p, &p->list[i], &out);
	}
	if (p->options->json) {
		jw_end(&w);
		buf_putc(&out, '\n');
	}
	r = out_buf(&out);
	buf_free(&out);
	return r;
}

/* Removes products before the images they are based on. Returns the number removed. */
static size_t remove_all(struct prune *p)
{
	bool dry = p->options->dry_run;
	size_t gone = 0;

	for (unsigned stages = 0; stages < 2; stages++)
		for (size_t i = 0; i < p->n; i++) {
			struct old *o = &p->list[i];

			if ((o->stage.n != 0) != stages || is_kept(p, i))
				continue;
			o->gone = dry || remove_image(p, o);
			gone += o->gone;
		}
	return gone;
}

/* Lists the images and removes old ones. 1 if any was removed, 0, or an error. */
static int round_of(struct prune *p, bool first)
{
	struct reply images, containers;
	struct target managed;
	int r;

	reply_init(&images);
	reply_init(&containers);
	p->n = 0;
	target_init(&managed, ENGINE_TARGET_MAX);
	target_add(&managed, "/images/json?filters=%s", "{\"label\":[\"od.managed=1\"]}");
	r = ask(p->engine, &managed, &images, &p->images);
	target_free(&managed);
	if (!r)
		r = ask(p->engine, TARGET("/containers/json?all=1"), &containers,
			&p->containers);
	if (!r)
		r = read_all(p);
	if (!r) {
		size_t gone = remove_all(p);

		if (first)
			r = print(p);
		r = r ? r : gone != 0;
	}
	arena_reset(&p->arena);
	doc_free(&p->images);
	doc_free(&p->containers);
	reply_free(&images);
	reply_free(&containers);
	return r;
}

/*
 * The engine must not also remove the images below a product, because one may be a
 * user's image without a name. So each round removes only the steps that the round
 * before exposed.
 */
int cmd_prune(const struct options *o)
{
	struct prune p = {.options = o, .left = BUF_INIT(INJECT_REPLY_MAX)};
	struct engine e;
	int r = engine_open(&e, o->host);

	p.engine = &e;
	if (!r)
		leftovers_list(&e, o->dry_run, &p.left);
	if (!r)
		r = round_of(&p, true);
	for (unsigned i = 0; i < ROUNDS && r == 1 && !o->dry_run; i++)
		r = stop_signal() ? -EINTR : round_of(&p, false);
	buf_free(&p.left);
	return r < 0 ? r : 0;
}
