/* The output of a container, decoded from the engine's frames. */
#ifndef INJECT_ENGINE_CONTAINER_LOG_H
#define INJECT_ENGINE_CONTAINER_LOG_H

#include "inject/engine/engine.h"

/*
 * Requests the text that a container has written to stderr so far. fmt and its arguments
 * are the end of the query, as in target_add, such as "&stdout=1". 0 with any status, or
 * the error of the call, which is not printed. http_client_close in any case.
 */
int container_log_open(const struct engine *e, const char *id, struct http_client *c,
	const char *fmt, ...) PRINTF(4, 5) MUST_USE;

/*
 * Reads the answer of c (its head is there) to its end and copies it to stdout and
 * stderr. 0 at the end; -EINTR, -EPIPE, ERR_SYNTAX and so on.
 */
int container_log_copy(struct http_client *c) MUST_USE;

/*
 * Prints the last lines of such an answer on stderr, or as many as arrive until the
 * engine is silent for idle_ms. True if "exec format error" is among them.
 */
bool container_log_show(struct http_client *c, uint32_t idle_ms);

/*
 * Copies the n characters after the first mark in such an answer. Reads until they are
 * found, the answer ends, or the engine is silent for idle_ms. False: they were not
 * found.
 */
bool container_log_find(
	struct http_client *c, uint32_t idle_ms, struct str mark, char *out, size_t n);

#endif
