#include "proc/pidwait.h"

#include "base/fd.h"
#include "base/pause.h"

#include <errno.h>
#include <poll.h>

void pidwait_end(pid_t pid, uint64_t deadline)
{
	int fd = fd_open_pidfd(pid);
	int r = fd < 0 ? fd : fd_wait(fd, POLLIN, deadline);

	/*
	 * ESRCH: the process has ended. Other errors come from old kernels and filters.
	 */
	if (r < 0 && r != -ESRCH)
		pause_until(deadline);
	fd_close(&fd);
}
