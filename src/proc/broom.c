#include "proc/broom.h"

#include "base/fd.h"
#include "proc/spawn.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits in 0 for the end; the folder is at 1. */
static _Noreturn void child(
	int in, int dir, const char *name, broom_fn *fn, const void *arg)
{
	ssize_t n = -1;
	char nothing;

	/* Who is told to end may well be about to leave something behind. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* What ends our maker's group shall not end us. */
	setpgid(0, 0);
	if (dup2(in, 0) == 0 && dup2(dir, 1) == 1 && fd_blocking(0) == 0) {
		/* Also the writing end of ours: else there would be no end. */
		spawn_close_from(3);
		do
			n = read(0, &nothing, 1);
		while (n < 0 && errno == EINTR);
	}
	if (n == 0)
		fn(1, name, arg);
	_exit(0);
}

void broom_begin(
	struct broom *b, int dir, const char *name, broom_fn *fn, const void *arg)
{
	int pair[2];
	pid_t pid;

	*b = (struct broom){.fd = -1};
	if (fd_pipe(pair) < 0)
		return;
	pid = fork();
	if (pid == 0)
		child(pair[0], dir, name, fn, arg);
	fd_close(&pair[0]);
	if (pid < 0)
		fd_close(&pair[1]);
	else
		*b = (struct broom){.pid = pid, .fd = pair[1]};
}

void broom_end(struct broom *b, bool done)
{
	if (b->pid == 0)
		return;
	/* Its user can stop it, and would stop us as well: we wait for it. */
	kill(b->pid, done ? SIGKILL : SIGCONT);
	fd_close(&b->fd);
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	b->pid = 0;
}
