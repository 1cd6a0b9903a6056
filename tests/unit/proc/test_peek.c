#include "base/clock.h"
#include "base/fd.h"
#include "proc/inspect.h"
#include "tests/tap.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct stat st;
	int there[2], words = fd_create_memory("test", 0);
	char c;
	pid_t pid;

	if (words < 0 || fstat(words, &st) || fd_pipe(there) < 0)
		return 1;
	is_int(inspect_find_stderr(st.st_dev, st.st_ino), 0,
		"a new file is of no process");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		signal(SIGUSR1, SIG_IGN);
		if (dup2(words, 2) != 2 || write(there[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	is_int(fd_wait(there[0], POLLIN, clock_ms() + 60000), 1, "a process begins");
	is_int(read(there[0], &c, 1), 1, "and makes it its standard error");
	is_int(inspect_find_stderr(st.st_dev, st.st_ino), pid, "that process is found");
	ok(inspect_ignores_signal(pid, SIGUSR1), "a signal that it ignores");
	ok(!inspect_ignores_signal(pid, SIGUSR2), "one that it does not");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(inspect_find_stderr(st.st_dev, st.st_ino), 0, "not after its end");
	if (dup2(words, 2) == 2)
		is_int(inspect_find_stderr(st.st_dev, st.st_ino), 0, "nor this process");
	return done_testing();
}
