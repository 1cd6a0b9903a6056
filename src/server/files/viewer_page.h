/* The pages of the file viewer. For src/server/files/viewer* only. */
#ifndef SERVER_FILES_VIEWER_PAGE_H
#define SERVER_FILES_VIEWER_PAGE_H

#include "server/files/transfer_io.h"

#define VIEWER_HTML "text/html; charset=utf-8"

/* Writes a page with a heading and the escaped message below it. */
void viewer_write_error(struct buf *out, const char *heading, struct str words);

/* The work of a transfer: replies with the page of the file ask->path. */
int viewer_page_work(struct transfer_io *io, const struct transfer_request *ask);

/* Writes the Content-Security-Policy of these pages, which allows only what they need. */
void viewer_write_policy(struct buf *out);

#endif
