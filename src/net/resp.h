/* Writes response heads into a buf. The caller checks the buf's sticky error once. */
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
 * Appends a field line. A name that is no token, or a value with control bytes, which
 * could inject further headers, makes out->err ERR_SYNTAX.
 */
void resp_field(struct buf *out, struct str name, struct str value);
void resp_length(struct buf *out, uint64_t n);
/* Appends the empty line. */
void resp_end(struct buf *out);

#endif
