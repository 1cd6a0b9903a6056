/* The body of GET /server_info. */
#ifndef SERVER_INFO_H
#define SERVER_INFO_H

#include "server/api.h"

/* Appends the body of the reply. */
void info_write(struct buf *out, struct api *api);

#endif
