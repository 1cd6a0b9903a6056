/* For the files of the browser module only. */
#ifndef BROWSER_PAGE_BROWSER_PRIVATE_H
#define BROWSER_PAGE_BROWSER_PRIVATE_H

#include "browser/page/browser.h"

/* --- browser_event.c: the events of the browser */

bool browser_has_handler(struct str method);
void browser_on_event(
	void *ctx, struct str session, struct str method, struct json_val params);
/* Returns the frame with that ID. Creates it if there is space; else returns NULL. */
struct page_frame *tab_add_frame(struct tab *t, struct str id);
/* Records a tree of Page.getFrameTree. */
void tab_record_tree(struct tab *t, struct json_val tree);

/* --- browser_page.c */

/* Ignores the error of a page that is busy or gone, but not of a closed browser. */
int browser_filter(int r) MUST_USE;
/* Checks that the scripts of the page answer. */
int tab_probe_scripts(struct tab *t, uint64_t deadline, uint64_t ms) MUST_USE;

/* --- browser.c */

/* Makes t the active tab and the one that was activated last. */
void browser_set_active(struct browser *b, struct tab *t);
/* Appends a new tab and activates it. Returns NULL if there is no space. */
struct tab *browser_add_tab(struct browser *b, struct str target, struct str session);
/* Sets up new tabs and chooses the active tab. */
int browser_setup_tabs(struct browser *b, uint64_t deadline) MUST_USE;
/* Frees the tabs that are closed. */
void browser_free_closed(struct browser *b);

#endif
