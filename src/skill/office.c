/* The skills that read documents of Word and of PowerPoint. */
#include "codec/xml.h"
#include "fs/package.h"
#include "skill/private.h"

#include <errno.h>
#include <inttypes.h>

static const struct xml_namespace known[] = {
	{"w", "http://schemas.openxmlformats.org/wordprocessingml/2006/main"},
	{"w", "http://purl.oclc.org/ooxml/wordprocessingml/main"},
	{"p", "http://schemas.openxmlformats.org/presentationml/2006/main"},
	{"p", "http://purl.oclc.org/ooxml/presentationml/main"},
	{"a", "http://schemas.openxmlformats.org/drawingml/2006/main"},
	{"a", "http://purl.oclc.org/ooxml/drawingml/main"},
	{"r", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"},
	{"r", "http://purl.oclc.org/ooxml/officeDocument/relationships"},
	{NULL, NULL},
};

/* The text that an element, or the text in it, adds to the output. */
struct piece {
	const char *path;
	const char *text; /* NULL: the text of the element */
};

static struct xml xml;

static void office_put_piece(
	const struct piece *pieces, size_t n, enum xml_event event, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (event == XML_CLOSE || !pieces[i].text != (event == XML_TEXT) ||
			!xml_is_at(&xml, pieces[i].path))
			continue;
		if (pieces[i].text)
			buf_puts(out, pieces[i].text);
		else
			xml_put_text(&xml, out);
		return;
	}
}

/*
 * Starts to read a part, whose text is stored in *text. Returns 0, or an error with the
 * reason in p->why.
 */
static int office_open_part(struct package *p, struct str name, struct buf *text)
{
	int r;

	buf_reset(text);
	r = package_read(p, name, text);
	if (!r)
		xml_init(&xml, buf_view(text), known);
	return r;
}

static int office_set_part_error(struct package *p, struct str name, int err)
{
	buf_fmt(&p->why, "%.*s: %s", STR_ARG(name), xml.reason);
	return err;
}

/* --- Word --------------------------------------------------- */

#define BODY "w:document/w:body/"
#define RUN BODY "w:p/w:r/"
#define LINK BODY "w:p/w:hyperlink/w:r/"

static const struct piece word_pieces[] = {
	{RUN "w:t", NULL},
	{RUN "w:tab", "\t"},
	{RUN "w:ptab", "\t"},
	{RUN "w:cr", "\n"},
	{RUN "w:noBreakHyphen", "-"},
	{LINK "w:t", NULL},
	{LINK "w:tab", "\t"},
	{LINK "w:ptab", "\t"},
	{LINK "w:cr", "\n"},
	{LINK "w:noBreakHyphen", "-"},
};

/* Only line breaks are text. A break without a type is a line break. */
static void office_put_break(struct buf *out)
{
	struct buf type = BUF_INIT(64);

	xml_put_attr(&xml, "w:type", &type);
	if (!type.n || str_eq(buf_view(&type), STR("textWrapping")))
		buf_putc(out, '\n');
	buf_free(&type);
}

static int office_put_paragraphs(struct package *p, struct str name, struct buf *out)
{
	uint64_t n = 0;
	int r;

	while ((r = xml_next(&xml)) > 0) {
		if (r == XML_OPEN && xml_is_at(&xml, BODY "w:p"))
			buf_fmt(out, "@@ Page %" PRIu64 " @@\n", ++n);
		else if (r == XML_CLOSE && xml_is_at(&xml, BODY "w:p"))
			buf_puts(out, "\n\n");
		else if (r == XML_OPEN &&
			(xml_is_at(&xml, RUN "w:br") || xml_is_at(&xml, LINK "w:br")))
			office_put_break(out);
		else
			office_put_piece(word_pieces, ARRAY_LEN(word_pieces),
				(enum xml_event)r, out);
	}
	return r ? office_set_part_error(p, name, r) : 0;
}

void skill_parse_docx(struct skill_call *c)
{
	struct buf text = BUF_INIT(PACKAGE_PART_MAX);
	struct package p;
	struct str name;
	int r = package_open(&p, c->args[0]);

	buf_fmt(&c->out, "[Reading DOCX file from %s]\n", c->args[0]);
	if (!r)
		r = package_find_main(&p, STR("word/document.xml"), &name);
	if (!r)
		r = office_open_part(&p, name, &text);
	if (!r)
		r = office_put_paragraphs(&p, name, &c->out);
	if (r)
		skill_set_error(c, "%.*s", STR_ARG(buf_view(&p.why)));
	else
		buf_putc(&c->out, '\n');
	buf_free(&text);
	package_close(&p);
}

/* --- PowerPoint --------------------------------------------------- */

#define SHAPE "p:sld/p:cSld/p:spTree/p:sp"
#define PARAGRAPH SHAPE "/p:txBody/a:p"

static const struct piece slide_pieces[] = {
	{PARAGRAPH "/a:r/a:t", NULL},
	{PARAGRAPH "/a:fld/a:t", NULL},
	{PARAGRAPH "/a:br", "\v"},
};

static int office_put_slide(struct package *p, struct str name, struct buf *out)
{
	bool first = true;
	int r;

	while ((r = xml_next(&xml)) > 0) {
		if (r == XML_OPEN && xml_is_at(&xml, SHAPE)) {
			buf_putc(out, '\n');
			first = true;
		} else if (r == XML_OPEN && xml_is_at(&xml, PARAGRAPH)) {
			buf_puts(out, first ? "" : "\n");
			first = false;
		} else {
			office_put_piece(slide_pieces, ARRAY_LEN(slide_pieces),
				(enum xml_event)r, out);
		}
	}
	return r ? office_set_part_error(p, name, r) : 0;
}

/* Lists the relation IDs of the slides in order, each with a newline. */
static int office_list_slides(struct package *p, struct str name, struct buf *ids)
{
	int r;

	while ((r = xml_next(&xml)) > 0)
		if (r == XML_OPEN &&
			xml_is_at(&xml, "p:presentation/p:sldIdLst/p:sldId")) {
			xml_put_attr(&xml, "r:id", ids);
			buf_putc(ids, '\n');
		}
	return r ? office_set_part_error(p, name, r) : ids->err;
}

static int office_put_slides(struct package *p, struct str ids,
	const struct package_relation *all, struct buf *out)
{
	struct buf text = BUF_INIT(PACKAGE_PART_MAX);
	uint64_t n = 0;
	int r = 0;

	while (ids.n && !r) {
		struct str id = str_cut(&ids, '\n');
		const struct package_relation *at = all;

		while (at && !str_eq(at->id, id))
			at = at->next;
		if (!at) {
			buf_fmt(&p->why, "there is no slide '%.*s'", STR_ARG(id));
			r = ERR_SYNTAX;
			break;
		}
		buf_fmt(out, "%s@@ Slide %" PRIu64 " @@", n ? "\n" : "", n + 1);
		n++;
		r = office_open_part(p, at->target, &text);
		if (!r)
			r = office_put_slide(p, at->target, out);
	}
	buf_free(&text);
	return r;
}

static int office_put_presentation(struct package *p, struct buf *out)
{
	struct buf text = BUF_INIT(PACKAGE_PART_MAX), ids = BUF_INIT(PACKAGE_PART_MAX);
	struct package_relation *all;
	struct str name;
	int r = package_find_main(p, STR("ppt/presentation.xml"), &name);

	if (!r)
		r = package_read_relations(p, name, &all);
	if (!r)
		r = office_open_part(p, name, &text);
	if (!r)
		r = office_list_slides(p, name, &ids);
	if (!r)
		r = office_put_slides(p, buf_view(&ids), all, out);
	buf_free(&text);
	buf_free(&ids);
	return r;
}

void skill_parse_pptx(struct skill_call *c)
{
	struct package p;
	size_t front;
	int r = package_open(&p, c->args[0]);

	buf_fmt(&c->out, "[Reading PowerPoint file from %s]\n", c->args[0]);
	front = c->out.n;
	if (!r)
		r = office_put_presentation(&p, &c->out);
	if (r && !c->out.err) {
		c->out.n = front;
		buf_puts(&c->out, "Error reading PowerPoint file: ");
		buf_str(&c->out, buf_view(&p.why));
		c->failed = true;
	}
	buf_putc(&c->out, '\n');
	package_close(&p);
}
