/* The picture of a browser: GET /v1/browser/screen, see docs/protocol.md. */
#ifndef PLUGIN_SCREEN_H
#define PLUGIN_SCREEN_H

#include "plugin/plugin.h"

/* For external_builtin. These functions keep their state in p->more. */
void screen_on_ready(struct plugin_instance *p);
bool screen_on_frame(struct plugin_instance *p, struct str frame);
/*
 * For plugin->drain, and before external_builtin_stop: ends the replies of all viewers.
 */
void screen_drain(struct plugin_instance *p);

/* For the route. */
void screen_handle(struct plugin_instance *p, struct request *rq);

#endif
