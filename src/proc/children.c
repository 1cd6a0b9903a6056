#include "proc/children.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static struct child *watched;

void children_watch(struct child *c, pid_t pid, child_fn *fn)
{
	children_forget(c);
	*c = (struct child){.pid = pid, .fn = fn, .next = watched};
	watched = c;
}

void children_forget(struct child *c)
{
	struct child **at = &watched;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	c->pid = 0;
}

static int children_make_status(const siginfo_t *si)
{
	if (si->si_code == CLD_EXITED)
		return (si->si_status & 0xff) << 8;
	return si->si_status | (si->si_code == CLD_DUMPED ? 0x80 : 0);
}

/* Signals coalesce: reaps until there is nothing left to reap. */
static void children_on_sigchld(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	for (;;) {
		siginfo_t si = {0};
		struct child *c = watched;

		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || !si.si_pid)
			return;
		while (c && c->pid != si.si_pid)
			c = c->next;
		if (c) {
			child_fn *fn = c->fn;

			children_forget(c);
			fn(c, children_make_status(&si));
		}
		if (waitpid(si.si_pid, NULL, 0) < 0 && errno == ECHILD)
			return;
	}
}

int children_init(struct loop *l)
{
	return loop_handle_signal(l, SIGCHLD, children_on_sigchld, NULL);
}
