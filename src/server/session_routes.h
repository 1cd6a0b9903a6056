/*
 * The routes below /v1/sessions. name is a legal session name; the session may not exist.
 */
#ifndef SERVER_SESSION_ROUTES_H
#define SERVER_SESSION_ROUTES_H

#include "server/api.h"

/* Lists all sessions. */
void sessions_list(struct api *api, struct request *rq, struct str name);
/* Ends a session and all processes in it. Replies when they have ended. */
void sessions_end(struct api *api, struct request *rq, struct str name);
/* The connection of a sessions_end request is closed. */
void sessions_on_end_close(struct request *rq);
/* Replies with a part of the raw output of the session's present command. */
void sessions_output(struct api *api, struct request *rq, struct str name);

#endif
