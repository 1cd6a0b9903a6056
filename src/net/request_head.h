/*
 * Writes the head of a request. Every byte is checked before anything is sent: a method
 * is a token, a target has visible ASCII alone, a field is one line. Without I/O.
 */
#ifndef NET_REQUEST_HEAD_H
#define NET_REQUEST_HEAD_H

#include "base/buf.h"

/*
 * Appends "METHOD TARGET HTTP/1.1" and the field Host; the target is prefix and target,
 * and begins with '/'. out fails with -EINVAL for what cannot stand there.
 */
struct request_line {
	const char *method;
	struct str prefix; /* may be empty */
	struct str target;
	struct str host;
};
void request_head_begin(struct buf *out, const struct request_line *line);

/* Appends a field; out fails with -EINVAL for a bad name, or control bytes in value. */
void request_head_field(struct buf *out, struct str name, struct str value);

/* Appends whole fields, each with its CR LF, that are checked in the same way. */
void request_head_fields(struct buf *out, struct str fields);

#endif
