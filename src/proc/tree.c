#include "proc/tree.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "limits.h"
#include "proc/inspect.h"
#include "proc/pidwait.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Processes in one snapshot, 20 bytes each: all of most systems. */
enum { TREE_PROCS_MAX = 32768 };

enum {
	STAT_ROOM = 512,
	ROUNDS = 8,
	/* longest wait: another process may have been forked meanwhile */
	LOOK_MS = 20,
	KILL_LOOK_MS = 2, /* longest wait while new processes are killed, too */
};

enum kin { KIN_UNKNOWN, KIN_OURS, KIN_OTHER };

struct proc {
	pid_t pid;
	pid_t parent;
	pid_t group;
	pid_t session;
	enum kin kin;
	char state;
	bool tty;     /* it has a controlling terminal */
	bool parents; /* a listed process is its child */
};

/*
 * A snapshot of the system: the live processes, sorted by pid. Static, because init has
 * no heap; the next snapshot overwrites it.
 */
static struct proc procs[TREE_PROCS_MAX];
static size_t procs_n;
static uint64_t procs_moment; /* of struct tree, for which procs was listed */

static pid_t tree_parse_pid(struct str text)
{
	uint64_t pid;

	return str_u64(text, INT32_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

/* "PID (NAME) STATE PPID PGRP SESSION TTY ..."; false for dead processes. */
static bool tree_parse_stat(struct str text, struct proc *p, struct str *name)
{
	struct str rest = text, state;
	size_t open = str_find_byte(text, '(');

	/* The name may hold any byte, including parentheses. */
	while (rest.n && rest.p[rest.n - 1] != ')')
		rest.n--;
	if (rest.n < open + 2)
		return false;
	*name = str_make(text.p + open + 1, rest.n - open - 2);
	rest = str_skip(text, rest.n + 1);
	state = str_cut(&rest, ' ');
	p->parent = tree_parse_pid(str_cut(&rest, ' '));
	p->group = tree_parse_pid(str_cut(&rest, ' '));
	p->session = tree_parse_pid(str_cut(&rest, ' '));
	p->tty = !str_eq(str_cut(&rest, ' '), STR("0"));
	p->state = state.n == 1 ? state.p[0] : 'X';
	return p->state != 'Z' && p->state != 'X';
}

/* False when the process has ended. */
static bool tree_read_stat(pid_t pid, struct proc *p, char name[TREE_NAME])
{
	char path[64], text[STAT_ROOM];
	struct str view;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = fd_open(path, O_RDONLY, 0);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	fd_close(&fd);
	*p = (struct proc){.pid = pid};
	if (n <= 0 || !tree_parse_stat(str_make(text, (size_t)n), p, &view))
		return false;
	snprintf(name, TREE_NAME, "%.*s", STR_ARG(view));
	return true;
}

static int tree_compare_pids(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct proc *tree_find_proc(pid_t pid)
{
	struct proc key = {.pid = pid};

	return bsearch(&key, procs, procs_n, sizeof(key), tree_compare_pids);
}

static int tree_list_procs(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char name[TREE_NAME];
	struct proc self;

	procs_n = 0;
	procs_moment = 0;
	if (!d)
		return -errno;
	while (procs_n < TREE_PROCS_MAX && (e = readdir(d))) {
		pid_t pid = tree_parse_pid(str_c(e->d_name));

		if (pid > 0 && tree_read_stat(pid, &procs[procs_n], name))
			procs_n++;
	}
	closedir(d);
	qsort(procs, procs_n, sizeof(procs[0]), tree_compare_pids);
	/* /proc may be an empty folder, or belong to another PID namespace. */
	return tree_read_stat(getpid(), &self, name) && tree_find_proc(getpid())
		? 0
		: -ENOENT;
}

/* Uses the list of this moment again, or makes a new one. */
static int tree_list_cached(uint64_t moment)
{
	int r;

	if (!moment || moment != procs_moment) {
		r = tree_list_procs();
		procs_moment = r < 0 ? 0 : moment;
		return r;
	}
	for (size_t i = 0; i < procs_n; i++)
		procs[i].kin = KIN_UNKNOWN;
	return 0;
}

/* Walks up from p to a process whose kin is known, and stores the result on the way. */
static void tree_set_kin(struct proc *p)
{
	struct proc *top = p;
	enum kin kin;

	/*
	 * Parents read at different moments may form a cycle: the walk takes at most n
	 * steps.
	 */
	for (size_t i = 0; i < procs_n && top && top->kin == KIN_UNKNOWN; i++)
		top = tree_find_proc(top->parent);
	kin = top && top->kin == KIN_OURS ? KIN_OURS : KIN_OTHER;
	for (; p && p->kin == KIN_UNKNOWN; p = tree_find_proc(p->parent))
		p->kin = kin;
}

/*
 * Sets the kin of all processes; root and caller are KIN_OTHER. Returns how many are
 * KIN_OURS.
 */
static size_t tree_classify(pid_t root)
{
	pid_t outsiders[] = {root, getpid()};
	size_t ours = 0;

	for (size_t i = 0; i < procs_n; i++)
		if (root == 1 || procs[i].pid == root || procs[i].session == root)
			procs[i].kin = KIN_OURS;
	for (size_t i = 0; i < procs_n; i++)
		tree_set_kin(&procs[i]);
	for (size_t i = 0; i < ARRAY_LEN(outsiders); i++) {
		struct proc *p = tree_find_proc(outsiders[i]);

		if (p)
			p->kin = KIN_OTHER;
	}
	for (size_t i = 0; i < procs_n; i++)
		ours += procs[i].kin == KIN_OURS;
	return ours;
}

/*
 * Lists the live processes, each with its kin. A process that forks and ends between
 * being listed and being read hides its child, which is too new for the list. So an empty
 * tree has to be seen twice.
 */
static int tree_snapshot_cached(pid_t root, uint64_t moment)
{
	bool seen = false;

	assert(root > 0);
	for (int i = 0; i < (moment ? 1 : 2) && !seen; i++) {
		int r = tree_list_cached(moment);

		if (r < 0)
			return r;
		seen = tree_classify(root) > 0;
	}
	return 0;
}

static int tree_snapshot(pid_t root)
{
	return tree_snapshot_cached(root, 0);
}

/* Signals the processes of the last snapshot; returns how many there were. */
static int tree_send(int signo)
{
	int n = 0;

	/* Ascending by pid: a parent gets the signal before its children end. */
	for (size_t i = 0; i < procs_n; i++) {
		if (procs[i].kin != KIN_OURS)
			continue;
		n++;
		if (signo)
			kill(procs[i].pid, signo);
	}
	return n;
}

int tree_signal(pid_t root, int signo)
{
	int r = tree_snapshot(root);

	return r < 0 ? r : tree_send(signo);
}

int tree_signal_all(pid_t root, int signo)
{
	int r = tree_snapshot(root);

	if (r < 0)
		return r;
	kill(root, signo);
	return tree_send(signo);
}

pid_t tree_guess_foreground(pid_t root)
{
	int r = tree_list_procs();
	struct proc *shell = r == 0 ? tree_find_proc(root) : NULL;

	if (r < 0 || !shell || shell->state == 'R')
		return r < 0 ? r : root;
	/* Descending by pid: the newest child first. */
	for (size_t i = procs_n; i-- > 0;)
		if (procs[i].parent == root && procs[i].session == root &&
			procs[i].state != 'T')
			return procs[i].group;
	return root;
}

static void tree_add_survivor(struct tree *t, const struct proc *p, int err)
{
	struct tree_survivor *left = &t->survivors[t->survivors_n];
	struct proc now;

	if (t->survivors_n == TREE_SURVIVORS || !tree_read_stat(p->pid, &now, left->name))
		return;
	left->pid = p->pid;
	left->err = err;
	t->survivors_n++;
}

/*
 * Kills a whole group at once, so that a process being forked in it does not escape. The
 * groups of the root and of the caller are left out: they have processes that must live.
 * last is the group that was killed last: members of a group mostly follow one another.
 */
static int tree_kill_proc(const struct proc *p, pid_t root, pid_t *last)
{
	pid_t self = getpgrp();

	if (p->group > 1 && p->group != root && p->group != self && p->group != *last)
		kill(-p->group, SIGKILL);
	*last = p->group;
	return kill(p->pid, SIGKILL) < 0 ? -errno : 0;
}

/*
 * A process that forks all the time is faster than a snapshot. Stopped processes fork no
 * more, and they occupy the places that a process limit would free for others.
 */
static void tree_stop_all(pid_t root)
{
	bool running = true;

	for (int i = 0; running && i < ROUNDS; i++) {
		if (tree_snapshot(root) < 0)
			return;
		running = false;
		for (size_t k = 0; k < procs_n; k++)
			if (procs[k].kin == KIN_OURS && procs[k].state != 'T' &&
				kill(procs[k].pid, SIGSTOP) == 0)
				running = true;
	}
}

static void tree_kill_group(struct tree *t)
{
	t->blind = true;
	t->live = 0;
	if (t->root != getpid() && kill(-t->root, SIGKILL) == 0)
		t->killed++;
}

int tree_kill(struct tree *t)
{
	size_t before = t->live, refused = 0;
	pid_t group = 0;

	t->survivors_n = 0;
	if (t->killed && !t->moment)
		tree_stop_all(t->root);
	if (tree_snapshot_cached(t->root, t->moment) < 0) {
		tree_kill_group(t);
		return 0;
	}
	t->live = 0;
	/*
	 * Descending by pid: a process that goes on by forking and ending is the newest.
	 */
	for (size_t i = procs_n; i-- > 0;) {
		int r;

		if (procs[i].kin != KIN_OURS)
			continue;
		r = tree_kill_proc(&procs[i], t->root, &group);
		t->live++;
		refused += r == -EPERM;
		tree_add_survivor(t, &procs[i], r == -ESRCH ? 0 : r);
	}
	if (t->live - refused > before)
		t->killed += t->live - refused - before;
	if (t->live == 0)
		return 0;
	return refused == t->live ? -EPERM : 1;
}

size_t tree_kill_stopped(pid_t root)
{
	size_t n = 0;

	if (tree_snapshot(root) < 0)
		return 0;
	for (size_t i = 0; i < procs_n; i++)
		if (procs[i].kin == KIN_OURS && procs[i].state == 'T')
			n += kill(procs[i].pid, SIGKILL) == 0;
	return n;
}

void tree_kill_now(pid_t root)
{
	struct tree t = {.root = root};
	size_t before = SIZE_MAX;

	kill(root, SIGSTOP);
	/* Killed processes are listed until they are dead; only new ones count. */
	for (int i = 0; i < ROUNDS && t.killed != before; i++) {
		before = t.killed;
		if (tree_kill(&t) <= 0)
			break;
	}
	kill(root, SIGKILL);
}

/*
 * Whether SIGTERM has to be preceded by a SIGSTOP, as for shells, which SIGTERM does not
 * end. A shell ignores SIGTERM, and has a child or controls jobs (it ignores SIGTTOU).
 * Some shells catch SIGTERM if they lead the session of a terminal. Other processes that
 * ignore SIGTERM go on: a process that handles SIGTERM may wait for them.
 */
static bool tree_is_shell(const struct proc *p)
{
	bool leads = p->tty && p->pid == p->session;

	if (!inspect_ignores_signal(p->pid, SIGTERM))
		return leads && p->parents;
	return p->parents || inspect_ignores_signal(p->pid, SIGTTOU);
}

/* A shell must not execute the commands behind the one that is about to end. */
static void tree_stop_shells(pid_t root)
{
	if (tree_snapshot(root) < 0)
		return;
	for (size_t i = 0; i < procs_n; i++) {
		struct proc *parent = tree_find_proc(procs[i].parent);

		if (parent)
			parent->parents = true;
	}
	for (size_t i = 0; i < procs_n; i++)
		if (procs[i].kin == KIN_OURS && tree_is_shell(&procs[i]))
			kill(procs[i].pid, SIGSTOP);
}

/* A stopped job, but no shell, that does not ignore SIGTERM. */
static bool tree_is_stopped_job(const struct proc *p)
{
	return p->state == 'T' && !inspect_ignores_signal(p->pid, SIGTERM) &&
		!(p->tty && p->pid == p->session);
}

int tree_terminate(pid_t root)
{
	int n;

	tree_stop_shells(root);
	n = tree_signal(root, SIGTERM);
	for (size_t i = 0; n > 0 && i < procs_n; i++)
		if (procs[i].kin == KIN_OURS && tree_is_stopped_job(&procs[i]))
			kill(procs[i].pid, SIGCONT);
	return n;
}

/* A process that SIGTERM may end; 0: there is none; -errno. */
static pid_t tree_find_ending(pid_t root)
{
	int r = tree_snapshot(root);

	for (size_t i = 0; r == 0 && i < procs_n; i++)
		if (procs[i].kin == KIN_OURS && procs[i].state != 'T' &&
			!inspect_ignores_signal(procs[i].pid, SIGTERM))
			return procs[i].pid;
	return r;
}

bool tree_can_terminate(pid_t root)
{
	return tree_find_ending(root) != 0;
}

int tree_hang_up(pid_t root)
{
	int n = tree_signal(root, SIGHUP);

	return n > 0 ? tree_signal(root, SIGCONT) : n;
}

/* Waits for one process only: a tree has ended when each of its processes has. */
static void tree_wait(pid_t pid, uint64_t deadline, uint64_t look_ms)
{
	uint64_t look = clock_ms() + look_ms;

	pidwait_end(pid, look < deadline ? look : deadline);
}

/* A process of the last snapshot; 0: there was none. */
static pid_t tree_find_any(void)
{
	for (size_t i = 0; i < procs_n; i++)
		if (procs[i].kin == KIN_OURS)
			return procs[i].pid;
	return 0;
}

/* A process that has been killed and is still there; 0: none is known. */
static pid_t tree_find_killed(const struct tree *t)
{
	for (size_t i = 0; i < t->survivors_n; i++)
		if (t->survivors[i].err == 0)
			return t->survivors[i].pid;
	return 0;
}

void tree_end(struct tree *t, uint64_t grace_ms)
{
	uint64_t now = clock_ms(), half = now + grace_ms / 2, end = now + grace_ms;
	int n = grace_ms ? tree_terminate(t->root) : 0;
	pid_t pid;

	while (n > 0 && clock_ms() < half && (pid = tree_find_ending(t->root)) > 0)
		tree_wait(pid, half, LOOK_MS);
	/* Also if SIGTERM could not be sent to all: shells are stopped. */
	if (n)
		n = tree_hang_up(t->root);
	while (n > 0 && clock_ms() < end) {
		tree_wait(tree_find_any(), end, LOOK_MS);
		n = tree_signal(t->root, 0);
	}
	end = clock_ms() + TREE_KILL_MS;
	while (tree_kill(t) > 0 && clock_ms() < end)
		tree_wait(tree_find_killed(t), end, KILL_LOOK_MS);
}

int tree_adopt_orphans(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}
