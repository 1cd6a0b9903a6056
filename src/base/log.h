/*
 * A line per decision, on stderr, for the operator. The function that decides calls it,
 * never base or an engine. Control bytes in the text are shown as '?', so that output of
 * a sandbox cannot forge lines. Never waits: a line for which stderr has no space is
 * lost.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

/* The name that starts each line; a string that lives as long as the program. */
void log_set_name(const char *name);

/* From now on only errors are logged. */
void log_set_quiet(void);

void log_info(const char *fmt, ...) PRINTF(1, 2);
void log_warn(const char *fmt, ...) PRINTF(1, 2);
void log_error(const char *fmt, ...) PRINTF(1, 2);

#endif
