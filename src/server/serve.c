#include "server/serve.h"

#include "action/file_job.h"
#include "action/session.h"
#include "action/table.h"
#include "base/clock.h"
#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "limits.h"
#include "plugin/plug.h"
#include "proc/children.h"
#include "proc/process/process.h"
#include "proc/tree.h"
#include "server/api.h"
#include "server/credentials.h"
#include "server/dial.h"
#include "server/entrypoint.h"
#include "server/files/transfer.h"
#include "server/files/viewer.h"
#include "server/git_identity.h"
#include "server/idempotency/once.h"
#include "server/kept.h"
#include "server/process/process_attach.h"
#include "server/sandbox_mcp.h"
#include "server/stream/stream.h"
#include "server/who.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum phase {
	PHASE_SERVE,
	PHASE_DRAIN, /* no new requests; running ones may end */
	PHASE_CUT,   /* the requests were answered; the replies are being sent */
};

struct serve {
	struct loop *loop;
	struct store *store;
	struct io store_io;
	struct box box;
	struct who who;
	struct cgroup cgroup;
	struct api api;
	struct entrypoint entrypoint;
	struct git_identity git;
	struct processes_conf processes;
	struct tls_credentials *tls; /* NULL: plain HTTP */
	struct server *server;
	struct viewer *viewer; /* NULL: none */
	struct dial *dial;     /* NULL: none */
	struct timer grace;
	struct timer exited; /* a process with on_exit "stop" has exited */
	int exited_code;
	struct kept kept;
	enum phase phase;
	int code; /* exit code */
};

/*
 * Limits the memory, so that exhaustion is an error that can be answered. (Address
 * sanitizers map more than the limit.)
 */
static void cap_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	struct rlimit data;

	if (getrlimit(RLIMIT_DATA, &data) < 0 || data.rlim_cur <= SERVE_DATA_MAX)
		return;
	data.rlim_cur = SERVE_DATA_MAX;
	if (setrlimit(RLIMIT_DATA, &data) < 0)
		log_warn("the memory limit cannot be set: %s", err_text(-errno));
#endif
}

static void harden(void)
{
	spawn_remember_limits();
	cap_memory();
	/* The session key is in memory, and was perhaps in the environment. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	loop_ignore(SIGPIPE);
	loop_ignore(SIGXFSZ);
}

/*
 * The session's name may belong to a newer shell, a child of this process, so the pid
 * counts.
 */
static void shell_ended(struct serve *s, const struct store_record *r)
{
	struct session *at = s->box.session;

	while (at && shell_pid(session_shell(at)) != r->pid)
		at = session_next(at);
	if (at)
		shell_exited(session_shell(at), r->status);
}

/* Init reports the exits of processes that an earlier server process started. */
static void store_ready(struct io *io, uint32_t events)
{
	struct serve *s = container_of(io, struct serve, store_io);
	struct store_record r;
	int fd, err;

	(void)events;
	while ((err = store_next(s->store, &r, &fd)) == 0) {
		if (r.op == STORE_EXIT && r.pid) {
			shell_ended(s, &r);
			entrypoint_exited(&s->entrypoint, r.pid, r.status);
			processes_exited(s->api.processes, r.pid, r.status);
		}
		fd_close(&fd);
	}
	if (err == -EAGAIN)
		return;
	log_error("init is gone, stopping");
	loop_remove(s->loop, &s->store_io);
	loop_stop(s->loop);
}

/* The server starts without the viewer if it cannot be opened. */
static void open_viewer(struct serve *s)
{
	int err;

	s->viewer = viewer_new(&s->api, &err);
	if (!s->viewer)
		log_warn("no file viewer: %s", err_text(err));
}

static void close_viewer(struct serve *s)
{
	viewer_del(s->viewer);
	s->viewer = NULL;
}

static void grace_over(struct timer *t);

/* Makes all running work answer with its present state. */
static void cut(struct serve *s)
{
	for (struct session *at = s->box.session; at; at = session_next(at))
		session_cut(at);
	run_static_cut();
	file_job_cut();
	plugs_stop(s->box.plugs);
	processes_stop(s->api.processes);
	once_cut(s->api.once);
}

static void enter(struct serve *s, enum phase to)
{
	static const uint64_t patience[] = {
		[PHASE_DRAIN] = STOP_GRACE_MS,
		[PHASE_CUT] = STOP_FLUSH_MS,
	};

	assert(to == s->phase + 1);
	s->phase = to;
	if (timer_set(s->loop, &s->grace, patience[to], grace_over) < 0)
		loop_stop(s->loop);
	if (to == PHASE_DRAIN) {
		/*
		 * Init's copy of the listener would still accept connections, which are
		 * not served.
		 */
		store_drop(s->store, KEPT_LISTENER);
		transfer_stop();
		plugs_drain(s->box.plugs);
		dial_stop(s->dial);
		streams_stop(s->api.streams);
		server_stop(s->server);
		close_viewer(s);
	} else {
		cut(s);
	}
}

static void grace_over(struct timer *t)
{
	struct serve *s = container_of(t, struct serve, grace);

	if (s->phase == PHASE_DRAIN)
		enter(s, PHASE_CUT);
	else
		loop_stop(s->loop);
}

static void cut_at_last(struct timer *t)
{
	struct serve *s = container_of(t, struct serve, grace);

	cut(s);
	loop_stop(s->loop);
}

/* The second signal stops the server at once. */
static void on_stop(void *arg, int signo)
{
	struct serve *s = arg;

	log_info("stopping on signal %d", signo);
	if (s->phase == PHASE_SERVE)
		enter(s, PHASE_DRAIN);
	else
		loop_stop(s->loop);
}

static void serve_stop_after_exit(struct timer *t)
{
	struct serve *s = container_of(t, struct serve, exited);

	if (s->phase != PHASE_SERVE)
		return;
	s->code = s->exited_code;
	enter(s, PHASE_DRAIN);
}

/*
 * A restored process may have exited before the server is built, so a timer defers the
 * stop.
 */
static void serve_on_process(void *arg, const struct process *p)
{
	const struct process_exit *e = process_exit_of(p);
	struct serve *s = arg;
	struct process_info i;

	process_info(p, &i);
	if (!e || !i.stops_sandbox)
		return;
	s->exited_code = WIFSIGNALED(e->status) ? 128 + WTERMSIG(e->status)
						: WEXITSTATUS(e->status);
	log_info("stopping, process %s has exited with %d", i.id, s->exited_code);
	if (timer_set(s->loop, &s->exited, 0, serve_stop_after_exit) < 0)
		loop_stop(s->loop);
}

static void fail(struct serve *s, const char *what, int err)
{
	log_error("%s: %s", what, err_text(err));
	s->code = EXIT_ENVIRONMENT;
	loop_stop(s->loop);
}

static int open_listener(struct serve *s)
{
	const struct config *c = s->box.config;
	int fd = s->kept.listener;
	int err;

	if (fd < 0) {
		fd = fd_listen_tcp(c->address, c->port, LISTEN_BACKLOG);
		if (fd < 0)
			return fd;
		err = store_put(s->store, KEPT_LISTENER, fd, 0);
		if (err < 0)
			log_warn("init does not keep the listener: %s", err_text(err));
		if (config_is_open(c))
			log_warn("no session key: everyone who reaches %s port %u can "
				 "run commands here",
				c->address, c->port);
	}
	s->kept.listener = -1;
	return server_listen(s->server, fd, s->tls);
}

/* The shell and the plugins are ready or have failed: now the server listens. */
static void on_settled(void *arg)
{
	static const char line[] = "Runtime client initialized.\n";
	struct serve *s = arg;
	char what[128];
	int err;

	once_resume(s->api.once);
	err = open_listener(s);

	if (err < 0) {
		snprintf(what, sizeof(what), "cannot listen on %s port %u",
			s->box.config->address, s->box.config->port);
		fail(s, what, err);
		return;
	}
	/* Old clients search the log for this line before they connect. */
	if (fd_write_all(STDOUT_FILENO, line, sizeof(line) - 1) < 0)
		log_warn("standard output is closed");
	dial_start(s->dial);
	if (s->box.config->entrypoint == CONFIG_ENTRYPOINT_RUN)
		entrypoint_start(&s->entrypoint, NULL, NULL);
}

static void on_identity(void *arg)
{
	struct serve *s = arg;

	if (s->phase == PHASE_SERVE)
		plugs_start(s->box.plugs, on_settled, s);
}

static void on_ready(void *arg, int err, const char *why)
{
	struct serve *s = arg;

	if (err < 0)
		log_warn("no shell: %s: %s", why, err_text(err));
	git_identity_set(&s->git, &s->box, on_identity, s);
}

/*
 * With --entrypoint wait, the entrypoint has ended or failed: its changes are there for
 * the first shell.
 */
static void start_session(void *arg)
{
	struct serve *s = arg;

	if (s->phase == PHASE_SERVE)
		session_start(s->box.session, on_ready, s);
}

static void host_name(char *out, size_t n)
{
	if (gethostname(out, n) < 0)
		out[0] = '\0';
	out[n - 1] = '\0';
	out[strcspn(out, ".")] = '\0';
}

static int make_sessions(struct serve *s)
{
	int err;

	if (!session_new(&s->box, STR(SESSION_DEFAULT), &err))
		return err;
	kept_adopt(&s->kept, &s->box);
	s->api.once = once_new(
		&s->box, s->box.config->state_dir, s->kept.ledger, s->kept.outputs);
	s->kept.ledger = s->kept.outputs = -1;
	s->box.session_told = once_tell_session;
	s->box.session_told_arg = s->api.once;
	return s->api.once ? 0 : -ENOMEM;
}

static int make_processes(struct serve *s)
{
	s->processes.loop = s->loop;
	s->processes.store = s->store;
	s->processes.told = serve_on_process;
	s->processes.arg = s;
	s->api.processes = processes_new(&s->processes);
	s->api.attachments = attachments_new(&s->api);
	return s->api.processes && s->api.attachments ? 0 : -ENOMEM;
}

/*
 * Processes run as the user and in the directory of the shells. Without a session key and
 * without client certificates, any process of the sandbox may be the peer, and must not
 * become root.
 */
static void restore_processes(struct serve *s)
{
	const struct config *c = s->box.config;
	const struct spawn_user *user = s->who.setup.user;

	s->processes.user_fixed =
		!c->has_key && !c->tls_client_ca && user && user->uid != geteuid();
	s->processes.user = s->who.setup.user;
	s->processes.user_name = s->who.user.name;
	s->processes.cwd = s->who.cwd;
	processes_restore(s->api.processes);
}

static int build(struct serve *s)
{
	struct server_conf conf = {.ops = &api_ops, .arg = &s->api};
	int err;

	s->loop = loop_new(&err);
	if (!s->loop)
		return err;
	s->box.loop = s->loop;
	err = children_init(s->loop);
	if (err == 0)
		err = loop_signal(s->loop, SIGTERM, on_stop, s);
	if (err == 0)
		err = loop_signal(s->loop, SIGINT, on_stop, s);
	if (err == 0)
		err = make_processes(s);
	if (err == 0)
		err = kept_take(&s->kept, s->store, &s->entrypoint, s->api.processes);
	if (err == 0 && s->store->sock >= 0)
		err = loop_add(
			s->loop, &s->store_io, s->store->sock, EPOLLIN, store_ready);
	if (err == 0)
		err = credentials_load(s->box.config, s->store, s->kept.tls, &s->tls);
	if (err == 0)
		err = who_find(&s->who, s->box.config, kept_sessions(&s->kept));
	if (err < 0)
		return err;
	s->box.user = s->who.setup.user;
	s->box.gives_cwd = s->who.gives_cwd;
	cgroup_find(&s->cgroup, CGROUP_MOUNT);
	s->who.setup.cgroup = &s->cgroup;
	s->box.shell_setup = &s->who.setup;
	s->box.user_name = s->who.user.name;
	host_name(s->box.host_name, sizeof(s->box.host_name));
	s->box.again = kept_sessions(&s->kept);
	s->box.more_actions = plugs_action;
	restore_processes(s);
	s->box.plugs = plugs_new(&s->box);
	if (!s->box.plugs)
		return -ENOMEM;
	sandbox_mcp_init(&s->api);
	s->api.streams = streams_new(&s->api);
	if (!s->api.streams)
		return -ENOMEM;
	err = dial_new(&s->api, &s->dial);
	if (err)
		return err;
	s->server = s->api.server = server_new(s->loop, &conf, &err);
	return s->server ? make_sessions(s) : err;
}

/*
 * Ends all descendants of the sandbox and logs those that do not end. A process that has
 * left its session, or was restored from an earlier server process, is a child of init.
 */
static void end_all(const struct serve *s)
{
	/*
	 * If init has exited, the parent is another process, whose children are not the
	 * sandbox's.
	 */
	bool below = s->store->sock >= 0 && getppid() == s->store->init;
	struct tree t = {.root = below ? s->store->init : getpid()};

	tree_end(&t, STOP_TERM_MS);
	for (size_t i = 0; i < t.left_n; i++)
		log_warn("process %d (%s) could not be ended: %s", (int)t.left[i].pid,
			t.left[i].name,
			t.left[i].err ? err_text(t.left[i].err) : "it goes on");
}

int serve_run(struct store *store, const struct config *config)
{
	struct serve s = {
		.store = store,
		.store_io.fd = -1,
		.kept = {.listener = -1, .ledger = -1, .tls = -1, .outputs = -1},
		.box = {.store = store, .config = config},
		.api = {.started = clock_ms(), .last_action = clock_ms()},
		.entrypoint = {.report.fd = -1},
		.cgroup.kills = -1,
	};
	int err;

	harden();
	if (store->sock < 0 && tree_adopt_orphans() < 0)
		log_warn("no subreaper here, orphans go to another parent");
	s.api.box = &s.box;
	s.entrypoint.box = &s.box;
	s.api.entrypoint = &s.entrypoint;
	err = build(&s);
	if (err == 0) {
		if (config->viewer)
			open_viewer(&s);
		if (config->entrypoint == CONFIG_ENTRYPOINT_WAIT)
			entrypoint_start(&s.entrypoint, start_session, &s);
		else
			start_session(&s);
		err = loop_run(s.loop);
		/*
		 * Actions with an id that no request waits for do not keep the loop
		 * running, so they are answered here.
		 */
		if (err == 0 && s.phase != PHASE_CUT &&
			timer_set(s.loop, &s.grace, 0, cut_at_last) == 0)
			err = loop_run(s.loop);
	}
	if (err < 0) {
		log_error("cannot start: %s", err_text(err));
		s.code = EXIT_ENVIRONMENT;
	}
	close_viewer(&s);
	dial_del(s.dial);
	streams_del(s.api.streams);
	attachments_del(s.api.attachments);
	if (s.server)
		server_del(s.server);
	mcp_server_free(&s.api.mcp);
	tls_credentials_del(s.tls);
	plugs_del(s.box.plugs);
	job_free(&s.git.job);
	end_all(&s);
	/* Sessions of a sandbox that ends are not recorded as ended. */
	s.box.session_told = NULL;
	while (s.box.session)
		session_del(s.box.session);
	once_del(s.api.once);
	processes_del(s.api.processes);
	kept_free(&s.kept);
	entrypoint_free(&s.entrypoint);
	who_free(&s.who);
	cgroup_close(&s.cgroup);
	loop_del(s.loop);
	return s.code;
}
