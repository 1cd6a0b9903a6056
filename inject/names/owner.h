/*
 * The identity, as text for a label or a name, of the process that creates an object at
 * an engine. It separates the objects of a process that was killed from those of a living
 * process.
 */
#ifndef INJECT_NAMES_OWNER_H
#define INJECT_NAMES_OWNER_H

#include "base/str.h"
#include "inject/names/state.h"

/* Replaces owner_text in a label if the process has none; such a process may live. */
#define OWNER_UNKNOWN "-"

enum { OWNER_MAX = 96, OWNER_LABEL_MAX = STATE_NAME_MAX + 1 + OWNER_MAX };

/*
 * "MACHINE.BOOT.NAMESPACE.PID.START.TIME" of this process: 16 digits of hashes of
 * /etc/machine-id ("-" without) and the kernel's boot id, the inode of the namespace of
 * process ids, the pid and its start time, and the time in seconds since 1970. Only
 * [0-9a-f.-]. "" if the kernel does not show these; then no object counts as left over.
 */
const char *owner_text(void);

/*
 * The value of a label for the container or volume called name: the name, a blank, and
 * owner_text or OWNER_UNKNOWN; "" if name is NULL.
 */
void owner_label(const char *name, char out[OWNER_LABEL_MAX]);
/* Whether text has the form of such a value. */
bool owner_is_label(struct str text);

/*
 * Compares the process in an owner's text with this machine. OWNER_ENDED: it ran in this
 * boot and has ended; OWNER_REBOOTED: it ran here before a boot, an hour ago or more. A
 * process of another machine or namespace, and invalid text, may live. The hour is needed
 * because copies of a virtual machine may share their machine id.
 */
enum owner_state { OWNER_ALIVE, OWNER_ENDED, OWNER_REBOOTED };
enum owner_state owner_find_state(struct str text);

/*
 * The owner's text in a label of the object called name; empty if the label is that of
 * another object, from which it was inherited through an image.
 */
struct str owner_from_label(struct str label, struct str name);
/* The owner's text in a name of the form "NAME.TEXT". */
struct str owner_from_name(struct str name);

#endif
