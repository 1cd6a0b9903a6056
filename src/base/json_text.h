/*
 * The inside of JSON strings (RFC 8259, section 7), for the reader and the writer.
 * "Inside" is the text between the quotes of a checked string, with its escapes.
 */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include "base/str.h"

/*
 * The length of the prefix that needs no escapes in a string: no control characters,
 * quotes or backslashes. UTF-8 is not checked.
 */
size_t json_plain_length(struct str s);

/* The number that the four hexadecimal digits at p stand for; -1 for others. */
int json_parse_hex4(const char *p);
bool json_is_high_surrogate(int unit);
bool json_is_low_surrogate(int unit);

/*
 * Takes the next piece off *inside and returns it decoded: all text before the next
 * escape, or one escape, put into out. Empty only at the end.
 */
struct str json_decode_next(struct str *inside, char out[4]);

/* Orders two insides by their decoded bytes: negative, 0 or positive. */
int json_compare(struct str a, struct str b);
/* Whether an inside, decoded, equals the plain text want. */
bool json_text_equals(struct str inside, struct str want);

#endif
