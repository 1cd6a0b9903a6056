#include "browser/observe/axtree.h"

#include <errno.h>

void axtree_init(struct axtree *t, struct arena *a)
{
	*t = (struct axtree){.a = a};
}

/* --- Reading ---------------------------------------------------------------------- */

/*
 * Returns the list with space for more elements of size bytes each. The old list stays
 * in the arena.
 */
static void *axtree_grow_list(struct arena *a, const void *list, size_t n, size_t more,
	size_t size, size_t *cap)
{
	size_t want = n + more > 2 * *cap ? n + more : 2 * *cap;
	void *p = arena_array(a, want, size);

	if (!p)
		return NULL;
	if (n)
		memcpy(p, list, n * size);
	*cap = want;
	return p;
}

/* The string in the member "value" of an object; empty if it is no string. */
static int axtree_read_value(struct json_val v, struct arena *a, struct str *out)
{
	struct json_val value = json_get(v, "value");

	*out = str_make("", 0);
	return json_type(value) == JSON_STRING ? json_str(value, a, out) : 0;
}

/* Whether a JSON string is that word of the protocol. The word includes its quotes. */
static bool axtree_is_word(struct json_val v, struct str word)
{
	return str_eq(json_raw(v), word);
}

/* Removes "browsergym_id_BID " from the start of a text. */
static void axtree_cut_bid(struct str *s, struct str *bid)
{
	struct str prefix = STR("browsergym_id_"), rest;
	size_t n = 0;

	if (!str_starts(*s, prefix))
		return;
	rest = str_skip(*s, prefix.n);
	while (n < rest.n &&
		((rest.p[n] >= '0' && rest.p[n] <= '9') ||
			((rest.p[n] | 0x20) >= 'a' && (rest.p[n] | 0x20) <= 'z')))
		n++;
	if (!n)
		return;
	*bid = str_make(rest.p, n);
	*s = str_skip(rest, n);
	if (s->n && strchr(" \t\n\v\f\r", s->p[0]) && s->p[0])
		*s = str_skip(*s, 1);
}

static int axtree_read_own_text(
	struct json_val v, struct arena *a, struct axtree_text *own, struct str *bid)
{
	int r = axtree_read_value(v, a, &own->text);

	if (r)
		return r;
	axtree_cut_bid(&own->text, bid);
	own->is_empty = !own->text.n;
	return 0;
}

static int axtree_read_role_text(
	struct axtree_node *node, struct arena *a, struct str *bid)
{
	struct json_val v;
	int it = 0;

	while (json_next(node->properties, &it, NULL, &v))
		if (axtree_is_word(json_get(v, "name"), STR("\"roledescription\"")))
			return axtree_read_own_text(
				json_get(v, "value"), a, &node->roledescription, bid);
	return 0;
}

static int axtree_read_member(
	struct axtree_node *node, struct json_val key, struct json_val v, struct arena *a)
{
	if (axtree_is_word(key, STR("\"nodeId\"")))
		return json_str(v, a, &node->id);
	if (axtree_is_word(key, STR("\"role\"")))
		return axtree_read_value(v, a, &node->role);
	if (axtree_is_word(key, STR("\"name\""))) {
		node->named = true;
		return axtree_read_value(v, a, &node->name);
	}
	if (axtree_is_word(key, STR("\"backendDOMNodeId\"")))
		return json_i64(v, &node->backend);
	if (axtree_is_word(key, STR("\"value\"")))
		node->value = json_get(v, "value");
	else if (axtree_is_word(key, STR("\"properties\"")))
		node->properties = v;
	else if (axtree_is_word(key, STR("\"childIds\"")))
		node->children = v;
	else if (axtree_is_word(key, STR("\"description\"")))
		node->raw_description = v;
	return 0;
}

static int axtree_read_node(
	struct axtree_node *node, struct json_val raw, struct arena *a)
{
	const struct json_val absent = {.at = -1};
	struct str bid = {0};
	struct json_val key, v;
	int it = 0, r = 0;

	*node = (struct axtree_node){
		.raw = raw,
		.value = absent,
		.properties = absent,
		.children = absent,
		.raw_description = absent,
	};
	while (!r && json_next(raw, &it, &key, &v))
		r = axtree_read_member(node, key, v, a);
	if (!r)
		r = axtree_read_own_text(
			node->raw_description, a, &node->description, &bid);
	/* A bid in the roledescription has priority over one in the description. */
	if (!r)
		r = axtree_read_role_text(node, a, &bid);
	node->bid = bid;
	if (str_eq(node->role, STR("LineBreak"))) {
		node->named = false;
		node->name.n = 0;
	}
	return r;
}

int axtree_add_frame(struct axtree *t, struct str frame, struct json_val reply)
{
	struct json_val list = json_get(reply, "nodes"), raw;
	size_t n = json_count(list), first = t->n;
	int it = 0, r = 0;

	if (!n)
		return json_type(list) == JSON_ARRAY ? 0 : ERR_TYPE;
	if (n > AXTREE_NODES_MAX - t->n)
		return ERR_LIMIT;
	if (t->n + n > t->cap) {
		void *p = axtree_grow_list(
			t->a, t->node, t->n, n, sizeof(*t->node), &t->cap);

		if (!p)
			return -ENOMEM;
		t->node = p;
	}
	if (t->frames_n == t->frames_cap) {
		void *p = axtree_grow_list(t->a, t->frame, t->frames_n, 1,
			sizeof(*t->frame), &t->frames_cap);

		if (!p)
			return -ENOMEM;
		t->frame = p;
	}
	while (!r && json_next(list, &it, NULL, &raw))
		r = axtree_read_node(&t->node[t->n++], raw, t->a);
	if (!r)
		t->frame[t->frames_n++] = (struct axtree_frame){frame, first};
	return r;
}

/* --- Frames ----------------------------------------------------------------------- */

bool axtree_next_owner(const struct axtree *t, size_t *at)
{
	for (++*at; *at < t->n; ++*at)
		if (str_eq(t->node[*at].role, STR("Iframe")) && t->node[*at].backend)
			return true;
	return false;
}

void axtree_attach_frame(struct axtree *t, size_t owner, struct str frame)
{
	for (size_t i = 0; i < t->frames_n; i++)
		if (str_eq(t->frame[i].id, frame))
			t->node[owner].frame_root = t->frame[i].root;
}

/* --- Writing ---------------------------------------------------------------------- */

static void axtree_write_member(struct jw *w, struct json_val key, struct json_val v)
{
	struct str name = json_raw(key);

	/* Names of the protocol have no escapes. Others are written unchanged. */
	jw_key_str(w, str_make(name.p + 1, name.n - 2));
	jw_raw(w, json_raw(v));
}

/* Writes an object unchanged, except for the string in its "value". */
static void axtree_write_with_value(
	struct jw *w, struct json_val object, struct str value)
{
	struct json_val key, v;
	int it = 0;

	jw_object(w);
	while (json_next(object, &it, &key, &v)) {
		if (axtree_is_word(key, STR("\"value\""))) {
			jw_key(w, "value");
			jw_str(w, value);
		} else {
			axtree_write_member(w, key, v);
		}
	}
	jw_end(w);
}

static void axtree_write_role_text(
	struct jw *w, const struct axtree_text *own, struct json_val property)
{
	struct json_val key, v;
	int it = 0;

	if (own->is_empty)
		return;
	jw_object(w);
	while (json_next(property, &it, &key, &v)) {
		if (axtree_is_word(key, STR("\"value\""))) {
			jw_key(w, "value");
			axtree_write_with_value(w, v, own->text);
		} else {
			axtree_write_member(w, key, v);
		}
	}
	jw_end(w);
}

static void axtree_write_properties(struct jw *w, const struct axtree_node *node)
{
	struct json_val v;
	bool found = false; /* mark.js sets the first of that name */
	int it = 0;

	jw_array(w);
	while (json_next(node->properties, &it, NULL, &v)) {
		if (!found &&
			axtree_is_word(json_get(v, "name"), STR("\"roledescription\""))) {
			found = true;
			axtree_write_role_text(w, &node->roledescription, v);
		} else {
			jw_raw(w, json_raw(v));
		}
	}
	jw_end(w);
}

static void axtree_write_children(
	struct jw *w, const struct axtree *t, const struct axtree_node *node)
{
	struct json_val v;
	int it = 0;

	jw_array(w);
	while (json_next(node->children, &it, NULL, &v))
		jw_raw(w, json_raw(v));
	if (node->frame_root)
		jw_str(w, t->node[node->frame_root].id);
	jw_end(w);
}

static void axtree_write_node(
	struct jw *w, const struct axtree *t, const struct axtree_node *node)
{
	struct json_val key, v;
	int it = 0;

	jw_object(w);
	while (json_next(node->raw, &it, &key, &v)) {
		if (axtree_is_word(key, STR("\"properties\""))) {
			jw_key(w, "properties");
			axtree_write_properties(w, node);
		} else if (axtree_is_word(key, STR("\"childIds\""))) {
			jw_key(w, "childIds");
			axtree_write_children(w, t, node);
		} else if (!axtree_is_word(key, STR("\"description\""))) {
			axtree_write_member(w, key, v);
		} else if (!node->description.is_empty) {
			jw_key(w, "description");
			axtree_write_with_value(w, v, node->description.text);
		}
	}
	if (node->bid.n) {
		jw_key(w, "browsergym_id");
		jw_str(w, node->bid);
	}
	jw_end(w);
}

int axtree_write(const struct axtree *t, struct jw *w)
{
	jw_object(w);
	jw_key(w, "nodes");
	jw_array(w);
	for (size_t i = 0; i < t->n; i++)
		axtree_write_node(w, t, &t->node[i]);
	jw_end(w);
	jw_end(w);
	return w->out->err;
}
