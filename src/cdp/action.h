/*
 * A browser action: a text with calls, done in their order until one fails. Blocking,
 * as browser.h is.
 */
#ifndef CDP_ACTION_H
#define CDP_ACTION_H

#include "cdp/browser.h"

/*
 * Does what text says and waits until pages have come to rest. 0, with error empty, or
 * with what is to be told ("ValueError: ..."): a call is unknown, and none was done, or
 * one has failed, and those before it are done. Negative: the browser is gone, time or
 * memory is over, as browser_pump has it. What lives in a may be dropped behind it.
 */
int browser_act(
	struct browser *b, struct str text, struct arena *a, struct buf *error) MUST_USE;

#endif
