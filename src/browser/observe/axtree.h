/*
 * The accessibility trees of a page's frames, as Accessibility.getFullAXTree returns
 * them, joined to one tree with the bids that mark.js has set. The tree can be printed
 * as text.
 *
 * The replies and the arena must outlive the tree.
 */
#ifndef BROWSER_OBSERVE_AXTREE_H
#define BROWSER_OBSERVE_AXTREE_H

#include "browser/observe/props.h"

/* 240 bytes each; a page of 6,000 elements has 12,000. */
enum { AXTREE_NODES_MAX = 100000 };

/* A text to which mark.js may have prepended a bid. */
struct axtree_text {
	bool is_empty;   /* the page set no text of its own */
	struct str text; /* the page's own text */
};

struct axtree_node {
	struct json_val raw;
	struct str id;
	struct str role;
	struct str name;
	bool named;     /* false: the node has no line */
	struct str bid; /* empty: the node has no bid */
	struct json_val value, properties, children, raw_description;
	struct axtree_text roledescription, description;
	int64_t backend;   /* backendDOMNodeId; 0: none */
	size_t frame_root; /* root of the frame in this node; 0: none */
};

struct axtree_frame {
	struct str id;
	size_t root;
};

struct axtree {
	struct arena *a;
	struct axtree_node *node; /* the first is the root of the page */
	size_t n, cap;
	struct axtree_frame *frame;
	size_t frames_n, frames_cap;
};

struct axtree_view {
	bool visible_only; /* omit nodes with a bid that are less than half visible */
	bool no_inline;    /* omit lines of inline text */
	size_t data_url;   /* characters shown of a data: URL; 0: all */
};

void axtree_init(struct axtree *t, struct arena *a);
/*
 * Adds a frame's tree. The tree of the main frame must be the first. Returns 0,
 * ERR_TYPE, ERR_LIMIT or -ENOMEM.
 */
int axtree_add_frame(struct axtree *t, struct str frame, struct json_val reply) MUST_USE;

/*
 * Iterates over the nodes that represent a frame, starting with *at = 0. Returns true
 * with the index of the next such node. Its backend ID identifies the frame in it.
 */
bool axtree_next_owner(const struct axtree *t, size_t *at);
/* Attaches the tree of a frame to its owner. A frame that was not added is ignored. */
void axtree_attach_frame(struct axtree *t, size_t owner, struct str frame);

/*
 * Appends the tree as text: one line per node, without a newline after the last line.
 * Returns 0, ERR_TYPE, -ENOMEM, or the error of the buffer.
 */
int axtree_print(const struct axtree *t, const struct props *p,
	const struct axtree_view *view, struct buf *out) MUST_USE;

/* Writes {"nodes": [...]}: the nodes as received, with "browsergym_id" added. */
int axtree_write(const struct axtree *t, struct jw *w) MUST_USE;

#endif
