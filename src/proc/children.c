#include "proc/children.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static struct list watched;

void children_watch(struct child *c, pid_t pid, child_fn *fn)
{
	children_forget(c);
	c->pid = pid;
	c->fn = fn;
	list_prepend(&watched, &c->node);
}

void children_forget(struct child *c)
{
	list_remove(&c->node);
	c->pid = 0;
}

static struct child *children_find(pid_t pid)
{
	LIST_EACH (struct child, c, &watched, node)
		if (c->pid == pid)
			return c;
	return NULL;
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
		struct child *c;

		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || !si.si_pid)
			return;
		c = children_find(si.si_pid);
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
