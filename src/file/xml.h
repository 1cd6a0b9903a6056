/*
 * A strict reader of XML 1.0 documents that are in memory as a whole, in UTF-8: what
 * comes next is pulled, event by event, and nothing is copied before it is wanted.
 *
 * Names have namespaces, which the caller knows by prefixes of his own choice, as in
 * "w:p". Document types are refused, and with them all entities but the five.
 */
#ifndef FILE_XML_H
#define FILE_XML_H

#include "base/buf.h"
#include "limits.h"

/* A namespace that the caller asks for; several may have one prefix. */
struct xml_known {
	const char *prefix;
	const char *uri;
};

enum xml_event {
	XML_END, /* of the document; errors are negative */
	XML_OPEN,
	XML_CLOSE, /* the element is still the innermost one */
	XML_TEXT,  /* a piece; long texts may come in several */
};

struct xml_name {
	struct str sent;    /* as it stands there */
	struct str local;   /* without the prefix */
	const char *prefix; /* the caller's; "" without a namespace, NULL: unknown */
};

struct xml_attr {
	struct xml_name name;
	struct str value; /* as it stands there */
};

struct xml_binding {
	struct str prefix;
	const char *known;
	unsigned depth; /* of the element that has made it */
};

struct xml {
	const struct xml_known *known; /* a prefix of NULL is the last */
	struct str rest;
	int err;         /* once there was one, it stays */
	const char *why; /* that, in words */
	enum xml_event event;
	bool closes; /* the tag that was given as XML_OPEN is an empty element's */
	bool had_root;
	bool verbatim;   /* the text is of a CDATA section */
	struct str text; /* of XML_TEXT, as it stands there */
	unsigned depth;  /* open elements; the innermost is open[depth - 1] */
	unsigned attrs_n, bindings_n;
	struct xml_name open[XML_DEPTH_MAX];
	struct xml_attr attrs[XML_ATTRS_MAX]; /* of the XML_OPEN */
	struct xml_binding bindings[XML_BINDINGS_MAX];
};

/* doc and known must stay. The first error comes with the first event. */
void xml_init(struct xml *x, struct str doc, const struct xml_known *known);

/* An enum xml_event; ERR_UTF8, ERR_SYNTAX, ERR_DUPLICATE, ERR_DEPTH, ERR_LIMIT. */
int xml_next(struct xml *x) MUST_USE;

/* Whether the open elements are these, from the root on: "w:document/w:body". */
bool xml_is_at(const struct xml *x, const char *path);

/* Appends the text of XML_TEXT, its references and line ends resolved. */
void xml_put_text(const struct xml *x, struct buf *out);
/* Appends the value of an attribute of XML_OPEN; false when there is none. */
bool xml_put_attr(const struct xml *x, const char *name, struct buf *out);

#endif
