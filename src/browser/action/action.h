/*
 * A browser action is a text that contains calls. The calls run in their order until one
 * fails. These functions block, like those of browser.h.
 */
#ifndef BROWSER_ACTION_ACTION_H
#define BROWSER_ACTION_ACTION_H

#include "browser/page/browser.h"

/*
 * Runs the calls in text and waits after each call until the pages have settled. Returns
 * 0 with error empty, or with error set to a message ("ValueError: ..."): a call is
 * unknown and no call ran, or a call failed after the earlier ones ran. A negative
 * result is an error of browser_pump: the browser has closed, the time is over or memory
 * is exhausted. The caller may drop the contents of a afterwards.
 */
int browser_action_run(
	struct browser *b, struct str text, struct arena *a, struct buf *error) MUST_USE;

#endif
