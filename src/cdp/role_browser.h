/* The role that drives a browser. */
#ifndef CDP_ROLE_BROWSER_H
#define CDP_ROLE_BROWSER_H

/*
 * Drives a browser for a server, which speaks with it by descriptor 3 in the frames of
 * docs/plugins.md, until that is closed. Nothing else of what it is told reaches it.
 */
int role_browser(void);

#endif
