/*
 * Writes the head of a request. Every byte is checked before anything is sent: a method
 * is a token, a target consists of visible ASCII, a field is a single line. Without I/O.
 */
#ifndef CODEC_HTTP_REQUEST_HEAD_H
#define CODEC_HTTP_REQUEST_HEAD_H

#include "base/buf.h"

/*
 * Appends "METHOD TARGET HTTP/1.1" and the field Host. The target is prefix and target
 * joined, and begins with '/'. If a part is not valid, out fails with -EINVAL.
 */
struct request_line {
	const char *method;
	struct str prefix; /* may be empty */
	struct str target;
	struct str host;
};
void request_head_begin(struct buf *out, const struct request_line *line);

/* Appends a field. A bad name or control bytes in value make out fail with -EINVAL. */
void request_head_put_field(struct buf *out, struct str name, struct str value);

/* Appends whole fields, each with its CR LF, after the same checks. */
void request_head_put_fields(struct buf *out, struct str fields);

#endif
