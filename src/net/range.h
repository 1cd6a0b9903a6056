/* The field Range (RFC 9110, 14). */
#ifndef NET_RANGE_H
#define NET_RANGE_H

#include "base/str.h"

struct range {
	uint64_t from, n;
};

/*
 * One range in bytes of what has size bytes. 0; 1 when there is none, or it is of a kind
 * that may be passed over: another unit, several, no grammar; ERR_RANGE when nothing of
 * it is there (416).
 */
int range_read(struct str field, uint64_t size, struct range *out) MUST_USE;

#endif
