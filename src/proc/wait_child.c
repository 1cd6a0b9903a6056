#include "proc/wait_child.h"

#include <errno.h>
#include <stddef.h>
#include <sys/wait.h>

int wait_child_poll(pid_t pid)
{
	siginfo_t end = {0};

	if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		!end.si_pid)
		return -1;
	return end.si_code == CLD_EXITED ? end.si_status << 8 : end.si_status;
}

void wait_child_reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
