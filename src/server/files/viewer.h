/*
 * The file viewer: a small server beside the main one that shows images and PDF files as
 * pages, for a browser inside the sandbox. It listens on 127.0.0.1 only. It needs no key,
 * since a browser has none to send; see docs/protocol.md, "File viewer". Jobs with the
 * rights of the sandbox user read the files.
 */
#ifndef SERVER_FILES_VIEWER_H
#define SERVER_FILES_VIEWER_H

#include "server/api.h"

struct viewer;

/*
 * Opens the viewer on the first free port after that of the main server, and writes its
 * URL to /tmp/oh-server-url. api must outlive it. Returns NULL with *err: -errno, or
 * -EADDRINUSE if no port is free. If the URL cannot be written, this is only logged.
 */
struct viewer *viewer_new(struct api *api, int *err) MUST_USE;
/* Ends the viewer and its requests. v may be NULL. */
void viewer_del(struct viewer *v);

#endif
