/* The body of GET /server_info. */
#ifndef SRV_INFO_H
#define SRV_INFO_H

#include "srv/api.h"

/* Appends the body of the reply. */
void info_write(struct buf *out, struct api *api);

#endif
