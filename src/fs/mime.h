/* Files that a client shows instead of reading: images, PDF, video. */
#ifndef FS_MIME_H
#define FS_MIME_H

#include "base/str.h"

/*
 * The media type for a file name's extension (without its dot, any case), or NULL if
 * files of that kind are read as text.
 */
const char *mime_find_type(struct str ext);

#endif
