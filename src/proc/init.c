#include "proc/init.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "proc/spawn.h"
#include "proc/tree.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ENTRIES = 6144,        /* 256 sessions; 512 processes with 8, 512 with 3 */
	FDS_OWN = 8,           /* for a new socket to serve, /proc, the log */
	BACKOFF_FIRST = 100,   /* ms, after a crash */
	BACKOFF_MAX = 5000,    /* ms */
	CRASHES_MAX = 5,       /* within CRASH_WINDOW: give up */
	CRASH_WINDOW = 60000,  /* ms */
	RESTART_MIN_LIFE = 20, /* ms: killed sooner, serve is started after this time */
};

struct entry {
	int fd; /* -1: free */
	pid_t pid;
	bool exited;
	int status;
	bool fd_due;   /* serve has not received it back yet */
	bool exit_due; /* serve was not informed yet that pid has ended */
	char name[STORE_NAME];
};

/* Static, so that start-up is the only moment at which init can fail. */
static struct {
	struct entry entries[ENTRIES];
	size_t n;   /* entries in use lie below this */
	int fd_end; /* descriptors from here on are not used for entries */
	int sock;   /* to serve; -1 while there is none */
	bool end_due;
	pid_t serve;
	uint64_t started;
	uint64_t restart_at; /* 0: serve is running */
	uint64_t backoff;
	uint64_t crashes[CRASHES_MAX - 1]; /* the last crashes before the present one */
	size_t crash_n;
	int exit_code; /* -1: init goes on */
} init;

static volatile sig_atomic_t stops; /* received signals that request the end */

static void init_on_signal(int signo)
{
	if (signo != SIGCHLD)
		stops++;
}

static struct entry *init_find_entry(const char *name)
{
	for (size_t i = 0; i < init.n; i++)
		if (init.entries[i].fd >= 0 && !strcmp(init.entries[i].name, name))
			return &init.entries[i];
	return NULL;
}

static struct entry *init_alloc_entry(void)
{
	for (size_t i = 0; i < init.n; i++)
		if (init.entries[i].fd < 0)
			return &init.entries[i];
	return init.n < ENTRIES ? &init.entries[init.n++] : NULL;
}

static void init_drop_entry(const char *name)
{
	struct entry *e = init_find_entry(name);

	if (e)
		fd_close(&e->fd);
}

static void init_put_entry(const struct store_record *r, int fd)
{
	struct entry *e;

	init_drop_entry(r->name);
	/* Init needs spare descriptors: without them serve could not be started again. */
	e = fd < init.fd_end ? init_alloc_entry() : NULL;
	if (!e) {
		log_error("init: the fd store is full: %s would not survive a crash of "
			  "the server",
			r->name);
		fd_close(&fd);
		return;
	}
	*e = (struct entry){.fd = fd, .pid = r->pid};
	memcpy(e->name, r->name, sizeof(e->name));
}

static void init_disconnect(void)
{
	fd_close(&init.sock);
}

/* Handles the records from serve; at the end of the stream serve is dead or dying. */
static void init_recv_records(void)
{
	struct store s = {.sock = init.sock};
	struct store_record r;
	int fd, err;

	/*
	 * ECONNRESET: serve died with unread records. It is reported once, and records of
	 * serve may follow.
	 */
	while ((err = store_next(&s, &r, &fd)) == 0 || err == -ECONNRESET) {
		if (err == 0 && r.op == STORE_PUT && fd >= 0)
			init_put_entry(&r, fd);
		else if (err == 0 && r.op == STORE_PUT)
			log_error("init: no descriptor was received for %s: it would not "
				  "survive a crash of the server",
				r.name);
		else if (err == 0 && r.op == STORE_DROP)
			init_drop_entry(r.name);
	}
	if (err != -EAGAIN)
		init_disconnect();
}

/* Sends a record that is due to serve: false when none is, or it cannot be sent now. */
static bool init_send_record(void)
{
	struct store_record r = {.op = STORE_END};
	struct entry *e = NULL;
	int fd = -1;

	for (size_t i = 0; i < init.n && !e; i++) {
		struct entry *at = &init.entries[i];

		if (at->fd >= 0 && (at->fd_due || (!init.end_due && at->exit_due)))
			e = at;
	}
	if (!e && !init.end_due)
		return false;
	if (e) {
		fd = e->fd_due ? e->fd : -1;
		r = (struct store_record){
			.op = e->fd_due ? STORE_PUT : STORE_EXIT,
			.pid = e->pid,
			.exited = e->exited,
			.status = e->status,
		};
		memcpy(r.name, e->name, sizeof(r.name));
	}
	if (fd_send_record(init.sock, &r, sizeof(r), fd) < 0)
		return false; /* full, or serve is dead: poll reports that */
	if (e)
		e->fd_due = e->exit_due = false;
	else
		init.end_due = false;
	return true;
}

static bool init_has_due(void)
{
	for (size_t i = 0; i < init.n; i++)
		if (init.entries[i].fd >= 0 &&
			(init.entries[i].fd_due || init.entries[i].exit_due))
			return true;
	return init.end_due;
}

static void init_start_serve(serve_fn *serve, void *arg)
{
	pid_t self = getpid();
	int pair[2];
	sigset_t none;

	init.restart_at = 0;
	init.started = clock_ms();
	if (fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		goto fail;
	init.serve = fork();
	if (init.serve < 0) {
		fd_close(&pair[0]);
		fd_close(&pair[1]);
		goto fail;
	}
	if (init.serve == 0) {
		struct store s = {.sock = pair[1], .init = self};

		fd_close(&pair[0]);
		/*
		 * Only init receives the keys of a terminal; it forwards them to serve
		 * once.
		 */
		setsid();
		for (size_t i = 0; i < init.n; i++)
			fd_close(&init.entries[i].fd);
		for (int signo = 1; signo < NSIG; signo++)
			signal(signo, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		_exit(serve(&s, arg));
	}
	fd_close(&pair[1]);
	init.sock = pair[0];
	init.end_due = true;
	for (size_t i = 0; i < init.n; i++)
		init.entries[i].fd_due = init.entries[i].fd >= 0;
	return;
fail:
	/* The system has no process or descriptor now: the start is tried again later. */
	init.serve = 0;
	init.restart_at = clock_ms() + BACKOFF_MAX;
}

/* True when there were too many crashes within the window. */
static bool init_add_crash(uint64_t now)
{
	uint64_t *oldest = &init.crashes[init.crash_n % ARRAY_LEN(init.crashes)];
	bool often =
		init.crash_n >= ARRAY_LEN(init.crashes) && now - *oldest < CRASH_WINDOW;

	*oldest = now;
	init.crash_n++;
	return often;
}

static void init_on_serve_exit(int status)
{
	uint64_t now = clock_ms();
	uint64_t life = now - init.started;
	uint64_t wait = 0;

	/* The last records of serve may still be in the socket. */
	if (init.sock >= 0)
		init_recv_records();
	init_disconnect();
	init.serve = 0;
	if (WIFEXITED(status) || stops) {
		init.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
		return;
	}
	if (WTERMSIG(status) == SIGKILL) {
		wait = life < RESTART_MIN_LIFE ? RESTART_MIN_LIFE : 0;
	} else if (init_add_crash(now)) {
		log_error("init: serve crashed %d times within a minute (signal %d), "
			  "giving up",
			CRASHES_MAX, WTERMSIG(status));
		init.exit_code = EXIT_ENVIRONMENT;
		return;
	} else {
		if (life > CRASH_WINDOW)
			init.backoff = 0;
		init.backoff = backoff(init.backoff, BACKOFF_FIRST, BACKOFF_MAX);
		wait = init.backoff;
	}
	log_warn("init: serve was killed by signal %d, starting it again in %d ms",
		WTERMSIG(status), (int)wait);
	init.restart_at = now + wait;
}

/* Signals coalesce, so every wake-up reaps until nothing is left. */
static void init_reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == init.serve) {
			init_on_serve_exit(status);
			continue;
		}
		for (size_t i = 0; i < init.n; i++) {
			struct entry *e = &init.entries[i];

			if (e->fd < 0 || e->pid != pid || e->exited)
				continue;
			e->exited = true;
			e->exit_due = true;
			e->status = status;
		}
	}
}

static void init_forward_stop(void)
{
	if (init.serve > 0)
		kill(init.serve, SIGTERM);
	else
		init.exit_code = 0;
}

static void init_wait_event(const sigset_t *open)
{
	struct pollfd w = {.fd = init.sock, .events = POLLIN};
	struct timespec left, *timeout = NULL;
	uint64_t now = clock_ms();

	if (init_has_due())
		w.events |= POLLOUT;
	if (init.restart_at) {
		uint64_t ms = init.restart_at > now ? init.restart_at - now : 0;

		left.tv_sec = (time_t)(ms / 1000);
		left.tv_nsec = (long)(ms % 1000) * 1000000;
		timeout = &left;
	}
	if (ppoll(&w, 1, timeout, open) <= 0)
		return;
	if (w.revents & (POLLIN | POLLHUP | POLLERR))
		init_recv_records();
	while (init.sock >= 0 && (w.revents & POLLOUT) && init_send_record())
		;
}

int init_run(serve_fn *serve, void *arg)
{
	static const int forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	struct sigaction act = {.sa_handler = init_on_signal};
	struct rlimit files = {.rlim_cur = ENTRIES};
	sigset_t all, open;

	init.sock = -1;
	init.exit_code = -1;
	spawn_save_limits();
	getrlimit(RLIMIT_NOFILE, &files);
	init.fd_end = files.rlim_cur < INT_MAX ? (int)files.rlim_cur - FDS_OWN : INT_MAX;
	/*
	 * Other processes of the same user must not read the memory and descriptors of
	 * init.
	 */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/*
	 * Signals are unblocked only while init waits; process 1 gets none without
	 * handlers.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&open);
	sigaction(SIGCHLD, &act, NULL);
	for (size_t i = 0; i < ARRAY_LEN(forwarded); i++)
		sigaction(forwarded[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	/*
	 * Process 1 is the parent of all orphans; another process has to become a
	 * subreaper.
	 */
	if (getpid() != 1 && tree_adopt_orphans() < 0)
		log_warn("init: the system has no subreapers: orphaned processes of the "
			 "sandbox are not found");

	init_start_serve(serve, arg);
	while (init.exit_code < 0) {
		int before = stops;

		init_wait_event(&open);
		init_reap();
		if (stops != before)
			init_forward_stop();
		if (init.restart_at && init.exit_code < 0 && !stops &&
			clock_ms() >= init.restart_at)
			init_start_serve(serve, arg);
	}
	/* serve has ended all processes, if it could. */
	tree_end(&(struct tree){.root = getpid()}, 0);
	return init.exit_code;
}
