/*
 * Snapshots of documents that are written as strict markup: <p id="x">text<br/></p>.
 * An element <frame n="1"> has the document of that number in it; a name that begins
 * with "::" is a pseudo-element's; box="x y w h" and its twin norect="x y w h" place it.
 */
#ifndef TESTS_SNAPSHOT_MAKE_H
#define TESTS_SNAPSHOT_MAKE_H

#include "base/json.h"
#include "base/jw.h"

#include <assert.h>
#include <stdlib.h>

enum { MADE_NODES = 4000, MADE_ATTRS = 8 };

struct made_attr {
	struct str name, value;
};

struct made_node {
	int parent, type;
	struct str name, value;
	struct made_attr attr[MADE_ATTRS];
	int attrs_n;
};

struct made {
	struct made_node node[MADE_NODES];
	int n;
	int strings;
	struct buf texts; /* JSON of the strings */
};

static inline struct made_node *made_add(
	struct made *m, int parent, int type, struct str name, struct str value)
{
	struct made_node *node = &m->node[m->n++];

	assert(m->n < MADE_NODES);
	*node = (struct made_node){
		.parent = parent, .type = type, .name = name, .value = value};
	return node;
}

static inline void made_open(struct made *m, struct str *s, int *parent)
{
	struct made_node *node;
	size_t n = 0;

	while (!strchr(" />", s->p[n]))
		n++;
	node = made_add(m, *parent, 1, str_make(s->p, n), str_c(NULL));
	*s = str_skip(*s, n);
	while (s->p[0] == ' ') {
		struct made_attr *attr = &node->attr[node->attrs_n++];

		*s = str_skip(*s, 1);
		attr->name = str_cut(s, '=');
		*s = str_skip(*s, 1);
		attr->value = str_cut(s, '"');
	}
	if (s->p[0] == '/')
		*s = str_skip(*s, 1);
	else
		*parent = m->n - 1;
	*s = str_skip(*s, 1);
}

static inline void made_parse(struct made *m, struct str s)
{
	int at = 0;

	m->n = 0;
	made_add(m, -1, 9, STR("#document"), str_c(NULL));
	while (s.n) {
		size_t n = str_find_byte(s, '<');

		if (n) {
			made_add(m, at, 3, STR("#text"), str_make(s.p, n));
			s = str_skip(s, n);
		} else if (str_starts(s, STR("</"))) {
			str_cut(&s, '>');
			at = m->node[at].parent;
		} else {
			s = str_skip(s, 1);
			made_open(m, &s, &at);
		}
	}
}

static inline int made_string(struct made *m, struct str s)
{
	struct jw w;

	if (m->strings)
		buf_putc(&m->texts, ',');
	jw_init(&w, &m->texts);
	jw_str(&w, s);
	return m->strings++;
}

/* A number for each node, as the member of that name. */
#define MADE_COLUMN(w, m, key, expression) \
	do { \
		jw_key(w, key); \
		jw_array(w); \
		for (struct made_node *node = (m)->node; node < (m)->node + (m)->n; \
			node++) \
			jw_int(w, (expression)); \
		jw_end(w); \
	} while (0)

static inline struct str made_attr(const struct made_node *node, const char *name)
{
	for (int i = 0; i < node->attrs_n; i++)
		if (str_eq(node->attr[i].name, str_c(name)))
			return node->attr[i].value;
	return str_c(NULL);
}

/* {"index": [...]} of the nodes for which it holds. */
#define MADE_INDEX(w, m, key, expression) \
	do { \
		jw_key(w, key); \
		jw_object(w); \
		jw_key(w, "index"); \
		jw_array(w); \
		for (struct made_node *node = (m)->node; node < (m)->node + (m)->n; \
			node++) \
			if (expression) \
				jw_int(w, node - (m)->node); \
		jw_end(w); \
		jw_end(w); \
	} while (0)

static inline bool made_pseudo(const struct made_node *node)
{
	return str_starts(node->name, STR("::"));
}

static inline void made_write_frames(struct jw *w, const struct made *m)
{
	static const char *const parts[] = {"index", "value"};

	jw_key(w, "contentDocumentIndex");
	jw_object(w);
	for (int part = 0; part < 2; part++) {
		jw_key(w, parts[part]);
		jw_array(w);
		for (int i = 0; i < m->n; i++) {
			struct str n = made_attr(&m->node[i], "n");

			if (str_eq(m->node[i].name, STR("frame")))
				jw_int(w, part ? strtol(n.p, NULL, 10) : i);
		}
		jw_end(w);
	}
	jw_end(w);
}

static inline void made_write_nodes(struct jw *w, struct made *m)
{
	jw_key(w, "nodes");
	jw_object(w);
	MADE_COLUMN(w, m, "parentIndex", node->parent);
	MADE_COLUMN(w, m, "nodeType", node->type);
	MADE_COLUMN(w, m, "nodeName", made_string(m, node->name));
	MADE_COLUMN(w, m, "nodeValue", node->value.n ? made_string(m, node->value) : -1);
	jw_key(w, "attributes");
	jw_array(w);
	for (int i = 0; i < m->n; i++) {
		jw_array(w);
		for (int k = 0; k < m->node[i].attrs_n; k++) {
			jw_int(w, made_string(m, m->node[i].attr[k].name));
			jw_int(w, made_string(m, m->node[i].attr[k].value));
		}
		jw_end(w);
	}
	jw_end(w);
	MADE_INDEX(w, m, "isClickable", made_attr(node, "clickable").n);
	MADE_INDEX(w, m, "pseudoType", made_pseudo(node));
	made_write_frames(w, m);
	jw_end(w);
}

static inline void made_write_numbers(struct jw *w, struct str list)
{
	jw_array(w);
	while (list.n)
		jw_raw(w, str_cut(&list, ' '));
	jw_end(w);
}

static inline void made_write_layout(struct jw *w, const struct made *m)
{
	static const char *const parts[] = {"nodeIndex", "bounds", "clientRects"};

	jw_key(w, "layout");
	jw_object(w);
	for (int part = 0; part < 3; part++) {
		jw_key(w, parts[part]);
		jw_array(w);
		for (int i = 0; i < m->n; i++) {
			struct str box = made_attr(&m->node[i], "box");
			struct str norect = made_attr(&m->node[i], "norect");

			if (!box.n && !norect.n)
				continue;
			if (!part)
				jw_int(w, i);
			else
				made_write_numbers(
					w, part == 1 && norect.n ? norect : box);
		}
		jw_end(w);
	}
	jw_end(w);
}

/* The whole snapshot in out; the number of a document is its scroll offset, x and 2 x. */
static inline void made_write(struct buf *out, const char *const *docs, int docs_n)
{
	struct made *m = calloc(1, sizeof(*m));
	struct jw w;

	assert(m);
	buf_init(&m->texts, 4 << 20);
	buf_reset(out);
	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "documents");
	jw_array(&w);
	for (int i = 0; i < docs_n; i++) {
		made_parse(m, str_c(docs[i]));
		jw_object(&w);
		made_write_nodes(&w, m);
		made_write_layout(&w, m);
		jw_key(&w, "scrollOffsetX");
		jw_int(&w, i);
		jw_key(&w, "scrollOffsetY");
		jw_int(&w, 2 * i);
		jw_end(&w);
	}
	jw_end(&w);
	jw_key(&w, "strings");
	buf_putc(&m->texts, ']');
	buf_putc(out, '[');
	buf_str(out, buf_view(&m->texts));
	buf_putc(out, '}');
	buf_free(&m->texts);
	free(m);
}

#endif
