/* How a browser looks: GET /v1/browser/screen, see docs/protocol.md. */
#ifndef PLUG_SCREEN_H
#define PLUG_SCREEN_H

#include "plug/plug.h"

/* For external_own, of a plug whose more these keep. */
void screen_ready(struct plug *p);
bool screen_said(struct plug *p, struct str frame);
/* For plugin->drain, and before external_own_stop: ends the replies of who looks on. */
void screen_drain(struct plug *p);

/* For its route. */
void screen_handle(struct plug *p, struct request *rq);
void screen_room(struct request *rq);
void screen_gone(struct request *rq);

#endif
