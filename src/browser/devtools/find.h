/* The places of browsers: Chromium and browsers based on it, in order of preference. */
#ifndef BROWSER_DEVTOOLS_FIND_H
#define BROWSER_DEVTOOLS_FIND_H

#include "base/arena.h"
#include "base/buf.h"

/* The project's own folder. It may contain a program called "browser". */
#define BROWSER_FOLDER "/.od/plugins/browser"

/*
 * Finds the installed browsers. *found is a list of their paths, best first, that ends
 * with NULL: those that env names (OD_BROWSER before all), then those of Playwright and
 * similar tools, headless shells before full browsers. own is a folder of the project
 * that may contain a browser, or NULL. Whether the programs can be started is not
 * checked. Each searched place is a line of places. Returns 0 or -ENOMEM.
 */
int find_browsers(const char *const *env, const char *own, struct arena *a,
	struct buf *places, const char ***found) MUST_USE;

#endif
