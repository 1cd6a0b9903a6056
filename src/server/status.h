/* GET /v1/status: the identity of the sandbox, its recorded state, its protections. */
#ifndef SERVER_STATUS_H
#define SERVER_STATUS_H

#include "server/api.h"

void status_get(struct api *api, struct request *rq, struct str name);

#endif
