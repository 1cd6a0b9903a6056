/*
 * The memory controller of the sandbox's control group, as a container sees its own
 * group: version 2 at /sys/fs/cgroup, version 1 at /sys/fs/cgroup/memory. The processor
 * time of version 1 is at /sys/fs/cgroup/cpuacct.
 *
 * A value that the kernel does not provide is an error, never a guess: no mounted
 * controller, the root group of version 2, gVisor, kernels before Linux 4.13 for the
 * count of kills.
 */
#ifndef PROC_CGROUP_H
#define PROC_CGROUP_H

#include "base/str.h"

#define CGROUP_MOUNT "/sys/fs/cgroup"

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

struct cgroup {
	enum cgroup_version version;
	char folder[64]; /* of the memory controller */
	int kills;       /* open file with the count of kills; -1: none */
};

/* Finds the controller below mount (CGROUP_MOUNT, or a folder of a test). */
void cgroup_find(struct cgroup *g, const char *mount);
void cgroup_close(struct cgroup *g);

/*
 * Each reads files of the kernel, 7 us per file, or 1 us for the kills. 0; -ENODATA
 * where the group has no limit; or another negative error where the value is unknown.
 * g may be NULL: unknown.
 */
int cgroup_memory_limit(const struct cgroup *g, uint64_t *bytes) MUST_USE;
/* Includes the page cache. */
int cgroup_memory_usage(const struct cgroup *g, uint64_t *bytes) MUST_USE;
/*
 * The bytes below the limit that are free or hold page cache, which the kernel reclaims.
 * Shared memory and other files of tmpfs count as used: they are on no list of files.
 */
int cgroup_memory_available(const struct cgroup *g, uint64_t *bytes) MUST_USE;
/* Without the page cache that the kernel can drop at once, as docker stats counts. */
int cgroup_memory_used(const struct cgroup *g, uint64_t *bytes) MUST_USE;
/* Processor time of all processes of the group since it was made, in microseconds. */
int cgroup_cpu_usage(const struct cgroup *g, uint64_t *usec) MUST_USE;
/* Processes of the group that the out-of-memory killer has ended so far. */
int cgroup_oom_kills(const struct cgroup *g, uint64_t *kills) MUST_USE;

#endif
