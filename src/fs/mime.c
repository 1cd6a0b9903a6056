#include "fs/mime.h"

struct mime {
	const char *ext;
	const char *type;
};

/* The list of the wire contract; other files are text or refused as binary. */
static const struct mime mimes[] = {
	{"png", "image/png"},
	{"jpg", "image/jpeg"},
	{"jpeg", "image/jpeg"},
	{"bmp", "image/bmp"},
	{"gif", "image/gif"},
	{"pdf", "application/pdf"},
	{"mp4", "video/mp4"},
	{"webm", "video/webm"},
	{"ogg", "audio/ogg"},
};

const char *mime_find_type(struct str ext)
{
	for (size_t i = 0; i < ARRAY_LEN(mimes); i++)
		if (str_eq_nocase(ext, str_c(mimes[i].ext)))
			return mimes[i].type;
	return NULL;
}
