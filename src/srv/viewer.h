/*
 * The file viewer: a small server beside the main one that shows images and PDF
 * files as pages, for a browser inside the sandbox. It listens on 127.0.0.1 alone
 * and asks for no key, since a browser has none to show; docs/protocol.md, "File
 * viewer". Files are read by jobs with the rights of the sandbox user.
 */
#ifndef SRV_VIEWER_H
#define SRV_VIEWER_H

#include "srv/api.h"

struct viewer;

/*
 * Opens it on the first free port behind that of the main server, and leaves its URL
 * in /tmp/oh-server-url. api must outlive it. NULL with *err set to -errno, or to
 * -EADDRINUSE when there is no free port; that the URL cannot be left is logged only.
 */
struct viewer *viewer_new(struct api *api, int *err) MUST_USE;
/* Cuts what it is doing. NULL is fine. */
void viewer_del(struct viewer *v);

#endif
