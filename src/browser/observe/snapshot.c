#include "browser/observe/snapshot.h"

#include <errno.h>

struct str snapshot_get_string(const struct snapshot *s, int32_t at)
{
	return at < 0 ? str_c(NULL) : s->string[at];
}

bool snapshot_attr(const struct snapshot *s, const struct snapshot_node *node,
	struct str name, struct str *value)
{
	for (size_t i = 0; i < node->attrs_n; i++) {
		if (!str_eq(snapshot_get_string(s, node->attr[i].name), name))
			continue;
		*value = snapshot_get_string(s, node->attr[i].value);
		return true;
	}
	return false;
}

/* Reads an index from -1 up to, not including, end. */
static int snapshot_read_index(struct json_val v, size_t end, int32_t *out)
{
	int64_t n;
	int r = json_i64(v, &n);

	if (r)
		return r;
	if (n < -1 || n >= (int64_t)end || n > INT32_MAX)
		return ERR_RANGE;
	*out = (int32_t)n;
	return 0;
}

static int snapshot_read_strings(
	struct snapshot *s, struct json_val list, struct arena *a)
{
	size_t n = json_count(list);
	struct json_val v;
	int it = 0, r;

	s->string = arena_array(a, n, sizeof(*s->string));
	if (n && !s->string)
		return -ENOMEM;
	while (json_next(list, &it, NULL, &v)) {
		r = json_str(v, a, &s->string[s->strings_n++]);
		if (r)
			return r;
	}
	return 0;
}

/* Reads a column of the nodes into the int32_t field at offset. */
static int snapshot_read_column(
	struct snapshot_doc *d, struct json_val column, size_t offset, size_t end)
{
	struct json_val v;
	size_t n = 0;
	int it = 0, r;

	if (json_count(column) != d->nodes_n)
		return ERR_TYPE;
	while (json_next(column, &it, NULL, &v)) {
		char *node = (char *)&d->node[n++];

		r = snapshot_read_index(v, end, (int32_t *)(void *)(node + offset));
		if (r)
			return r;
	}
	return 0;
}

static int snapshot_read_attrs(const struct snapshot *s, struct snapshot_node *node,
	struct json_val list, struct arena *a)
{
	size_t n = json_count(list) / 2;
	struct snapshot_attr *attr;
	struct json_val name, value;
	int it = 0, r = 0;

	if (!n)
		return 0;
	attr = arena_array(a, n, sizeof(*attr));
	if (!attr)
		return -ENOMEM;
	node->attr = attr;
	for (; !r && json_next(list, &it, NULL, &name) &&
		json_next(list, &it, NULL, &value);
		node->attrs_n++) {
		r = snapshot_read_index(name, s->strings_n, &attr[node->attrs_n].name);
		if (!r)
			r = snapshot_read_index(
				value, s->strings_n, &attr[node->attrs_n].value);
	}
	return r;
}

static int snapshot_read_attr_column(const struct snapshot *s, struct snapshot_doc *d,
	struct json_val column, struct arena *a)
{
	struct json_val v;
	size_t n = 0;
	int it = 0, r = 0;

	if (json_count(column) != d->nodes_n)
		return ERR_TYPE;
	while (!r && json_next(column, &it, NULL, &v))
		r = snapshot_read_attrs(s, &d->node[n++], v, a);
	return r;
}

/* The node that an element of a sparse list names; NULL if there is no such node. */
static struct snapshot_node *snapshot_find_node(struct snapshot_doc *d, struct json_val v)
{
	int32_t at;

	return snapshot_read_index(v, d->nodes_n, &at) || at < 0 ? NULL : &d->node[at];
}

static int snapshot_read_frames(
	const struct snapshot *s, struct snapshot_doc *d, struct json_val pairs)
{
	struct json_val node_at, doc_at;
	int i = 0, k = 0, r = 0;

	while (!r && json_next(json_get(pairs, "index"), &i, NULL, &node_at) &&
		json_next(json_get(pairs, "value"), &k, NULL, &doc_at)) {
		struct snapshot_node *node = snapshot_find_node(d, node_at);

		r = node ? snapshot_read_index(doc_at, s->docs_n, &node->frame)
			 : ERR_RANGE;
	}
	return r;
}

static int snapshot_read_flags(struct snapshot_doc *d, struct json_val nodes)
{
	struct json_val v, pseudo = json_get(json_get(nodes, "pseudoType"), "index");
	struct json_val clickable = json_get(json_get(nodes, "isClickable"), "index");
	struct snapshot_node *node;
	int it;

	for (it = 0; json_next(clickable, &it, NULL, &v); node->clickable = true) {
		node = snapshot_find_node(d, v);
		if (!node)
			return ERR_RANGE;
	}
	for (it = 0; json_next(pseudo, &it, NULL, &v); node->pseudo = true) {
		node = snapshot_find_node(d, v);
		if (!node)
			return ERR_RANGE;
	}
	return 0;
}

static int snapshot_read_nodes(const struct snapshot *s, struct snapshot_doc *d,
	struct json_val nodes, struct arena *a)
{
	const struct {
		const char *key;
		size_t offset;
		size_t end;
	} column[] = {
		{"parentIndex", offsetof(struct snapshot_node, parent), SIZE_MAX / 2},
		{"nodeType", offsetof(struct snapshot_node, type), SIZE_MAX / 2},
		{"nodeName", offsetof(struct snapshot_node, name), s->strings_n},
		{"nodeValue", offsetof(struct snapshot_node, value), s->strings_n},
	};
	int r = 0;

	d->nodes_n = json_count(json_get(nodes, "parentIndex"));
	d->node = arena_array(a, d->nodes_n, sizeof(*d->node));
	if (d->nodes_n && !d->node)
		return -ENOMEM;
	for (size_t i = 0; !r && i < ARRAY_LEN(column); i++)
		r = snapshot_read_column(d, json_get(nodes, column[i].key),
			column[i].offset, column[i].end);
	for (size_t i = 0; !r && i < d->nodes_n; i++) {
		d->node[i].frame = -1;
		if (d->node[i].parent >= (int64_t)i)
			r = ERR_RANGE;
	}
	if (!r)
		r = snapshot_read_attr_column(s, d, json_get(nodes, "attributes"), a);
	if (!r)
		r = snapshot_read_frames(s, d, json_get(nodes, "contentDocumentIndex"));
	return r ? r : snapshot_read_flags(d, nodes);
}

static int snapshot_read_bounds(struct json_val list, double bounds[4])
{
	struct json_val v;
	int it = 0, r = 0;

	for (size_t i = 0; !r && i < 4; i++)
		r = json_next(list, &it, NULL, &v) ? json_double(v, &bounds[i])
						   : ERR_TYPE;
	return r;
}

static int snapshot_read_layout(
	struct snapshot_doc *d, struct json_val layout, struct arena *a)
{
	struct json_val nodes = json_get(layout, "nodeIndex"), node;
	struct json_val all_bounds = json_get(layout, "bounds"), bounds;
	struct json_val all_rects = json_get(layout, "clientRects"), rect;
	size_t n = json_count(nodes);
	int i = 0, k = 0, m = 0, r = 0;

	d->box = arena_array(a, n, sizeof(*d->box));
	if (n && !d->box)
		return -ENOMEM;
	while (!r && json_next(nodes, &i, NULL, &node)) {
		struct snapshot_node *found = snapshot_find_node(d, node);
		struct snapshot_box *box = &d->box[d->boxes_n++];

		if (!found || !json_next(all_bounds, &k, NULL, &bounds) ||
			!json_next(all_rects, &m, NULL, &rect))
			return ERR_TYPE;
		box->node = (size_t)(found - d->node);
		box->rendered = json_count(rect) > 0;
		r = snapshot_read_bounds(bounds, box->bounds);
	}
	return r;
}

static int snapshot_read_doc(const struct snapshot *s, struct snapshot_doc *d,
	struct json_val doc, struct arena *a)
{
	int r = snapshot_read_nodes(s, d, json_get(doc, "nodes"), a);

	if (!r)
		r = snapshot_read_layout(d, json_get(doc, "layout"), a);
	if (!r)
		r = json_double(json_get(doc, "scrollOffsetX"), &d->scroll[0]);
	if (!r)
		r = json_double(json_get(doc, "scrollOffsetY"), &d->scroll[1]);
	return r;
}

int snapshot_read(struct snapshot *s, struct json_val reply, struct arena *a)
{
	struct json_val docs = json_get(reply, "documents"), doc;
	struct snapshot got = {.docs_n = json_count(docs)};
	size_t n = 0;
	int it = 0, r;

	if (!got.docs_n)
		return ERR_TYPE;
	r = snapshot_read_strings(&got, json_get(reply, "strings"), a);
	if (r)
		return r;
	got.doc = arena_array(a, got.docs_n, sizeof(*got.doc));
	if (!got.doc)
		return -ENOMEM;
	while (!r && json_next(docs, &it, NULL, &doc))
		r = snapshot_read_doc(&got, &got.doc[n++], doc, a);
	if (!r)
		*s = got;
	return r;
}
