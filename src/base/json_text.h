/*
 * The inside of JSON strings (RFC 8259, section 7), for the reader and the
 * writer. "Inside" is what stands between the quotes of a checked string, with
 * its escapes.
 */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include "base/str.h"

/*
 * Length of the run at the front that stands for itself in a string: neither
 * control characters nor quotes nor backslashes. UTF-8 is not looked at.
 */
size_t json_plain(struct str s);

/* The number that the four hexadecimal digits at p stand for; -1 for others. */
int json_hex4(const char *p);
bool json_high_surrogate(int unit);
bool json_low_surrogate(int unit);

/*
 * Takes the next piece off *inside and returns it decoded: all that stands
 * before the next escape, or one escape, put into out. Empty at the end only.
 */
struct str json_piece(struct str *inside, char out[4]);

/* Orders two insides by their decoded bytes: negative, 0 or positive. */
int json_compare(struct str a, struct str b);
/* Whether an inside means the plain text want. */
bool json_means(struct str inside, struct str want);

#endif
