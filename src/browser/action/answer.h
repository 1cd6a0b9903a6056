/*
 * The answer to a browser action: the contract's observation, key by key, with the
 * content that agents read. It does no I/O.
 */
#ifndef BROWSER_ACTION_ANSWER_H
#define BROWSER_ACTION_ANSWER_H

#include "base/buf.h"

struct browse_answer {
	bool visit;             /* of browse, a URL; else of browse_interactive */
	struct str url;         /* of the active page */
	struct str action;      /* as given; for a visit: goto("...") */
	struct str error;       /* empty: the action succeeded */
	struct str screenshot;  /* PNG; empty: there is none */
	struct str marks;       /* the screenshot with marks drawn; PNG */
	struct str path;        /* of the screenshot's file; empty: no file was written */
	bool has_path_member;   /* the client accepts screenshot_path (0.38 or later) */
	const struct str *urls; /* of all pages */
	size_t urls_n;
	int active;            /* index of the active page; -1: unknown */
	struct str axtree;     /* {"nodes":[...]}; empty: not requested */
	struct str props;      /* {"bid":{...}}; empty: not requested */
	struct str focused;    /* a bid; p is NULL if there is none */
	struct str text;       /* the tree, or the page's text on a visit */
	struct str text_error; /* why there is no text; empty: no reason */
};

/* Appends the observation. If memory is exhausted, out->err is set. */
void browse_answer_write(const struct browse_answer *a, struct buf *out);
/* Appends the observation of an action that failed as a whole; words is the reason. */
void browse_answer_put_failure(
	bool visit, struct str asked, struct str words, struct buf *out);
/* Appends the observation of an action that downloaded a file to path. */
void browse_answer_put_download(struct str action, struct str path, struct buf *out);

#endif
