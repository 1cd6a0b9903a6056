/* A plugin on the disk: a folder with a manifest, served by a process of its own. */
#ifndef PLUG_EXTERNAL_H
#define PLUG_EXTERNAL_H

#include "plug/plug.h"

struct external;

/*
 * Reads the manifest of the folder called name. One that is bad makes a plugin with
 * plugin->missing set; a folder without one is files alone, with nothing to start.
 * NULL: out of memory.
 */
struct external *external_new(struct box *box, const char *name);
/* Its process is stopped. */
void external_del(struct external *e);

const struct plugin *external_plugin(const struct external *e);
/* It clashes with another: it will not be started, and has no actions any more. */
void external_refuse(struct external *e, const char *why);

#endif
