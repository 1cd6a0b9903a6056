/*
 * A page's DOM as DOMSnapshot.captureSnapshot answers it, its tables of numbers made
 * into nodes. All of it lies in the arena and in the reply's text, which must outlive it.
 */
#ifndef CDP_SNAPSHOT_H
#define CDP_SNAPSHOT_H

#include "base/json.h"

/* Types of nodes, of the DOM. */
enum { SNAPSHOT_ELEMENT = 1, SNAPSHOT_TEXT = 3 };

/* Places in the table of strings, -1 for none. */
struct snapshot_attr {
	int32_t name;
	int32_t value;
};

struct snapshot_node {
	int32_t parent; /* that stands before it; -1 for none */
	int32_t type;
	int32_t name;
	int32_t value;
	int32_t frame; /* the document in it; -1 for none */
	bool clickable;
	bool pseudo; /* made by CSS */
	const struct snapshot_attr *attr;
	size_t attrs_n;
};

struct snapshot_box {
	size_t node;
	double bounds[4]; /* x, y, width, height within the document */
	bool rendered;
};

struct snapshot_doc {
	struct snapshot_node *node;
	size_t nodes_n;
	struct snapshot_box *box; /* in the order of the layout */
	size_t boxes_n;
	double scroll[2];
};

struct snapshot {
	struct str *string;
	size_t strings_n;
	struct snapshot_doc *doc; /* the page's own is the first */
	size_t docs_n;
};

/*
 * Reads the reply. Every number that is a place is one that exists, and a parent stands
 * before its children. 0; ERR_TYPE, ERR_RANGE: it is no snapshot; -ENOMEM.
 */
int snapshot_read(struct snapshot *s, struct json_val reply, struct arena *a) MUST_USE;

/* The empty string for -1. */
struct str snapshot_string(const struct snapshot *s, int32_t at);
/* The value of a node's attribute; false if it has none of that name. */
bool snapshot_attr(const struct snapshot *s, const struct snapshot_node *node,
	struct str name, struct str *value);

#endif
