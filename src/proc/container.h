/*
 * Whether this program runs in a container, so that /etc belongs to the sandbox and not
 * to a machine that has other users.
 */
#ifndef PROC_CONTAINER_H
#define PROC_CONTAINER_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct container_facts {
	/* Inode numbers of /proc/self/ns/...; 0: the kernel does not show it. */
	uint64_t pid_ns, ipc_ns, uts_ns;
	bool is_first;     /* the program was started as process 1 */
	struct str mounts; /* the text of /proc/self/mountinfo */
};

/*
 * True if the facts prove it, which is the case
 * - with a namespace of its own, and two of /etc/hosts, /etc/hostname and
 *   /etc/resolv.conf mounted from elsewhere: container engines do that;
 * - as process 1 of the first PID namespace: a virtual machine that runs nothing else.
 * All else is no proof: /.dockerenv is copied with a root file system, variables of the
 * environment are inherited, unshare and service managers make single namespaces.
 */
bool container_is_proved(const struct container_facts *f);

/* Reads the facts of this process and judges them. */
bool container_detect(bool is_first);

#endif
