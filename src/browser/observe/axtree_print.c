/*
 * Prints the tree as lines of text:
 *	\t x depth  [bid] role 'name' value='...', property, property=value
 */
#include "browser/observe/axtree.h"

#include "base/utf8.h"
#include "browser/page/pyrepr.h"

#include <errno.h>

enum { AXTREE_WORDS_MAX = 32 << 20 }; /* bytes of the texts of one line, decoded */

/* The state of the walk in a node that it has entered. */
struct print_state {
	bool entered;   /* a second parent does not print the node again */
	bool inner_due; /* the frame in the node is still due, as its last child */
	bool filtered;
	int it;        /* iterator over its children */
	size_t parent; /* the node itself for the root */
	size_t depth;  /* of its children */
};

struct printer {
	const struct axtree *t;
	const struct props *props;
	const struct axtree_view *view;
	struct names ids;
	struct print_state *step;
	struct arena memory; /* for ids and step */
	struct arena words;  /* decoded strings of one line */
	struct buf *out;
	size_t start; /* where the text starts in out */
};

static bool axtree_print_is_any(struct str s, const char *const *words)
{
	for (; *words; words++)
		if (str_eq(s, str_c(*words)))
			return true;
	return false;
}

/* Whether v is true in Python. */
static bool axtree_print_is_true(struct json_val v)
{
	double d;
	bool b;

	switch (json_type(v)) {
	case JSON_BOOL:
		return !json_bool(v, &b) && b;
	case JSON_NUMBER:
		return !json_double(v, &d) && d != 0;
	case JSON_STRING:
		return json_raw(v).n > 2;
	case JSON_ARRAY:
	case JSON_OBJECT:
		return json_count(v) > 0;
	default:
		return false;
	}
}

/* Prints the value of a property. A data: URL is cut. */
static int axtree_print_put_value(struct printer *p, struct str name, struct json_val v)
{
	struct str url;
	int r;

	if (!str_eq(name, STR("url")) || !p->view->data_url ||
		json_type(v) != JSON_STRING)
		return pyrepr_put_value(p->out, v, &p->words);
	r = json_str(v, &p->words, &url);
	if (r)
		return r;
	if (str_starts(url, STR("data:")) && url.n > p->view->data_url) {
		struct str shown = str_make(url.p, p->view->data_url);
		size_t at = p->out->n;

		shown.n -= utf8_unfinished_length(shown);
		pyrepr_put_str(p->out, shown);
		if (!p->out->err) {
			char quote = p->out->p[at];

			p->out->n--;
			buf_puts(p->out, "...");
			buf_putc(p->out, quote);
		}
		return 0;
	}
	pyrepr_put_str(p->out, url);
	return 0;
}

static int axtree_print_put_property(
	struct printer *p, const struct axtree_node *node, struct json_val property)
{
	static const char *const unshown[] = {"editable", "readonly", "level", "settable",
		"multiline", "invalid", "focusable", NULL};
	static const char *const words[] = {"required", "focused", "atomic", NULL};
	struct json_val v = json_get(json_get(property, "value"), "value");
	struct str name;
	int r = json_str(json_get(property, "name"), &p->words, &name);

	if (r || json_type(v) == JSON_ABSENT || axtree_print_is_any(name, unshown))
		return r;
	if (axtree_print_is_any(name, words)) {
		if (axtree_print_is_true(v)) {
			buf_puts(p->out, ", ");
			buf_str(p->out, name);
		}
		return 0;
	}
	if (str_eq(name, STR("roledescription"))) {
		if (node->roledescription.is_empty)
			return 0;
		buf_puts(p->out, ", roledescription=");
		pyrepr_put_str(p->out, node->roledescription.text);
		return 0;
	}
	buf_puts(p->out, ", ");
	buf_str(p->out, name);
	buf_putc(p->out, '=');
	return axtree_print_put_value(p, name, v);
}

static int axtree_print_put_line(
	struct printer *p, const struct axtree_node *node, size_t depth)
{
	const struct props_row *row = props_find(p->props, node->bid);
	struct json_val v;
	int it = 0, r = 0;

	if (p->out->n > p->start)
		buf_putc(p->out, '\n');
	for (size_t i = 0; i < depth && !p->out->err; i++)
		buf_putc(p->out, '\t');
	if (node->bid.n)
		buf_fmt(p->out, "[%.*s] ", STR_ARG(node->bid));
	buf_str(p->out, node->role);
	if (node->name.n || !str_eq(node->role, STR("generic"))) {
		buf_putc(p->out, ' ');
		pyrepr_put_str(p->out, pyrepr_strip(node->name));
	}
	if (json_type(node->value) != JSON_ABSENT &&
		json_type(node->value) != JSON_NULL) {
		buf_puts(p->out, " value=");
		r = pyrepr_put_value(p->out, node->value, &p->words);
	}
	if (row && row->clickable && !str_eq(node->role, STR("StaticText")))
		buf_puts(p->out, ", clickable");
	while (!r && json_next(node->properties, &it, NULL, &v))
		r = axtree_print_put_property(p, node, v);
	arena_rewind(&p->words);
	return r ? r : p->out->err;
}

/* Whether the node is hidden because of its own position on the page. */
static bool axtree_print_is_filtered(
	const struct printer *p, const struct axtree_node *node)
{
	const struct props_row *row = props_find(p->props, node->bid);

	return p->view->visible_only && row && row->visibility < 0.5 &&
		!str_eq(node->role, STR("StaticText"));
}

/* Whether the node is printed; parent is NULL for the root. */
static bool axtree_print_is_shown(const struct printer *p, const struct axtree_node *node,
	const struct axtree_node *parent, bool filtered)
{
	struct str role = node->role;

	if (filtered || !node->named)
		return false;
	if (str_eq(role, STR("InlineTextBox")))
		return !p->view->no_inline;
	if (!str_eq(role, STR("StaticText")))
		return true;
	if (!parent)
		return node->name.n > 0;
	return !p->step[parent - p->t->node].filtered && node->name.n &&
		str_find(parent->name, node->name) == parent->name.n;
}

static int axtree_print_enter(struct printer *p, size_t at, size_t parent, size_t depth)
{
	const struct axtree_node *node = &p->t->node[at];
	bool filtered = node->named && axtree_print_is_filtered(p, node);
	bool shown = axtree_print_is_shown(
		p, node, parent == at ? NULL : &p->t->node[parent], filtered);

	p->step[at] = (struct print_state){
		.entered = true,
		.inner_due = node->frame_root > 0,
		.filtered = filtered,
		.parent = parent,
		.depth = depth + shown,
	};
	return shown ? axtree_print_put_line(p, node, depth) : 0;
}

/*
 * Finds the next child of a node that has not been entered. Returns 1; 0: there is none;
 * or an error.
 */
static int axtree_print_next_child(struct printer *p, size_t at, size_t *child)
{
	struct print_state *step = &p->step[at];
	const struct axtree_node *node = &p->t->node[at];
	struct json_val v;
	struct str id;
	int r;

	while (json_next(node->children, &step->it, NULL, &v)) {
		r = json_str(v, &p->words, &id);
		if (r)
			return r;
		if (!names_find(&p->ids, id, child) && !p->step[*child].entered)
			return 1;
	}
	*child = node->frame_root;
	if (!step->inner_due || p->step[*child].entered)
		return 0;
	step->inner_due = false;
	return 1;
}

/*
 * Visits the tree in depth-first order. The parent of the root is the root itself.
 * Recursion would be as deep as the page.
 */
static int axtree_print_walk(struct printer *p)
{
	size_t at = 0, child = 0;
	int r = axtree_print_enter(p, 0, 0, 0);

	while (!r) {
		r = axtree_print_next_child(p, at, &child);
		if (r > 0) {
			r = axtree_print_enter(p, child, at, p->step[at].depth);
			at = child;
		} else if (!r) {
			if (p->step[at].parent == at)
				return 0;
			at = p->step[at].parent;
		}
	}
	return r;
}

static int axtree_print_index_ids(struct printer *p)
{
	int r = names_init(&p->ids, p->t->n, &p->memory);

	if (r)
		return r;
	p->step = arena_array(&p->memory, p->t->n, sizeof(*p->step));
	if (!p->step)
		return -ENOMEM;
	for (size_t i = 0; i < p->t->n; i++)
		names_put(&p->ids, p->t->node[i].id, i);
	return 0;
}

int axtree_print(const struct axtree *t, const struct props *props,
	const struct axtree_view *view, struct buf *out)
{
	struct printer p = {
		.t = t,
		.props = props,
		.view = view,
		.out = out,
		.start = out->n,
	};
	int r;

	if (!t->n)
		return ERR_TYPE;
	/* A table of names has fewer than four rows per name. */
	arena_init(&p.memory,
		AXTREE_NODES_MAX *
			(sizeof(struct print_state) + 4 * sizeof(struct name)));
	arena_init(&p.words, AXTREE_WORDS_MAX);
	r = axtree_print_index_ids(&p);
	if (!r)
		r = axtree_print_walk(&p);
	arena_reset(&p.memory);
	arena_reset(&p.words);
	return r;
}
