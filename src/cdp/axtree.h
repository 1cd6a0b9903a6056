/*
 * The accessibility trees of a page's frames, as Accessibility.getFullAXTree answers
 * them, joined to one and with the bids that mark.js has given; and as text.
 *
 * The replies and the arena must outlive it.
 */
#ifndef CDP_AXTREE_H
#define CDP_AXTREE_H

#include "cdp/props.h"

/* A text that mark.js may have put a bid in front of. */
struct axtree_own {
	bool gone;       /* nothing of it is the page's own */
	struct str text; /* what is */
};

struct axtree_node {
	struct json_val raw;
	struct str id;
	struct str role;
	struct str name;
	bool named;     /* else it has no line */
	struct str bid; /* empty: none */
	struct json_val value, properties, children, described;
	struct axtree_own roledescription, description;
	int64_t backend; /* of the DOM's node; 0: none */
	size_t inner;    /* the root of the frame in it; 0: none */
};

struct axtree_frame {
	struct str id;
	size_t root;
};

struct axtree {
	struct arena *a;
	struct axtree_node *node; /* the first is the page's root */
	size_t n, cap;
	struct axtree_frame *frame;
	size_t frames_n, frames_cap;
};

struct axtree_view {
	bool visible_only; /* leaves out what has a bid and is less than half visible */
	bool no_inline;    /* leaves out the lines of text */
	size_t data_url;   /* characters shown of one; 0: all */
};

void axtree_init(struct axtree *t, struct arena *a);
/* Adds a frame's tree, the page's own first. 0, ERR_TYPE, ERR_LIMIT, -ENOMEM. */
int axtree_add(struct axtree *t, struct str frame, struct json_val reply) MUST_USE;

/*
 * Walks the nodes that stand for a frame, from *at = 0: true with the next one's place,
 * whose backend is asked for the frame in it.
 */
bool axtree_next_owner(const struct axtree *t, size_t *at);
/* Hangs the tree of a frame below its owner; one that was not added is ignored. */
void axtree_join(struct axtree *t, size_t owner, struct str frame);

/*
 * Appends the text: a line for a node, without a newline behind the last. 0, ERR_TYPE,
 * -ENOMEM, or the buf's error.
 */
int axtree_print(const struct axtree *t, const struct props *p,
	const struct axtree_view *view, struct buf *out) MUST_USE;

/* {"nodes": [...]}: the nodes as they came, with "browsergym_id" in them. */
int axtree_write(const struct axtree *t, struct jw *w) MUST_USE;

#endif
