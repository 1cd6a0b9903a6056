/* The pages of the file viewer. For srv/viewer* only. */
#ifndef SRV_VIEWER_PAGE_H
#define SRV_VIEWER_PAGE_H

#include "srv/transfer_io.h"

#define VIEWER_HTML "text/html; charset=utf-8"

/* A page with a heading and the words, escaped, under it. */
void viewer_write_error(struct buf *out, const char *heading, struct str words);

/* The work of a transfer: the page of the file ask->path. */
int viewer_page(struct transfer_io *io, const struct transfer_ask *ask);

/* The Content-Security-Policy that such a page needs, and no more than that. */
void viewer_write_policy(struct buf *out);

#endif
