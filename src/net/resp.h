/* Response heads: written into a buf, whose sticky error is looked at once. */
#ifndef NET_RESP_H
#define NET_RESP_H

#include "base/buf.h"

/* The interim answer to "Expect: 100-continue". */
#define RESP_CONTINUE STR("HTTP/1.1 100 Continue\r\n\r\n")

/* The registered reason phrase; "Unknown" for statuses not used here. */
const char *resp_reason(unsigned status);

/* The status line; status is 100..599. */
void resp_start(struct buf *out, unsigned status);
/*
 * One field line. A name that is no token, or a value with control bytes, which
 * would let a caller's data write headers of its own, makes out->err ERR_SYNTAX.
 */
void resp_field(struct buf *out, struct str name, struct str value);
void resp_length(struct buf *out, uint64_t n);
/* The empty line. */
void resp_end(struct buf *out);

#endif
