/* The picture of a browser: GET /v1/browser/screen, see docs/protocol.md. */
#ifndef PLUGIN_SCREEN_H
#define PLUGIN_SCREEN_H

#include "plugin/plug.h"

/* For external_own. These functions keep their state in p->more. */
void screen_ready(struct plug *p);
bool screen_said(struct plug *p, struct str frame);
/* For plugin->drain, and before external_own_stop: ends the replies of all viewers. */
void screen_drain(struct plug *p);

/* For the route. */
void screen_handle(struct plug *p, struct request *rq);
void screen_room(struct request *rq);
void screen_gone(struct request *rq);

#endif
