/* The times in an engine's answers. No I/O. */
#ifndef INJECT_ENGINE_ENGINE_TIME_H
#define INJECT_ENGINE_ENGINE_TIME_H

#include "base/str.h"

/*
 * Reads a time of RFC 3339 as engines write it: 2026-01-02T03:04:05.678901234Z, or with
 * +01:00. False: it is not valid. *seconds are those since 1970; they are negative for
 * an event that has not happened (year 1).
 */
bool engine_time_read(struct str text, int64_t *seconds, uint32_t *nanos) MUST_USE;

#endif
