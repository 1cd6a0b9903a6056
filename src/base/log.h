/*
 * One line per decision, on stderr, for the operator. Called by the function
 * that decides, never by base or by an engine. Control bytes in the text are
 * shown as '?', so that what a sandbox prints cannot forge lines. Never waits: a line
 * for which stderr has no room is lost.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

/* The name that starts each line; a string that lives as long as the program. */
void log_name(const char *name);

/* Nothing but errors from now on. */
void log_quiet(void);

void log_info(const char *fmt, ...) PRINTF(1, 2);
void log_warn(const char *fmt, ...) PRINTF(1, 2);
void log_error(const char *fmt, ...) PRINTF(1, 2);

#endif
