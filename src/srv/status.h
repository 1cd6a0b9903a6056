/* GET /v1/status: who this sandbox is, what it remembers, what protects it. */
#ifndef SRV_STATUS_H
#define SRV_STATUS_H

#include "srv/api.h"

void status_get(struct api *api, struct request *rq, struct str name);

#endif
