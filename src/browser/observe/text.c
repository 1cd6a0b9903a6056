#include "browser/observe/text.h"

#include "browser/observe/prose.h"

#include <errno.h>
#include <stdio.h>

/* A node of the walk. The nodes of all documents are one array, and one tree. */
struct place {
	const struct snapshot_doc *doc;
	const struct snapshot_node *node;
	size_t parent; /* an index; 0, the root of the page, means none */
	size_t first;  /* child, an index */
	size_t last;
	size_t next;    /* child of the same parent, an index */
	size_t mark;    /* saved value of list, row or pre */
	int64_t number; /* of the last item of a list */
};

struct walk;

typedef void tag_fn(struct walk *w, struct place *at);

/* The functions for the start and the end of a kind of element. */
struct kind {
	const char *names; /* of its elements */
	tag_fn *open;
	tag_fn *close;
	const char *sign; /* Markdown sign on both sides, or NULL */
};

struct walk {
	const struct snapshot *s;
	struct place *place;
	size_t places_n;
	uint8_t *kind; /* tag_kind of each string; 0: not looked up yet */
	struct prose p;
	bool words;     /* the last byte is a letter or digit of the page */
	size_t list;    /* the innermost open list */
	unsigned lists; /* open lists */
	unsigned links; /* open links */
	unsigned code;  /* open code elements */
	bool row;       /* in a table's row, from its first cell on */
	bool head_row;  /* the row is the table's first */
	unsigned cells; /* in the row so far */
};

/* --- Elements --------------------------------------------------------------------- */

static void open_block(struct walk *w, struct place *at)
{
	(void)at;
	/* A sign is on the same line as its text. */
	if (!w->p.swallow)
		prose_break(&w->p, 2);
}

static void close_block(struct walk *w, struct place *at)
{
	(void)at;
	prose_break(&w->p, 2);
}

/* Separates words before and after an element by a blank. */
static void apart(struct walk *w, struct place *at)
{
	(void)at;
	prose_words(&w->p, STR(" "), false);
}

/* A block, except where a line of its own would break a link or a table's row. */
static void open_soft(struct walk *w, struct place *at)
{
	if (w->links || w->row)
		apart(w, at);
	else
		open_block(w, at);
}

static void close_soft(struct walk *w, struct place *at)
{
	if (w->links || w->row)
		apart(w, at);
	else
		close_block(w, at);
}

static void heading(struct walk *w, struct place *at)
{
	static const char sign[] = "###### ";
	struct str name = snapshot_string(w->s, at->node->name);

	open_block(w, at);
	prose_open(&w->p, str_c(sign + ('6' - name.p[1])));
}

static const struct kind *kind_of(struct walk *w, const struct snapshot_node *node);

/* A sign on both sides of the text. There is none if there is no text. */
static void open_sign(struct walk *w, struct place *at)
{
	prose_open(&w->p, str_c(kind_of(w, at->node)->sign));
}

static void close_sign(struct walk *w, struct place *at)
{
	struct str sign = str_c(kind_of(w, at->node)->sign);

	if (w->p.swallow && !w->p.out->err) {
		/*
		 * There was no text, so the sign is removed. The blank before it stays.
		 */
		w->p.out->n -= sign.n;
		w->p.swallow = false;
		return;
	}
	prose_close(&w->p, sign);
	w->words = false;
}

/* Like open_sign. Right after a letter the sign would be part of the word. */
static void open_emphasis(struct walk *w, struct place *at)
{
	if (w->words)
		apart(w, at);
	open_sign(w, at);
}

static void open_code(struct walk *w, struct place *at)
{
	w->code++;
	if (!w->p.pre)
		open_sign(w, at);
}

static void close_code(struct walk *w, struct place *at)
{
	w->code--;
	if (!w->p.pre)
		close_sign(w, at);
}

static void rule(struct walk *w, struct place *at)
{
	open_block(w, at);
	prose_sign(&w->p, STR("* * *"));
	close_block(w, at);
}

static void line(struct walk *w, struct place *at)
{
	(void)at;
	prose_line(&w->p);
}

static void open_quote(struct walk *w, struct place *at)
{
	open_block(w, at);
	w->p.quotes++;
}

static void close_quote(struct walk *w, struct place *at)
{
	close_block(w, at);
	w->p.quotes--;
}

static void open_pre(struct walk *w, struct place *at)
{
	open_block(w, at);
	at->mark = w->p.pre;
	w->p.pre = true;
}

static void close_pre(struct walk *w, struct place *at)
{
	w->p.pre = at->mark;
	close_block(w, at);
}

/* --- Lists ------------------------------------------------------------------------ */

static int64_t list_start(const struct walk *w, const struct place *at)
{
	struct str text;
	int64_t n;

	if (snapshot_attr(w->s, at->node, STR("start"), &text) && !str_i64(text, &n) &&
		n > INT32_MIN && n < INT32_MAX)
		return n;
	return 1;
}

static void open_list(struct walk *w, struct place *at)
{
	prose_break(&w->p, w->lists ? 1 : 2);
	at->mark = w->list;
	at->number = list_start(w, at) - 1;
	w->list = (size_t)(at - w->place);
	w->lists++;
}

static void close_list(struct walk *w, struct place *at)
{
	w->list = at->mark;
	w->lists--;
	prose_break(&w->p, w->lists ? 1 : 2);
}

static void open_item(struct walk *w, struct place *at)
{
	struct place *list = &w->place[w->list];
	char sign[32];

	(void)at;
	prose_break(&w->p, 1);
	for (unsigned i = 0; i < w->lists && !w->p.out->err; i++)
		prose_sign(&w->p, STR("  "));
	if (w->lists && str_eq_nocase(snapshot_string(w->s, list->node->name), STR("ol")))
		snprintf(sign, sizeof(sign), "%lld. ", (long long)++list->number);
	else
		snprintf(sign, sizeof(sign), "* ");
	prose_open(&w->p, str_c(sign));
}

static void close_line(struct walk *w, struct place *at)
{
	(void)at;
	prose_break(&w->p, 1);
}

static void open_definition(struct walk *w, struct place *at)
{
	close_line(w, at);
	prose_open(&w->p, STR("    "));
}

/* --- Tables ----------------------------------------------------------------------- */

static void open_table(struct walk *w, struct place *at)
{
	at->mark = w->row;
	w->row = false;
	w->head_row = true;
	open_block(w, at);
}

static void close_table(struct walk *w, struct place *at)
{
	w->row = at->mark;
	w->head_row = false;
	close_soft(w, at);
}

static void open_row(struct walk *w, struct place *at)
{
	close_line(w, at);
	w->row = false;
	w->cells = 0;
}

static void close_row(struct walk *w, struct place *at)
{
	w->row = false;
	if (w->cells)
		line(w, at);
	if (!w->head_row || !w->cells)
		return;
	w->head_row = false;
	for (unsigned i = 0; i < w->cells; i++)
		prose_sign(&w->p, i ? STR("|---") : STR("---"));
	line(w, at);
}

static void open_cell(struct walk *w, struct place *at)
{
	if (w->row) {
		apart(w, at);
		prose_open(&w->p, STR("| "));
	}
	w->row = true;
	w->cells++;
}

/* --- Links ------------------------------------------------------------------------ */

static bool link_target(const struct walk *w, const struct place *at, struct str *href)
{
	return snapshot_attr(w->s, at->node, STR("href"), href) &&
		!str_starts(*href, STR("#"));
}

static void open_link(struct walk *w, struct place *at)
{
	struct str href;

	if (!link_target(w, at, &href))
		return;
	w->links++;
	prose_open(&w->p, STR("["));
}

/* Within a link, characters that would end it early are escaped by a backslash. */
static void put_escaped(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (strchr("\\[]()", s.p[i]) && s.p[i])
			buf_putc(out, '\\');
		buf_putc(out, s.p[i]);
	}
}

static void close_link(struct walk *w, struct place *at)
{
	struct buf *out = w->p.out;
	struct str href, title;

	if (!link_target(w, at, &href))
		return;
	w->links--;
	w->p.swallow = false;
	prose_close(&w->p, STR("]("));
	put_escaped(out, href);
	if (snapshot_attr(w->s, at->node, STR("title"), &title) &&
		str_trim(title, " \t\r\n").n) {
		buf_puts(out, " \"");
		put_escaped(out, title);
		buf_putc(out, '"');
	}
	buf_putc(out, ')');
	w->words = false;
}

/* --- The walk --------------------------------------------------------------------- */

enum tag_kind {
	UNKNOWN, /* not looked up yet */
	OTHER,   /* only its children count */
	UNSEEN,  /* ignored with its children */
	LINK,
	SOFT_BLOCK,
	STRONG,
	QUOTE,
	LINE,
	APART,
	CODE,
	DEFINITION,
	STRUCK,
	BLOCK,
	TERM,
	EMPHASIS,
	HEADING,
	RULE,
	ITEM,
	LIST,
	PRE,
	QUOTED,
	TABLE,
	CELL,
	ROW,
};

static const struct kind kinds[] = {
	[UNSEEN] = {"noscript script style template", NULL, NULL, NULL},
	[LINK] = {"a", open_link, close_link, NULL},
	[SOFT_BLOCK] = {"address article aside caption center details dialog div "
			"fieldset figcaption figure footer form header hgroup legend "
			"main nav p section summary",
		open_soft, close_soft, NULL},
	[STRONG] = {"b strong", open_sign, close_sign, "**"},
	[QUOTE] = {"blockquote", open_quote, close_quote, NULL},
	[LINE] = {"br", line, NULL, NULL},
	[APART] = {"button iframe input label optgroup option select textarea title",
		apart, apart, NULL},
	[CODE] = {"code kbd tt", open_code, close_code, "`"},
	[DEFINITION] = {"dd", open_definition, close_line, NULL},
	[STRUCK] = {"del s strike", open_sign, close_sign, "~~"},
	[BLOCK] = {"dl", open_block, close_block, NULL},
	[TERM] = {"dt", NULL, close_line, NULL},
	[EMPHASIS] = {"em i u", open_emphasis, close_sign, "_"},
	[HEADING] = {"h1 h2 h3 h4 h5 h6", heading, close_block, NULL},
	[RULE] = {"hr", rule, NULL, NULL},
	[ITEM] = {"li", open_item, close_line, NULL},
	[LIST] = {"ol ul", open_list, close_list, NULL},
	[PRE] = {"pre", open_pre, close_pre, NULL},
	[QUOTED] = {"q", open_sign, close_sign, "\""},
	[TABLE] = {"table", open_table, close_table, NULL},
	[CELL] = {"td th", open_cell, NULL, NULL},
	[ROW] = {"tr", open_row, close_row, NULL},
};

static enum tag_kind look_up(struct str name)
{
	for (enum tag_kind kind = UNSEEN; kind < ARRAY_LEN(kinds); kind++) {
		struct str names = str_c(kinds[kind].names);

		while (names.n)
			if (str_eq_nocase(str_cut(&names, ' '), name))
				return kind;
	}
	return OTHER;
}

static const struct kind *kind_of(struct walk *w, const struct snapshot_node *node)
{
	uint8_t *kind;

	if (node->name < 0)
		return &kinds[OTHER];
	kind = &w->kind[node->name];
	if (*kind == UNKNOWN)
		*kind = (uint8_t)look_up(snapshot_string(w->s, node->name));
	return &kinds[*kind];
}

static bool is_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		(c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

static void put_text(struct walk *w, const struct snapshot_node *node)
{
	struct str text = snapshot_string(w->s, node->value);

	prose_words(&w->p, text, !w->code);
	if (text.n)
		w->words = is_letter(text.p[text.n - 1]);
}

/* The head of the main document is not shown. Titles of documents in frames are. */
static bool is_skipped(struct walk *w, const struct place *at)
{
	struct str name = snapshot_string(w->s, at->node->name);

	if (at->node->type == SNAPSHOT_ELEMENT)
		return at->node->pseudo || kind_of(w, at->node) == &kinds[UNSEEN] ||
			(at->doc == w->s->doc && str_eq_nocase(name, STR("head")));
	return at->node->type != SNAPSHOT_TEXT && !at->first;
}

static void enter(struct walk *w, struct place *at)
{
	const struct kind *kind = kind_of(w, at->node);

	if (at->node->type == SNAPSHOT_TEXT)
		put_text(w, at->node);
	else if (at->node->type == SNAPSHOT_ELEMENT && kind->open)
		kind->open(w, at);
}

static void leave(struct walk *w, struct place *at)
{
	const struct kind *kind = kind_of(w, at->node);

	if (at->node->type == SNAPSHOT_ELEMENT && kind->close)
		kind->close(w, at);
}

static void walk_all(struct walk *w)
{
	struct place *at = w->place;

	for (;;) {
		bool skipped = is_skipped(w, at);

		if (!skipped)
			enter(w, at);
		if (!skipped && at->first) {
			at = &w->place[at->first];
			continue;
		}
		if (!skipped)
			leave(w, at);
		while (!at->next) {
			if (at == w->place)
				return;
			at = &w->place[at->parent];
			leave(w, at);
		}
		at = &w->place[at->next];
	}
}

static void add_child(struct walk *w, size_t parent, size_t child)
{
	struct place *p = &w->place[parent];

	w->place[child].parent = parent;
	if (p->first)
		w->place[p->last].next = child;
	else
		p->first = child;
	p->last = child;
}

/* Links the children of each node in order, with the document of a frame after them. */
static void link_all(struct walk *w, const size_t *base)
{
	for (size_t d = 0; d < w->s->docs_n; d++) {
		const struct snapshot_doc *doc = &w->s->doc[d];

		for (size_t i = 0; i < doc->nodes_n; i++) {
			struct place *at = &w->place[base[d] + i];

			at->doc = doc;
			at->node = &doc->node[i];
			if (at->node->parent >= 0)
				add_child(w, base[d] + (size_t)at->node->parent,
					base[d] + i);
		}
	}
	/* Index 0 is no element: as a parent it would mean none. */
	for (size_t i = 1; i < w->places_n; i++) {
		int32_t frame = w->place[i].node->frame;
		size_t root = frame > 0 ? base[frame] : 0;

		/* A root that has a parent is in another frame already. */
		if (frame > 0 && w->s->doc[frame].nodes_n && !w->place[root].parent)
			add_child(w, i, root);
	}
}

int text_print(const struct snapshot *s, struct buf *out, struct arena *a)
{
	struct walk w = {.s = s};
	size_t *base = arena_array(a, s->docs_n, sizeof(*base));

	if (!base)
		return -ENOMEM;
	for (size_t d = 0; d < s->docs_n; d++) {
		base[d] = w.places_n;
		w.places_n += s->doc[d].nodes_n;
	}
	w.place = arena_array(a, w.places_n, sizeof(*w.place));
	w.kind = arena_array(a, s->strings_n, sizeof(*w.kind));
	if ((w.places_n && !w.place) || (s->strings_n && !w.kind))
		return -ENOMEM;
	prose_init(&w.p, out);
	link_all(&w, base);
	if (s->doc[0].nodes_n)
		walk_all(&w);
	prose_end(&w.p);
	return out->err;
}
