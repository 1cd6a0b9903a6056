#include "browser/observe/props.h"

#include "base/float.h"

#include <errno.h>

/* A document to be read, and its position on the page. */
struct props_doc {
	size_t doc;
	double origin[2];
};

struct props_reader {
	struct props *p;
	const struct snapshot *s;
	struct arena *a;
	struct props_doc *todo; /* a stack */
	size_t todo_n;
	bool *seen; /* documents that were pushed */
};

/* Parses a visibility of mark.js. Any other text is from the page: unknown (-1). */
static double props_parse_visibility(struct str s)
{
	char text[8];
	double v;

	if (!s.n || s.n >= sizeof(text) || (s.p[0] != '0' && s.p[0] != '1'))
		return -1;
	for (size_t i = 1; i < s.n; i++)
		if (i == 1 ? s.p[i] != '.' : s.p[i] < '0' || s.p[i] > '9')
			return -1;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return float_read(text, &v) ? -1 : v;
}

static void props_read_attrs(
	const struct snapshot *s, const struct snapshot_node *node, struct props_row *row)
{
	for (size_t i = 0; i < node->attrs_n; i++) {
		struct str name = snapshot_get_string(s, node->attr[i].name);
		struct str value = snapshot_get_string(s, node->attr[i].value);

		if (str_eq(name, STR("bid")))
			row->bid = names_is_bid(value) ? value : STR("");
		else if (str_eq(name, STR("browsergym_visibility_ratio")))
			row->visibility = props_parse_visibility(value);
		else if (str_eq(name, STR("browsergym_set_of_marks")))
			row->set_of_marks =
				str_eq(value, STR("1")) ? PROPS_MARKED : PROPS_UNMARKED;
	}
}

/* Sets the position of a frame's element on the page. Without a box it is kept. */
static void props_find_frame_origin(const struct snapshot_doc *parent,
	const struct props_doc *at, size_t node, double origin[2])
{
	for (size_t i = 0; i < parent->boxes_n; i++) {
		if (parent->box[i].node != node)
			continue;
		origin[0] = at->origin[0] + parent->box[i].bounds[0];
		origin[1] = at->origin[1] + parent->box[i].bounds[1];
		return;
	}
}

/* Pushes the documents in the frames of a document. Each is in one frame at most. */
static void props_push_frames(struct props_reader *r, const struct props_doc *at)
{
	const struct snapshot_doc *d = &r->s->doc[at->doc];

	for (size_t i = 0; i < d->nodes_n; i++) {
		int32_t child = d->node[i].frame;
		struct props_doc *next;

		if (child < 0 || r->seen[child])
			continue;
		r->seen[child] = true;
		next = &r->todo[r->todo_n++];
		*next = (struct props_doc){.doc = (size_t)child};
		props_find_frame_origin(d, at, i, next->origin);
		next->origin[0] -= r->s->doc[child].scroll[0];
		next->origin[1] -= r->s->doc[child].scroll[1];
	}
}

/* Sets the boxes of a document's elements, by index of the node. */
static int props_read_boxes(
	struct props_reader *r, const struct props_doc *at, const double **place)
{
	const struct snapshot_doc *d = &r->s->doc[at->doc];
	double(*bbox)[4] = arena_array(r->a, d->boxes_n, sizeof(*bbox));

	if (d->boxes_n && !bbox)
		return -ENOMEM;
	for (size_t i = 0; i < d->boxes_n; i++) {
		const struct snapshot_box *box = &d->box[i];

		memcpy(bbox[i], box->bounds, sizeof(bbox[i]));
		bbox[i][0] += at->origin[0];
		bbox[i][1] += at->origin[1];
		place[box->node] = box->rendered ? bbox[i] : NULL;
	}
	return 0;
}

static int props_read_doc(struct props_reader *r, const struct props_doc *at)
{
	const struct snapshot_doc *d = &r->s->doc[at->doc];
	const double **place = arena_array(r->a, d->nodes_n, sizeof(double *));
	int err;

	if (d->nodes_n && !place)
		return -ENOMEM;
	err = props_read_boxes(r, at, place);
	for (size_t i = 0; !err && i < d->nodes_n; i++) {
		struct props_row row = {
			.visibility = -1,
			.bbox = place[i],
			.clickable = d->node[i].clickable,
		};

		props_read_attrs(r->s, &d->node[i], &row);
		if (row.bid.n)
			r->p->row[r->p->n++] = row;
	}
	return err;
}

static int props_read_docs(struct props_reader *r)
{
	struct props_doc at;
	int err = 0;

	r->seen[0] = true;
	r->todo[r->todo_n++] = (struct props_doc){
		.origin = {-r->s->doc[0].scroll[0], -r->s->doc[0].scroll[1]},
	};
	while (!err && r->todo_n) {
		at = r->todo[--r->todo_n];
		props_push_frames(r, &at);
		err = props_read_doc(r, &at);
	}
	return err;
}

int props_read(struct props *p, const struct snapshot *s, struct arena *a)
{
	struct props got = {0};
	struct props_reader r = {.p = &got, .s = s, .a = a};
	size_t nodes = 0;
	int err;

	for (size_t i = 0; i < s->docs_n; i++)
		nodes += s->doc[i].nodes_n;
	got.row = arena_array(a, nodes, sizeof(*got.row));
	r.todo = arena_array(a, s->docs_n, sizeof(*r.todo));
	r.seen = arena_array(a, s->docs_n, sizeof(*r.seen));
	if ((nodes && !got.row) || !r.todo || !r.seen)
		return -ENOMEM;
	err = props_read_docs(&r);
	if (!err)
		err = names_init(&got.by_bid, got.n, a);
	if (err)
		return err;
	for (size_t i = 0; i < got.n; i++)
		names_put(&got.by_bid, got.row[i].bid, i);
	*p = got;
	return 0;
}

const struct props_row *props_find(const struct props *p, struct str bid)
{
	size_t at;

	return names_find(&p->by_bid, bid, &at) ? NULL : &p->row[at];
}

static void props_write_row(const struct props_row *row, struct jw *w)
{
	jw_object(w);
	jw_key(w, "visibility");
	if (row->visibility < 0)
		jw_null(w);
	else
		jw_double(w, row->visibility);
	jw_key(w, "bbox");
	if (row->bbox) {
		jw_array(w);
		for (size_t i = 0; i < 4; i++)
			jw_double(w, row->bbox[i]);
		jw_end(w);
	} else {
		jw_null(w);
	}
	jw_key(w, "clickable");
	jw_bool(w, row->clickable);
	jw_key(w, "set_of_marks");
	if (row->set_of_marks == PROPS_UNKNOWN)
		jw_null(w);
	else
		jw_bool(w, row->set_of_marks == PROPS_MARKED);
	jw_end(w);
}

void props_write(const struct props *p, struct jw *w)
{
	jw_object(w);
	for (size_t i = 0; i < p->n; i++) {
		if (props_find(p, p->row[i].bid) != &p->row[i])
			continue; /* a later element has the same bid */
		jw_key_str(w, p->row[i].bid);
		props_write_row(&p->row[i], w);
	}
	jw_end(w);
}
