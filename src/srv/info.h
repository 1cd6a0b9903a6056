/* What /server_info says. */
#ifndef SRV_INFO_H
#define SRV_INFO_H

#include "srv/api.h"

/* Writes the body of the answer. */
void info_write(struct buf *out, struct api *api);

#endif
