/*
 * The labels of the containers and volumes that od-runtime creates. A container inherits
 * the labels of its image, so every label is written at creation, empty if unused, and a
 * value that is read back counts only in the exact form of its row.
 */
#ifndef INJECT_NAMES_SANDBOX_LABEL_H
#define INJECT_NAMES_SANDBOX_LABEL_H

#include "base/jw.h"
#include "inject/http/json_doc.h"

/* The prefix of the names of overlay volumes. */
#define SANDBOX_OVERLAY_PREFIX "od-overlay-"

enum sandbox_label {
	SANDBOX_LABEL_MARK,    /* "1": a sandbox */
	SANDBOX_LABEL_IMAGE,   /* the name of its image, as the user typed it */
	SANDBOX_LABEL_METHOD,  /* the injection method */
	SANDBOX_LABEL_PORT,    /* its port in the host's network */
	SANDBOX_LABEL_OVERLAY, /* its overlay volume; on that volume: "1" */
	SANDBOX_LABEL_NAME,    /* on an overlay volume: the name of its sandbox */
	SANDBOX_LABEL_OWNER,   /* the process that created it, see owner.h */
	SANDBOX_LABEL_BOUND,   /* the same process, for a sandbox that ends with it */
	SANDBOX_LABEL_PROBE,   /* "1": a container that is never started */
	SANDBOX_LABELS,
};

const char *sandbox_label_name(enum sandbox_label which);

/* Writes all labels, as members of the object that the caller has begun. */
void sandbox_label_write_all(const struct str values[SANDBOX_LABELS], struct jw *w);

/* The value in labels, an object of d; empty if it is absent or not valid. */
struct str sandbox_label_read(
	struct json_doc *d, struct json_val labels, enum sandbox_label which);

/*
 * The owner's text (owner.h) in SANDBOX_LABEL_OWNER or _BOUND of the object name; empty
 * if the label is absent, not valid, or names another object.
 */
struct str sandbox_label_owner(struct json_doc *d, struct json_val labels,
	enum sandbox_label which, struct str name);

/*
 * Whether name begins with "od.", the reserved prefix of od-runtime's labels. *which is
 * the label's row, or SANDBOX_LABELS if it has none.
 */
bool sandbox_label_is_reserved(struct str name, enum sandbox_label *which);

/* Whether name is "od-overlay-" and 16 lower-case hex digits. */
bool sandbox_label_is_overlay(struct str name);

/* Whether the volume or container with these labels has the value "1" in the label. */
bool sandbox_label_is_set(
	struct json_doc *d, struct json_val labels, enum sandbox_label which);

#endif
