#include "proc/cleanup_guard.h"

#include "base/fd.h"
#include "proc/spawn.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits at 0 for the end of the maker; the folder is at 1. */
static _Noreturn void cleanup_guard_run(
	int in, int dir, const char *name, cleanup_guard_fn *fn, const void *arg)
{
	ssize_t n = -1;
	char nothing;

	/* These are ignored because the maker may leave a file while it ends. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* A signal to the group of the maker must not end this process. */
	setpgid(0, 0);
	if (dup2(in, 0) == 0 && dup2(dir, 1) == 1 && fd_set_blocking(0) == 0) {
		/*
		 * This also closes our copy of the writing end: with it the read would
		 * never end.
		 */
		spawn_close_from(3);
		do
			n = read(0, &nothing, 1);
		while (n < 0 && errno == EINTR);
	}
	if (n == 0)
		fn(1, name, arg);
	_exit(0);
}

void cleanup_guard_begin(struct cleanup_guard *b, int dir, const char *name,
	cleanup_guard_fn *fn, const void *arg)
{
	int pair[2];
	pid_t pid;

	*b = (struct cleanup_guard){.fd = -1};
	if (fd_pipe(pair) < 0)
		return;
	pid = fork();
	if (pid == 0)
		cleanup_guard_run(pair[0], dir, name, fn, arg);
	fd_close(&pair[0]);
	if (pid < 0)
		fd_close(&pair[1]);
	else
		*b = (struct cleanup_guard){.pid = pid, .fd = pair[1]};
}

void cleanup_guard_end(struct cleanup_guard *b, bool done)
{
	if (b->pid == 0)
		return;
	/*
	 * The sandbox user may have stopped the process; waitpid would then never return.
	 */
	kill(b->pid, done ? SIGKILL : SIGCONT);
	fd_close(&b->fd);
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	b->pid = 0;
}
