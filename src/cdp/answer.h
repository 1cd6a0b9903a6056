/*
 * What a browser action is answered with: the contract's observations, key by key, and
 * the content that agents read. An engine.
 */
#ifndef CDP_ANSWER_H
#define CDP_ANSWER_H

#include "base/buf.h"

struct answer {
	bool visit;             /* browse, of a URL; else browse_interactive */
	struct str url;         /* where the active page is */
	struct str action;      /* as it was given; of a visit goto("...") */
	struct str error;       /* empty: it has succeeded */
	struct str screenshot;  /* PNG; empty: there is none */
	struct str marks;       /* the same with marks drawn */
	struct str path;        /* of the screenshot's file; empty: none was written */
	bool knows_path;        /* the client accepts screenshot_path (0.38 or later) */
	const struct str *urls; /* of all pages */
	size_t urls_n;
	int active;         /* the one that is active; -1: unknown */
	struct str axtree;  /* {"nodes":[...]}; empty: not asked for */
	struct str props;   /* {"bid":{...}}; the same */
	struct str focused; /* p is NULL for none */
	struct str text;    /* the tree, or the page's text on a visit */
	struct str no_text; /* why there is no text, if it is not empty */
};

/* Appends the observation; out tells of a lack of memory. */
void answer_write(const struct answer *a, struct buf *out);
/* The one of an action that has failed as a whole, for the reason in words. */
void answer_failure(bool visit, struct str asked, struct str words, struct buf *out);
/* The one of an action that has brought a file, which is at path now. */
void answer_download(struct str action, struct str path, struct buf *out);

#endif
