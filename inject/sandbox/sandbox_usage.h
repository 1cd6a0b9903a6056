/* Processor time and memory that running sandboxes use. */
#ifndef INJECT_SANDBOX_SANDBOX_USAGE_H
#define INJECT_SANDBOX_SANDBOX_USAGE_H

#include "inject/sandbox/sandbox_info.h"

/*
 * Fills in measured, cpu_ns and memory of each of the n sandboxes that runs and whose
 * server answers on a port of this machine. thorough: requests the figures of the others
 * from the engine, which takes some engines a second. 32 requests run at the same time,
 * each for at most a second (engine: three). Prints nothing. Root in a sandbox can forge
 * the figures of its server. 0 or -EINTR.
 */
int sandbox_usage_measure(const struct engine *e, struct sandbox_info *infos, size_t n,
	bool thorough) MUST_USE;

#endif
