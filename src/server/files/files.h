/* The routes that transfer files; see server/files/transfer.h. */
#ifndef SERVER_FILES_FILES_H
#define SERVER_FILES_FILES_H

#include "server/api.h"

/* These are called when the head of the request has arrived; the body is streamed. */
void files_upload(struct api *api, struct request *rq, struct str name);
void files_download(struct api *api, struct request *rq, struct str name);
void files_list(struct api *api, struct request *rq, struct str name);

/* Below /v1/files. The bodies of the first two are streamed. */
void files_put(struct api *api, struct request *rq, struct str name);
void files_put_tar(struct api *api, struct request *rq, struct str name);
void files_get(struct api *api, struct request *rq, struct str name);
void files_get_tar(struct api *api, struct request *rq, struct str name);
void files_stat(struct api *api, struct request *rq, struct str name);
void files_mkdir(struct api *api, struct request *rq, struct str name);
void files_move(struct api *api, struct request *rq, struct str name);
void files_remove(struct api *api, struct request *rq, struct str name);

/* GET /v1/watch: a stream of events. */
void files_watch(struct api *api, struct request *rq, struct str name);

#endif
