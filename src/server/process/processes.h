/* The routes of /v1/processes, see docs/protocol.md. */
#ifndef SERVER_PROCESS_PROCESSES_H
#define SERVER_PROCESS_PROCESSES_H

#include "proc/process/process.h"
#include "server/api.h"

/* The process with this id. NULL: there is none, and the request is answered. */
struct process *processes_find(struct api *api, struct request *rq, struct str id);

/* POST and GET /v1/processes */
void processes_start(struct api *api, struct request *rq, struct str name);
void processes_list(struct api *api, struct request *rq, struct str name);
/* GET and DELETE /v1/processes/ID */
void processes_get(struct api *api, struct request *rq, struct str id);
void processes_delete(struct api *api, struct request *rq, struct str id);
/* POST /v1/processes/ID/signal and /resize */
void processes_signal(struct api *api, struct request *rq, struct str id);
void processes_resize(struct api *api, struct request *rq, struct str id);
/* GET /v1/processes/ID/stdout, /stderr and /pty */
void processes_read(struct api *api, struct request *rq, struct str id);
/* PUT /v1/processes/ID/stdin */
void processes_stdin(struct api *api, struct request *rq, struct str id);

#endif
