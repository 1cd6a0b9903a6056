/* GET /v1/status: the identity of the sandbox, its recorded state, its protections. */
#ifndef SRV_STATUS_H
#define SRV_STATUS_H

#include "srv/api.h"

void status_get(struct api *api, struct request *rq, struct str name);

#endif
