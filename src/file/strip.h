/* Blanks as Python's str.strip knows them: ASCII's, and those of Unicode. */
#ifndef FILE_STRIP_H
#define FILE_STRIP_H

#include "base/str.h"

/* s, which is UTF-8 or nearly, without blanks at its end, or at both ends. */
struct str strip_end(struct str s);
struct str strip_both(struct str s);

#endif
