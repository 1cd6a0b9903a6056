/* Processor time and memory that running sandboxes use. */
#ifndef INJECT_SANDBOX_USAGE_H
#define INJECT_SANDBOX_USAGE_H

#include "inject/sandbox_info.h"

/*
 * Fills in measured, cpu_ns and memory of those of the n that run and whose server
 * answers on a port of this machine. With thorough the engine is asked about the others,
 * which takes some engines a second. 32 are asked at the same time, a second at most.
 * Never prints. The answer of a server is as reliable as what runs in the sandbox. 0 or
 * -EINTR.
 */
int sandbox_usage_measure(const struct engine *e, struct sandbox_info *infos, size_t n,
	bool thorough) MUST_USE;

#endif
