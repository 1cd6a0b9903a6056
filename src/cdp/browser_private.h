/* Of use to the files of the browser alone. */
#ifndef CDP_BROWSER_PRIVATE_H
#define CDP_BROWSER_PRIVATE_H

#include "cdp/browser.h"

/* --- browser_event.c: what the browser tells of itself */

bool browser_wants(struct str method);
void browser_event(
	void *ctx, struct str session, struct str method, struct json_val params);
/* The frame of that id, made if there is room; NULL. */
struct frame *tab_note_frame(struct tab *t, struct str id);
/* A tree of Page.getFrameTree. */
void tab_note_tree(struct tab *t, struct json_val tree);

/* --- browser.c */

/* It is the latest of those that were active. */
void browser_show(struct browser *b, struct tab *t);
/* A tab that has come, in its place. NULL: no room. */
struct tab *browser_add(struct browser *b, struct str target, struct str session);
/* Sets up those that have come, and looks which one is active. */
int browser_tidy(struct browser *b, uint64_t deadline) MUST_USE;
/* Frees those that are gone. */
void browser_sweep(struct browser *b);

#endif
