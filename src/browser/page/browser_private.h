/* For the files of the browser module only. */
#ifndef BROWSER_PAGE_BROWSER_PRIVATE_H
#define BROWSER_PAGE_BROWSER_PRIVATE_H

#include "browser/page/browser.h"

/* --- browser_event.c: the events of the browser */

bool browser_wants(struct str method);
void browser_event(
	void *ctx, struct str session, struct str method, struct json_val params);
/* Returns the frame with that ID. Creates it if there is space; else returns NULL. */
struct frame *tab_note_frame(struct tab *t, struct str id);
/* Records a tree of Page.getFrameTree. */
void tab_note_tree(struct tab *t, struct json_val tree);

/* --- browser.c */

/* Makes t the active tab and the one that was activated last. */
void browser_show(struct browser *b, struct tab *t);
/* Appends a new tab and activates it. Returns NULL if there is no space. */
struct tab *browser_add(struct browser *b, struct str target, struct str session);
/* Sets up new tabs and chooses the active tab. */
int browser_tidy(struct browser *b, uint64_t deadline) MUST_USE;
/* Frees the tabs that are closed. */
void browser_sweep(struct browser *b);

#endif
