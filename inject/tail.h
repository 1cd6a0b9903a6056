/* What a container has written, taken out of the engine's frames. */
#ifndef INJECT_TAIL_H
#define INJECT_TAIL_H

#include "inject/engine.h"

/*
 * Requests the text that a container has written to stderr so far. fmt and its arguments
 * are the end of the query, as in target_add, such as "&stdout=1". 0 with any status, or
 * the error of the call, which is not printed. call_close in any case.
 */
int tail_open(const struct engine *e, const char *id, struct call *c, const char *fmt,
	...) PRINTF(4, 5) MUST_USE;

/*
 * Reads the answer of c (its head is there) to its end and copies it to stdout and
 * stderr. 0 at the end; -EINTR, -EPIPE, ERR_SYNTAX and so on.
 */
int tail_copy(struct call *c) MUST_USE;

/*
 * Shows the last lines of such an answer, or as many as come until the engine is
 * silent for idle_ms, on stderr. True when "exec format error" is among them.
 */
bool tail_show(struct call *c, uint32_t idle_ms);

/*
 * The n characters behind the first mark in such an answer, or as much of it as comes
 * until the engine is silent for idle_ms. False where they are not there.
 */
bool tail_find(struct call *c, uint32_t idle_ms, struct str mark, char *out, size_t n);

#endif
