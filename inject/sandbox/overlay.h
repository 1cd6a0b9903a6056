/*
 * Folders of the host that a sandbox can write to without changing them: written files
 * are stored in a volume, which the engine keeps and which is removed with the sandbox.
 */
#ifndef INJECT_SANDBOX_OVERLAY_H
#define INJECT_SANDBOX_OVERLAY_H

#include "inject/engine/engine.h"
#include "inject/names/state.h"
#include "inject/sandbox/settings/settings.h"

struct overlay {
	char name[STATE_OVERLAY_MAX + 1]; /* of the volume; empty for none */
	struct arena arena;
	struct settings_overlay *dirs; /* an element for each overlay of the settings */
};

/*
 * Creates the volume for the overlays of s, if there are any, with an upper and a work
 * folder for each, through a container of image that is never started. Its labels name
 * the sandbox as the owner. 0; -EINTR, -ENOMEM or FAIL_*. The caller calls overlay_undo
 * or overlay_free in any case.
 */
int overlay_make(const struct engine *e, const char *image, const char *sandbox,
	const struct settings *s, struct overlay *o) MUST_USE;
void overlay_free(struct overlay *o);
/* Removes the volume and frees o. */
void overlay_undo(const struct engine *e, struct overlay *o, const char *sandbox);

/*
 * Removes the volume called name, if the engine reports our label on it and, unless the
 * volume is of a version without that label, sandbox as its owner. Other volumes stay.
 */
void overlay_remove(const struct engine *e, const char *name, const char *sandbox);

#endif
