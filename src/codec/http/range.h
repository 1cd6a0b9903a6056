/* The field Range (RFC 9110, 14). */
#ifndef CODEC_HTTP_RANGE_H
#define CODEC_HTTP_RANGE_H

#include "base/str.h"

struct range {
	uint64_t from, n;
};

/*
 * Reads a range of bytes of a content of size bytes. 0; 1: there is no range, or the
 * server may ignore it: another unit, several ranges, or a malformed value; ERR_RANGE: no
 * byte of it exists (status 416).
 */
int range_read(struct str field, uint64_t size, struct range *out) MUST_USE;

#endif
