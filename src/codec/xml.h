/*
 * A strict pull reader of XML 1.0 documents in memory, in UTF-8. The caller pulls one
 * event after another; text is copied only on request.
 *
 * Names have namespaces. The caller maps namespaces to prefixes of its own choice, as
 * in "w:p". Document types are refused, and with them all entities except the five
 * predefined ones.
 */
#ifndef CODEC_XML_H
#define CODEC_XML_H

#include "base/buf.h"

/* The limits of a document. */
enum {
	XML_DEPTH_MAX = 256,    /* open elements; tables in tables of a text have 60 */
	XML_ATTRS_MAX = 128,    /* attributes of one element; the root of Word has 40 */
	XML_BINDINGS_MAX = 256, /* namespaces of all open elements: three such roots */
};

/* A namespace that the caller handles; several may share one prefix. */
struct xml_namespace {
	const char *prefix;
	const char *uri;
};

enum xml_event {
	XML_END, /* end of the document; errors are negative */
	XML_OPEN,
	XML_CLOSE, /* the element is still the innermost open one */
	XML_TEXT,  /* a piece of text; long texts may come in several */
};

struct xml_name {
	struct str raw;     /* as written */
	struct str local;   /* without the prefix */
	const char *prefix; /* the caller's; "" without a namespace, NULL: unknown */
};

struct xml_attr {
	struct xml_name name;
	struct str value; /* as written */
};

struct xml_binding {
	struct str prefix;
	const char *mapped_prefix;
	unsigned depth; /* of the element that declares it */
};

struct xml {
	const struct xml_namespace *namespaces; /* ends with a prefix of NULL */
	struct str rest;
	int err;            /* the first error, which is returned from then on */
	const char *reason; /* error message */
	enum xml_event event;
	bool closes; /* XML_OPEN was an empty-element tag */
	bool had_root;
	bool verbatim;   /* the text is from a CDATA section */
	struct str text; /* of XML_TEXT, as written */
	unsigned depth;  /* open elements; the innermost is open[depth - 1] */
	unsigned attrs_n, bindings_n;
	struct xml_name open[XML_DEPTH_MAX];
	struct xml_attr attrs[XML_ATTRS_MAX]; /* of the XML_OPEN */
	struct xml_binding bindings[XML_BINDINGS_MAX];
};

/* doc and known must outlive x. The first xml_next reports an error of init. */
void xml_init(struct xml *x, struct str doc, const struct xml_namespace *known);

/* An enum xml_event; ERR_UTF8, ERR_SYNTAX, ERR_DUPLICATE, ERR_DEPTH, ERR_LIMIT. */
int xml_next(struct xml *x) MUST_USE;

/* Whether path lists the open elements, from the root on: "w:document/w:body". */
bool xml_is_at(const struct xml *x, const char *path);

/* Appends the text of XML_TEXT with references and line ends resolved. */
void xml_put_text(const struct xml *x, struct buf *out);
/* Appends the value of an attribute of XML_OPEN; false if there is none. */
bool xml_put_attr(const struct xml *x, const char *name, struct buf *out);

#endif
