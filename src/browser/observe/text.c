#include "browser/observe/text.h"

#include "browser/observe/prose.h"

#include <errno.h>
#include <stdio.h>

/* A node of the walk. The nodes of all documents are one array, and one tree. */
struct text_node {
	const struct snapshot_doc *doc;
	const struct snapshot_node *node;
	size_t parent; /* an index; 0, the root of the page, means none */
	size_t first;  /* child, an index */
	size_t last;
	size_t next;    /* child of the same parent, an index */
	size_t saved;   /* saved value of list, row or pre */
	int64_t number; /* of the last item of a list */
};

struct text_walk;

typedef void tag_fn(struct text_walk *w, struct text_node *at);

/* The functions for the start and the end of a kind of element. */
struct tag_handler {
	const char *names; /* of its elements */
	tag_fn *open;
	tag_fn *close;
	const char *sign; /* Markdown sign on both sides, or NULL */
};

struct text_walk {
	const struct snapshot *s;
	struct text_node *place;
	size_t places_n;
	uint8_t *kind; /* tag_kind of each string; 0: not looked up yet */
	struct prose p;
	bool word_end;  /* the last byte is a letter or digit of the page */
	size_t list;    /* the innermost open list */
	unsigned lists; /* open lists */
	unsigned links; /* open links */
	unsigned code;  /* open code elements */
	bool row;       /* in a table's row, from its first cell on */
	bool head_row;  /* the row is the table's first */
	unsigned cells; /* in the row so far */
};

/* --- Elements --------------------------------------------------------------------- */

static void page_text_open_block(struct text_walk *w, struct text_node *at)
{
	(void)at;
	/* A sign is on the same line as its text. */
	if (!w->p.sign_open)
		prose_break(&w->p, 2);
}

static void page_text_close_block(struct text_walk *w, struct text_node *at)
{
	(void)at;
	prose_break(&w->p, 2);
}

/* Separates words before and after an element by a blank. */
static void page_text_put_blank(struct text_walk *w, struct text_node *at)
{
	(void)at;
	prose_put_text(&w->p, STR(" "), false);
}

/* A block, except where a line of its own would break a link or a table's row. */
static void page_text_open_soft(struct text_walk *w, struct text_node *at)
{
	if (w->links || w->row)
		page_text_put_blank(w, at);
	else
		page_text_open_block(w, at);
}

static void page_text_close_soft(struct text_walk *w, struct text_node *at)
{
	if (w->links || w->row)
		page_text_put_blank(w, at);
	else
		page_text_close_block(w, at);
}

static void page_text_open_heading(struct text_walk *w, struct text_node *at)
{
	static const char sign[] = "###### ";
	struct str name = snapshot_get_string(w->s, at->node->name);

	page_text_open_block(w, at);
	prose_open_sign(&w->p, str_c(sign + ('6' - name.p[1])));
}

static const struct tag_handler *page_text_find_handler(
	struct text_walk *w, const struct snapshot_node *node);

/* A sign on both sides of the text. There is none if there is no text. */
static void page_text_open_sign(struct text_walk *w, struct text_node *at)
{
	prose_open_sign(&w->p, str_c(page_text_find_handler(w, at->node)->sign));
}

static void page_text_close_sign(struct text_walk *w, struct text_node *at)
{
	struct str sign = str_c(page_text_find_handler(w, at->node)->sign);

	if (w->p.sign_open && !w->p.out->err) {
		/*
		 * There was no text, so the sign is removed. The blank before it stays.
		 */
		w->p.out->n -= sign.n;
		w->p.sign_open = false;
		return;
	}
	prose_close_sign(&w->p, sign);
	w->word_end = false;
}

/* Like page_text_open_sign. Right after a letter the sign would be part of the word. */
static void page_text_open_emphasis(struct text_walk *w, struct text_node *at)
{
	if (w->word_end)
		page_text_put_blank(w, at);
	page_text_open_sign(w, at);
}

static void page_text_open_code(struct text_walk *w, struct text_node *at)
{
	w->code++;
	if (!w->p.pre)
		page_text_open_sign(w, at);
}

static void page_text_close_code(struct text_walk *w, struct text_node *at)
{
	w->code--;
	if (!w->p.pre)
		page_text_close_sign(w, at);
}

static void page_text_put_rule(struct text_walk *w, struct text_node *at)
{
	page_text_open_block(w, at);
	prose_put_sign(&w->p, STR("* * *"));
	page_text_close_block(w, at);
}

static void page_text_break_line(struct text_walk *w, struct text_node *at)
{
	(void)at;
	prose_break_line(&w->p);
}

static void page_text_open_quote(struct text_walk *w, struct text_node *at)
{
	page_text_open_block(w, at);
	w->p.quotes++;
}

static void page_text_close_quote(struct text_walk *w, struct text_node *at)
{
	page_text_close_block(w, at);
	w->p.quotes--;
}

static void page_text_open_pre(struct text_walk *w, struct text_node *at)
{
	page_text_open_block(w, at);
	at->saved = w->p.pre;
	w->p.pre = true;
}

static void page_text_close_pre(struct text_walk *w, struct text_node *at)
{
	w->p.pre = at->saved;
	page_text_close_block(w, at);
}

/* --- Lists ------------------------------------------------------------------------ */

static int64_t page_text_read_list_start(
	const struct text_walk *w, const struct text_node *at)
{
	struct str text;
	int64_t n;

	if (snapshot_attr(w->s, at->node, STR("start"), &text) && !str_i64(text, &n) &&
		n > INT32_MIN && n < INT32_MAX)
		return n;
	return 1;
}

static void page_text_open_list(struct text_walk *w, struct text_node *at)
{
	prose_break(&w->p, w->lists ? 1 : 2);
	at->saved = w->list;
	at->number = page_text_read_list_start(w, at) - 1;
	w->list = (size_t)(at - w->place);
	w->lists++;
}

static void page_text_close_list(struct text_walk *w, struct text_node *at)
{
	w->list = at->saved;
	w->lists--;
	prose_break(&w->p, w->lists ? 1 : 2);
}

static void page_text_open_item(struct text_walk *w, struct text_node *at)
{
	struct text_node *list = &w->place[w->list];
	char sign[32];

	(void)at;
	prose_break(&w->p, 1);
	for (unsigned i = 0; i < w->lists && !w->p.out->err; i++)
		prose_put_sign(&w->p, STR("  "));
	if (w->lists &&
		str_eq_nocase(snapshot_get_string(w->s, list->node->name), STR("ol")))
		snprintf(sign, sizeof(sign), "%lld. ", (long long)++list->number);
	else
		snprintf(sign, sizeof(sign), "* ");
	prose_open_sign(&w->p, str_c(sign));
}

static void page_text_close_line(struct text_walk *w, struct text_node *at)
{
	(void)at;
	prose_break(&w->p, 1);
}

static void page_text_open_definition(struct text_walk *w, struct text_node *at)
{
	page_text_close_line(w, at);
	prose_open_sign(&w->p, STR("    "));
}

/* --- Tables ----------------------------------------------------------------------- */

static void page_text_open_table(struct text_walk *w, struct text_node *at)
{
	at->saved = w->row;
	w->row = false;
	w->head_row = true;
	page_text_open_block(w, at);
}

static void page_text_close_table(struct text_walk *w, struct text_node *at)
{
	w->row = at->saved;
	w->head_row = false;
	page_text_close_soft(w, at);
}

static void page_text_open_row(struct text_walk *w, struct text_node *at)
{
	page_text_close_line(w, at);
	w->row = false;
	w->cells = 0;
}

static void page_text_close_row(struct text_walk *w, struct text_node *at)
{
	w->row = false;
	if (w->cells)
		page_text_break_line(w, at);
	if (!w->head_row || !w->cells)
		return;
	w->head_row = false;
	for (unsigned i = 0; i < w->cells; i++)
		prose_put_sign(&w->p, i ? STR("|---") : STR("---"));
	page_text_break_line(w, at);
}

static void page_text_open_cell(struct text_walk *w, struct text_node *at)
{
	if (w->row) {
		page_text_put_blank(w, at);
		prose_open_sign(&w->p, STR("| "));
	}
	w->row = true;
	w->cells++;
}

/* --- Links ------------------------------------------------------------------------ */

static bool page_text_read_href(
	const struct text_walk *w, const struct text_node *at, struct str *href)
{
	return snapshot_attr(w->s, at->node, STR("href"), href) &&
		!str_starts(*href, STR("#"));
}

static void page_text_open_link(struct text_walk *w, struct text_node *at)
{
	struct str href;

	if (!page_text_read_href(w, at, &href))
		return;
	w->links++;
	prose_open_sign(&w->p, STR("["));
}

/* Within a link, characters that would end it early are escaped by a backslash. */
static void page_text_put_escaped(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (strchr("\\[]()", s.p[i]) && s.p[i])
			buf_putc(out, '\\');
		buf_putc(out, s.p[i]);
	}
}

static void page_text_close_link(struct text_walk *w, struct text_node *at)
{
	struct buf *out = w->p.out;
	struct str href, title;

	if (!page_text_read_href(w, at, &href))
		return;
	w->links--;
	w->p.sign_open = false;
	prose_close_sign(&w->p, STR("]("));
	page_text_put_escaped(out, href);
	if (snapshot_attr(w->s, at->node, STR("title"), &title) &&
		str_trim(title, " \t\r\n").n) {
		buf_puts(out, " \"");
		page_text_put_escaped(out, title);
		buf_putc(out, '"');
	}
	buf_putc(out, ')');
	w->word_end = false;
}

/* --- The walk --------------------------------------------------------------------- */

enum tag_kind {
	TAG_UNKNOWN, /* not looked up yet */
	TAG_OTHER,   /* only its children count */
	TAG_HIDDEN,  /* ignored with its children */
	TAG_LINK,
	TAG_SOFT_BLOCK,
	TAG_STRONG,
	TAG_BLOCKQUOTE,
	TAG_LINE_BREAK,
	TAG_SPACED,
	TAG_CODE,
	TAG_DEFINITION,
	TAG_STRIKE,
	TAG_BLOCK,
	TAG_TERM,
	TAG_EMPHASIS,
	TAG_HEADING,
	TAG_RULE,
	TAG_ITEM,
	TAG_LIST,
	TAG_PRE,
	TAG_QUOTE,
	TAG_TABLE,
	TAG_CELL,
	TAG_ROW,
};

static const struct tag_handler kinds[] = {
	[TAG_HIDDEN] = {"noscript script style template", NULL, NULL, NULL},
	[TAG_LINK] = {"a", page_text_open_link, page_text_close_link, NULL},
	[TAG_SOFT_BLOCK] = {"address article aside caption center details dialog div "
			    "fieldset figcaption figure footer form header hgroup legend "
			    "main nav p section summary",
		page_text_open_soft, page_text_close_soft, NULL},
	[TAG_STRONG] = {"b strong", page_text_open_sign, page_text_close_sign, "**"},
	[TAG_BLOCKQUOTE] = {"blockquote", page_text_open_quote, page_text_close_quote,
		NULL},
	[TAG_LINE_BREAK] = {"br", page_text_break_line, NULL, NULL},
	[TAG_SPACED] = {"button iframe input label optgroup option select textarea title",
		page_text_put_blank, page_text_put_blank, NULL},
	[TAG_CODE] = {"code kbd tt", page_text_open_code, page_text_close_code, "`"},
	[TAG_DEFINITION] = {"dd", page_text_open_definition, page_text_close_line, NULL},
	[TAG_STRIKE] = {"del s strike", page_text_open_sign, page_text_close_sign, "~~"},
	[TAG_BLOCK] = {"dl", page_text_open_block, page_text_close_block, NULL},
	[TAG_TERM] = {"dt", NULL, page_text_close_line, NULL},
	[TAG_EMPHASIS] = {"em i u", page_text_open_emphasis, page_text_close_sign, "_"},
	[TAG_HEADING] = {"h1 h2 h3 h4 h5 h6", page_text_open_heading,
		page_text_close_block, NULL},
	[TAG_RULE] = {"hr", page_text_put_rule, NULL, NULL},
	[TAG_ITEM] = {"li", page_text_open_item, page_text_close_line, NULL},
	[TAG_LIST] = {"ol ul", page_text_open_list, page_text_close_list, NULL},
	[TAG_PRE] = {"pre", page_text_open_pre, page_text_close_pre, NULL},
	[TAG_QUOTE] = {"q", page_text_open_sign, page_text_close_sign, "\""},
	[TAG_TABLE] = {"table", page_text_open_table, page_text_close_table, NULL},
	[TAG_CELL] = {"td th", page_text_open_cell, NULL, NULL},
	[TAG_ROW] = {"tr", page_text_open_row, page_text_close_row, NULL},
};

static enum tag_kind page_text_lookup_tag(struct str name)
{
	for (enum tag_kind kind = TAG_HIDDEN; kind < ARRAY_LEN(kinds); kind++) {
		struct str names = str_c(kinds[kind].names);

		while (names.n)
			if (str_eq_nocase(str_cut(&names, ' '), name))
				return kind;
	}
	return TAG_OTHER;
}

static const struct tag_handler *page_text_find_handler(
	struct text_walk *w, const struct snapshot_node *node)
{
	uint8_t *kind;

	if (node->name < 0)
		return &kinds[TAG_OTHER];
	kind = &w->kind[node->name];
	if (*kind == TAG_UNKNOWN)
		*kind = (uint8_t)page_text_lookup_tag(
			snapshot_get_string(w->s, node->name));
	return &kinds[*kind];
}

static bool page_text_is_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		(c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

static void page_text_put_text(struct text_walk *w, const struct snapshot_node *node)
{
	struct str text = snapshot_get_string(w->s, node->value);

	prose_put_text(&w->p, text, !w->code);
	if (text.n)
		w->word_end = page_text_is_letter(text.p[text.n - 1]);
}

/* The head of the main document is not shown. Titles of documents in frames are. */
static bool page_text_is_skipped(struct text_walk *w, const struct text_node *at)
{
	struct str name = snapshot_get_string(w->s, at->node->name);

	if (at->node->type == SNAPSHOT_ELEMENT)
		return at->node->pseudo ||
			page_text_find_handler(w, at->node) == &kinds[TAG_HIDDEN] ||
			(at->doc == w->s->doc && str_eq_nocase(name, STR("head")));
	return at->node->type != SNAPSHOT_TEXT && !at->first;
}

static void page_text_enter_node(struct text_walk *w, struct text_node *at)
{
	const struct tag_handler *kind = page_text_find_handler(w, at->node);

	if (at->node->type == SNAPSHOT_TEXT)
		page_text_put_text(w, at->node);
	else if (at->node->type == SNAPSHOT_ELEMENT && kind->open)
		kind->open(w, at);
}

static void page_text_leave_node(struct text_walk *w, struct text_node *at)
{
	const struct tag_handler *kind = page_text_find_handler(w, at->node);

	if (at->node->type == SNAPSHOT_ELEMENT && kind->close)
		kind->close(w, at);
}

static void page_text_walk(struct text_walk *w)
{
	struct text_node *at = w->place;

	for (;;) {
		bool skipped = page_text_is_skipped(w, at);

		if (!skipped)
			page_text_enter_node(w, at);
		if (!skipped && at->first) {
			at = &w->place[at->first];
			continue;
		}
		if (!skipped)
			page_text_leave_node(w, at);
		while (!at->next) {
			if (at == w->place)
				return;
			at = &w->place[at->parent];
			page_text_leave_node(w, at);
		}
		at = &w->place[at->next];
	}
}

static void page_text_add_child(struct text_walk *w, size_t parent, size_t child)
{
	struct text_node *p = &w->place[parent];

	w->place[child].parent = parent;
	if (p->first)
		w->place[p->last].next = child;
	else
		p->first = child;
	p->last = child;
}

/* Links the children of each node in order, with the document of a frame after them. */
static void page_text_link_nodes(struct text_walk *w, const size_t *base)
{
	for (size_t d = 0; d < w->s->docs_n; d++) {
		const struct snapshot_doc *doc = &w->s->doc[d];

		for (size_t i = 0; i < doc->nodes_n; i++) {
			struct text_node *at = &w->place[base[d] + i];

			at->doc = doc;
			at->node = &doc->node[i];
			if (at->node->parent >= 0)
				page_text_add_child(w, base[d] + (size_t)at->node->parent,
					base[d] + i);
		}
	}
	/* Index 0 is no element: as a parent it would mean none. */
	for (size_t i = 1; i < w->places_n; i++) {
		int32_t frame = w->place[i].node->frame;
		size_t root = frame > 0 ? base[frame] : 0;

		/* A root that has a parent is in another frame already. */
		if (frame > 0 && w->s->doc[frame].nodes_n && !w->place[root].parent)
			page_text_add_child(w, i, root);
	}
}

int page_text_print(const struct snapshot *s, struct buf *out, struct arena *a)
{
	struct text_walk w = {.s = s};
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
	page_text_link_nodes(&w, base);
	if (s->doc[0].nodes_n)
		page_text_walk(&w);
	prose_end(&w.p);
	return out->err;
}
