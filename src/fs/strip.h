/* Strips blanks as Python's str.strip does: those of ASCII and of Unicode. */
#ifndef FS_STRIP_H
#define FS_STRIP_H

#include "base/str.h"

/*
 * Returns s without blanks at its end, or at both ends. s is UTF-8; invalid bytes are
 * allowed.
 */
struct str strip_end(struct str s);
struct str strip_both(struct str s);

#endif
