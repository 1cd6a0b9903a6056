/* The routes that search files: /v1/glob and /v1/grep; see docs/protocol.md. */
#ifndef SRV_SEARCH_H
#define SRV_SEARCH_H

#include "srv/api.h"

void search_glob(struct api *api, struct request *rq, struct str name);
void search_grep(struct api *api, struct request *rq, struct str name);
/* Who asked has left: the search ends. */
void search_gone(struct request *rq);

#endif
