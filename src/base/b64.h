/* Base64 (RFC 4648 section 4): standard alphabet, padded, no line breaks. */
#ifndef BASE_B64_H
#define BASE_B64_H

#include "base/buf.h"

/*
 * Appends the encoding of in, (in.n + 2) / 3 * 4 characters. A long input may be given in
 * pieces when each but the last is a multiple of 3 bytes. Failures are stored in the buf.
 */
void b64_encode(struct buf *out, struct str in);

/*
 * Appends the decoding of in. Strict: ERR_SYNTAX, with out unchanged, for a foreign
 * character, blanks, missing or misplaced padding, and set bits behind the last byte. A
 * lack of space is stored in the buf and is returned as well.
 */
int b64_decode(struct buf *out, struct str in) MUST_USE;

#endif
