/* The process role that drives a browser. */
#ifndef BROWSER_ROLE_BROWSER_H
#define BROWSER_ROLE_BROWSER_H

/*
 * Drives a browser for a server. The server sends the frames of docs/plugins.md over
 * descriptor 3. The role runs until that descriptor is closed, until it is stopped, or
 * until no browser can be started. It receives no other input.
 */
int role_browser(void);

#endif
