#include "inject/sandbox/leftovers.h"

#include "base/clock.h"
#include "inject/engine/engine_image.h"
#include "inject/names/owner.h"
#include "inject/names/sandbox_label.h"
#include "inject/names/tag.h"
#include "inject/sandbox/overlay.h"

#include <stdio.h>

/* The limit of the whole collection: a slow engine must not delay the user's command. */
enum { COLLECT_MS = 2000 };

struct collection {
	struct engine engine; /* with a short limit */
	uint64_t until;       /* monotonic ms */
	bool failed;
	bool dry;        /* nothing is removed */
	struct buf *out; /* a line for each object; NULL: no report */
};

/* Sets the engine's limit to the remaining time; false: none is left. */
static bool leftovers_have_time(struct collection *c)
{
	uint64_t now = clock_ms();

	c->failed = c->failed || now >= c->until;
	if (!c->failed)
		c->engine.idle_ms = (uint32_t)(c->until - now);
	return !c->failed;
}

/* Copies a name or id if it has the form of those that od-runtime makes. */
static bool leftovers_copy_name(char name[STATE_NAME_MAX + 1], struct str from)
{
	if (!state_is_name(from) || from.n > STATE_NAME_MAX)
		return false;
	snprintf(name, STATE_NAME_MAX + 1, "%.*s", STR_ARG(from));
	return true;
}

static void leftovers_report(struct collection *c, const char *kind, const char *name)
{
	if (c->out)
		buf_fmt(c->out, "%s %s\n", kind, name);
}

/* --- Containers --------------------------------------------------------------------- */

static void leftovers_forget_key(const char *name, const char *id)
{
	struct state s;

	if (state_load(name, &s))
		return;
	if (strcmp(s.id, id) == 0)
		state_remove(name);
	state_wipe_key(&s);
}

/*
 * Without force the engine refuses if another process has started the container
 * meanwhile.
 */
static void leftovers_remove_container(struct collection *c, struct str id,
	struct str name, struct str overlay, bool force)
{
	char own_id[STATE_NAME_MAX + 1], own_name[STATE_NAME_MAX + 1];
	char own_overlay[STATE_NAME_MAX + 1];

	if (!leftovers_copy_name(own_id, id) || !leftovers_copy_name(own_name, name) ||
		!leftovers_have_time(c))
		return;
	if (!c->dry &&
		engine_cleanup(&c->engine, NULL, "DELETE", "/containers/%s?v=1&force=%d",
			own_id, force))
		return;
	leftovers_report(c, "container", own_name);
	if (c->dry)
		return;
	leftovers_forget_key(own_name, own_id);
	if (leftovers_copy_name(own_overlay, overlay) && leftovers_have_time(c))
		overlay_remove(&c->engine, own_overlay, own_name);
}

/* The owner in the labels of a container or an image; empty: none. */
static struct str leftovers_label_owner(
	struct json_doc *d, struct json_val labels, struct str name, bool bound)
{
	static const enum sandbox_label all[] = {
		SANDBOX_LABEL_BOUND, SANDBOX_LABEL_OWNER};

	for (size_t i = 0; i < (bound ? 1 : ARRAY_LEN(all)); i++) {
		struct str text = sandbox_label_owner(d, labels, all[i], name);

		if (text.n)
			return text;
	}
	return STR("");
}

/*
 * Whether the image of a container has the same owner. An image that was committed from a
 * sandbox has the sandbox's labels, and so has each container of that image. If the image
 * cannot be read, the owner counts as inherited.
 */
static bool leftovers_is_inherited(struct collection *c, struct str image,
	struct str owner, struct str name, bool bound)
{
	struct reply reply = {0};
	bool inherited = true;
	struct json_doc d;

	if (leftovers_have_time(c) &&
		engine_cleanup(&c->engine, &reply, "GET", "/images/%.*s/json",
			STR_ARG(image)) == 0 &&
		reply.status == 200 && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		struct json_val config = json_get(json_doc_root(&d), "Config");
		struct json_val labels = json_get(config, "Labels");

		inherited = str_eq(leftovers_label_owner(&d, labels, name, bound), owner);
		json_doc_free(&d);
	}
	reply_free(&reply);
	return inherited;
}

static void leftovers_look_at_container(
	struct collection *c, struct json_doc *d, struct json_val it, bool bound)
{
	struct json_val labels = json_get(it, "Labels"), first;
	struct str name = STR(""), owner;
	enum owner_state state;
	int at = 0;

	if (json_next(json_get(it, "Names"), &at, NULL, &first))
		name = json_doc_str(d, first);
	if (str_starts(name, STR("/")))
		name = str_skip(name, 1);
	owner = leftovers_label_owner(d, labels, name, bound);
	if (!owner.n && !bound && str_starts(name, STR(ENGINE_OWN)))
		owner = owner_from_name(name);
	/* A bound container that was never started is in both lists. */
	if (c->dry && bound &&
		str_eq(json_doc_str(d, json_get(it, "State")), STR("created")))
		return;
	state = owner_find_state(owner);
	/* A running container is removed only if its owner ended within this boot. */
	if (state != OWNER_ENDED && (state != OWNER_REBOOTED || bound))
		return;
	if (!leftovers_is_inherited(
		    c, json_doc_str(d, json_get(it, "ImageID")), owner, name, bound))
		leftovers_remove_container(c, json_doc_str(d, json_get(it, "Id")), name,
			sandbox_label_read(d, labels, SANDBOX_LABEL_OVERLAY), bound);
}

/* --- Volumes and names -------------------------------------------------------------- */

static void leftovers_look_at_volume(
	struct collection *c, struct json_doc *d, struct json_val it, bool bound)
{
	struct json_val labels = json_get(it, "Labels");
	struct str name = json_doc_str(d, json_get(it, "Name"));
	struct str label = sandbox_label_read(d, labels, SANDBOX_LABEL_OWNER);
	char own[STATE_NAME_MAX + 1];

	(void)bound;
	if (!sandbox_label_is_overlay(name) ||
		!sandbox_label_is_set(d, labels, SANDBOX_LABEL_OVERLAY) ||
		owner_find_state(owner_from_label(label, name)) == OWNER_ALIVE ||
		!leftovers_copy_name(own, name) || !leftovers_have_time(c))
		return;
	/* The engine refuses if a container uses the volume meanwhile. */
	if (c->dry || engine_cleanup(&c->engine, NULL, "DELETE", "/volumes/%s", own) == 0)
		leftovers_report(c, "volume", own);
}

static void leftovers_look_at_image(
	struct collection *c, struct json_doc *d, struct json_val it, bool bound)
{
	struct json_val v;
	int at = 0;

	(void)bound;
	while (json_next(json_get(it, "RepoTags"), &at, NULL, &v)) {
		struct str name = json_doc_str(d, v), tag = name;
		char own[STATE_NAME_MAX + 1];

		(void)str_cut(&tag, ':');
		if (!str_starts(name, STR(TAG_BASE_REPO ":")) ||
			!leftovers_copy_name(own, tag) ||
			owner_find_state(owner_from_name(tag)) == OWNER_ALIVE ||
			!leftovers_have_time(c))
			continue;
		if (!c->dry && engine_image_remove(&c->engine, name))
			continue;
		if (c->out)
			buf_fmt(c->out, "name " TAG_BASE_REPO ":%s\n", own);
	}
}

/* --- Lists -------------------------------------------------------------------------- */

static const struct {
	const char *path, *filters, *member;
	void (*look)(
		struct collection *c, struct json_doc *d, struct json_val it, bool bound);
	enum leftovers from; /* this one and those behind it read the list */
	bool bound;
} lists[] = {
	{"containers", "{\"status\":[\"created\"]}", NULL, leftovers_look_at_container,
		LEFTOVERS_CONTAINERS, false},
	{"containers", "{\"label\":[\"od.sandbox.bound\"]}", NULL,
		leftovers_look_at_container, LEFTOVERS_CONTAINERS, true},
	/* Volumes that a container uses belong to a sandbox. */
	{"volumes", "{\"label\":[\"od.sandbox.owner\"],\"dangling\":[\"true\"]}",
		"Volumes", leftovers_look_at_volume, LEFTOVERS_ALL, false},
	{"images", "{\"reference\":[\"" TAG_BASE_REPO "\"]}", NULL,
		leftovers_look_at_image, LEFTOVERS_ALL, false},
};

static bool leftovers_ask(struct collection *c, size_t i, struct reply *reply)
{
	int r;

	if (!leftovers_have_time(c))
		return false;
	if (lists[i].member)
		r = engine_cleanup(&c->engine, reply, "GET", "/%s?filters=%s",
			lists[i].path, lists[i].filters);
	else
		r = engine_cleanup(&c->engine, reply, "GET", "/%s/json?all=1&filters=%s",
			lists[i].path, lists[i].filters);
	return r == 0 && reply->status == 200;
}

static void leftovers_collect_list(struct collection *c, size_t i)
{
	struct reply reply = {0};
	struct json_val all, it;
	struct json_doc d;
	int at = 0;

	if (leftovers_ask(c, i, &reply) &&
		json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		all = lists[i].member ? json_get(json_doc_root(&d), lists[i].member)
				      : json_doc_root(&d);
		while (!c->failed && json_next(all, &at, NULL, &it))
			lists[i].look(c, &d, it, lists[i].bound);
		json_doc_free(&d);
	}
	reply_free(&reply);
}

static void leftovers_run(struct collection *c, enum leftovers what)
{
	c->until = clock_ms() + COLLECT_MS;
	if (!owner_text()[0])
		return;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (what >= lists[i].from)
			leftovers_collect_list(c, i);
}

void leftovers_collect(const struct engine *e, enum leftovers what)
{
	struct collection c = {.engine = *e};

	leftovers_run(&c, what);
}

void leftovers_list(const struct engine *e, bool dry, struct buf *out)
{
	struct collection c = {.engine = *e, .dry = dry, .out = out};

	leftovers_run(&c, LEFTOVERS_ALL);
}
