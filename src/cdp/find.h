/* Where a browser may be: Chromium and what is made of it, in the order of preference. */
#ifndef CDP_FIND_H
#define CDP_FIND_H

#include "base/arena.h"
#include "base/buf.h"

/* Of ours, where a program called "browser" may be. */
#define BROWSER_FOLDER "/.od/plugins/browser"

/*
 * The programs that are there, best first, as paths in *found, up to a NULL: those that
 * env names (OD_BROWSER before all), of Playwright and its like, headless shells before
 * whole browsers. own is a folder of ours that may hold one, or NULL. Whether they can
 * be started is not known. Each place that was looked at is a line of places. -ENOMEM.
 */
int find_browsers(const char *const *env, const char *own, struct arena *a,
	struct buf *places, const char ***found) MUST_USE;

#endif
