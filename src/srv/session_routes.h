/* The routes below /v1/sessions; name is that of a session, legal but perhaps unknown. */
#ifndef SRV_SESSION_ROUTES_H
#define SRV_SESSION_ROUTES_H

#include "srv/api.h"

/* Lists all sessions. */
void sessions_list(struct api *api, struct request *rq, struct str name);
/* Ends one with all that runs in it; answered when that is over. */
void sessions_end(struct api *api, struct request *rq, struct str name);
/* Who asked for that has left. */
void sessions_end_gone(struct request *rq);
/* A part of the raw output of its present command. */
void sessions_output(struct api *api, struct request *rq, struct str name);

#endif
