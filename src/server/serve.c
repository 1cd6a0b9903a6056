#include "server/serve.h"

#include "action/file_job.h"
#include "action/session.h"
#include "action/table.h"
#include "base/clock.h"
#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "limits.h"
#include "plugin/plugin.h"
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
#include "server/idempotency/idem.h"
#include "server/identity.h"
#include "server/process/process_attach.h"
#include "server/restored.h"
#include "server/sandbox_mcp.h"
#include "server/stream/stream.h"

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
	struct user_identity identity;
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
	struct restored_state restored;
	enum phase phase;
	int code; /* exit code */
};

/*
 * Limits the memory, so that exhaustion is an error that can be answered. (Address
 * sanitizers map more than the limit.)
 */
static void serve_limit_memory(void)
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

static void serve_harden(void)
{
	spawn_save_limits();
	serve_limit_memory();
	/* The session key is in memory, and was perhaps in the environment. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	loop_ignore_signal(SIGPIPE);
	loop_ignore_signal(SIGXFSZ);
}

/*
 * The session's name may belong to a newer shell, a child of this process, so the pid
 * counts.
 */
static void serve_end_shell(struct serve *s, const struct store_record *r)
{
	struct session *at = s->box.session;

	while (at && shell_pid(session_shell(at)) != r->pid)
		at = session_next(at);
	if (at)
		shell_exited(session_shell(at), r->status);
}

/* Init reports the exits of processes that an earlier server process started. */
static void serve_on_store_event(struct io *io, uint32_t events)
{
	struct serve *s = container_of(io, struct serve, store_io);
	struct store_record r;
	int fd, err;

	(void)events;
	while ((err = store_next(s->store, &r, &fd)) == 0) {
		if (r.op == STORE_EXIT && r.pid) {
			serve_end_shell(s, &r);
			entrypoint_handle_exit(&s->entrypoint, r.pid, r.status);
			processes_on_exit(s->api.processes, r.pid, r.status);
		}
		fd_close(&fd);
	}
	if (err == -EAGAIN)
		return;
	log_error("the init process has ended: stopping");
	loop_remove(s->loop, &s->store_io);
	loop_stop(s->loop);
}

/* The server starts without the viewer if it cannot be opened. */
static void serve_open_viewer(struct serve *s)
{
	int err;

	s->viewer = viewer_new(&s->api, &err);
	if (!s->viewer)
		log_warn("the file viewer cannot be started: %s", err_text(err));
}

static void serve_close_viewer(struct serve *s)
{
	viewer_del(s->viewer);
	s->viewer = NULL;
}

static void serve_on_grace_end(struct timer *t);

/* Makes all running work answer with its present state. */
static void serve_answer_all(struct serve *s)
{
	for (struct session *at = s->box.session; at; at = session_next(at))
		session_shut_down(at);
	run_static_end_all();
	file_job_end_all();
	plugin_set_stop(s->box.plugs);
	processes_stop(s->api.processes);
	idem_answer_all(s->api.idem);
}

static void serve_set_phase(struct serve *s, enum phase to)
{
	static const uint64_t patience[] = {
		[PHASE_DRAIN] = STOP_GRACE_MS,
		[PHASE_CUT] = STOP_FLUSH_MS,
	};

	assert(to == s->phase + 1);
	s->phase = to;
	timer_set(s->loop, &s->grace, patience[to], serve_on_grace_end);
	if (to == PHASE_DRAIN) {
		/*
		 * Init's copy of the listener would still accept connections, which are
		 * not served.
		 */
		store_drop(s->store, RESTORED_LISTENER);
		transfer_stop();
		plugin_set_drain(s->box.plugs);
		dial_stop(s->dial);
		streams_stop(s->api.streams);
		server_stop(s->server);
		serve_close_viewer(s);
	} else {
		serve_answer_all(s);
	}
}

static void serve_on_grace_end(struct timer *t)
{
	struct serve *s = container_of(t, struct serve, grace);

	if (s->phase == PHASE_DRAIN)
		serve_set_phase(s, PHASE_CUT);
	else
		loop_stop(s->loop);
}

static void serve_on_loop_end(struct timer *t)
{
	struct serve *s = container_of(t, struct serve, grace);

	serve_answer_all(s);
	loop_stop(s->loop);
}

/* The second signal stops the server at once. */
static void serve_on_signal(void *arg, int signo)
{
	struct serve *s = arg;

	log_info("stopping on signal %d", signo);
	if (s->phase == PHASE_SERVE)
		serve_set_phase(s, PHASE_DRAIN);
	else
		loop_stop(s->loop);
}

static void serve_stop_after_exit(struct timer *t)
{
	struct serve *s = container_of(t, struct serve, exited);

	if (s->phase != PHASE_SERVE)
		return;
	s->code = s->exited_code;
	serve_set_phase(s, PHASE_DRAIN);
}

/*
 * A restored process may have exited before the server is built, so a timer defers the
 * stop.
 */
static void serve_on_process(void *arg, const struct process *p)
{
	const struct process_exit *e = process_get_exit(p);
	struct serve *s = arg;
	struct process_info i;

	process_info(p, &i);
	if (!e || !i.stops_sandbox)
		return;
	s->exited_code = WIFSIGNALED(e->status) ? 128 + WTERMSIG(e->status)
						: WEXITSTATUS(e->status);
	log_info("stopping, process %s has exited with %d", i.id, s->exited_code);
	timer_set(s->loop, &s->exited, 0, serve_stop_after_exit);
}

static void serve_fail(struct serve *s, const char *what, int err)
{
	log_error("%s: %s", what, err_text(err));
	s->code = EXIT_ENVIRONMENT;
	loop_stop(s->loop);
}

static int serve_open_listener(struct serve *s)
{
	const struct config *c = s->box.config;
	int fd = s->restored.listener;
	int err;

	if (fd < 0) {
		fd = fd_listen_tcp(c->address, c->port, LISTEN_BACKLOG);
		if (fd < 0)
			return fd;
		err = store_put(s->store, RESTORED_LISTENER, fd, 0);
		if (err < 0)
			log_warn("the listener cannot be stored in init, so a crash of "
				 "the server closes the port for a moment: %s",
				err_text(err));
		if (config_is_open(c))
			log_warn("no session key: every program that can connect to %s "
				 "port %u can run commands here",
				c->address, c->port);
	}
	s->restored.listener = -1;
	return server_listen(s->server, fd, s->tls);
}

/* The shell and the plugins are ready or have failed: now the server listens. */
static void serve_on_plugins_ready(void *arg)
{
	static const char line[] = "Runtime client initialized.\n";
	struct serve *s = arg;
	char what[128];
	int err;

	idem_resume(s->api.idem);
	err = serve_open_listener(s);

	if (err < 0) {
		snprintf(what, sizeof(what), "cannot listen on %s port %u",
			s->box.config->address, s->box.config->port);
		serve_fail(s, what, err);
		return;
	}
	/* Old clients search the log for this line before they connect. */
	if (fd_write_all(STDOUT_FILENO, line, sizeof(line) - 1) < 0)
		log_warn("standard output is closed");
	dial_start(s->dial);
	if (s->box.config->entrypoint == CONFIG_ENTRYPOINT_RUN)
		entrypoint_start(&s->entrypoint, NULL, NULL);
}

static void serve_on_git_identity(void *arg)
{
	struct serve *s = arg;

	if (s->phase == PHASE_SERVE)
		plugin_set_start(s->box.plugs, serve_on_plugins_ready, s);
}

static void serve_on_shell_ready(void *arg, int err, const char *why)
{
	struct serve *s = arg;

	if (err < 0)
		log_warn("no shell can be started: %s: %s", why, err_text(err));
	git_identity_set(&s->git, &s->box, serve_on_git_identity, s);
}

/*
 * With --entrypoint wait, the entrypoint has ended or failed: its changes are there for
 * the first shell.
 */
static void serve_start_session(void *arg)
{
	struct serve *s = arg;

	if (s->phase == PHASE_SERVE)
		session_start(s->box.session, serve_on_shell_ready, s);
}

static void serve_read_host_name(char *out, size_t n)
{
	if (gethostname(out, n) < 0)
		out[0] = '\0';
	out[n - 1] = '\0';
	out[strcspn(out, ".")] = '\0';
}

static int serve_make_sessions(struct serve *s)
{
	int err;

	if (!session_new(&s->box, STR(SESSION_DEFAULT), &err))
		return err;
	restored_adopt(&s->restored, &s->box);
	s->api.idem = idem_new(&s->box, s->box.config->state_dir, s->restored.ledger,
		s->restored.outputs);
	s->restored.ledger = s->restored.outputs = -1;
	s->box.on_session = idem_record_session;
	s->box.on_session_arg = s->api.idem;
	return s->api.idem ? 0 : -ENOMEM;
}

static int serve_make_processes(struct serve *s)
{
	s->processes.loop = s->loop;
	s->processes.store = s->store;
	s->processes.on_change = serve_on_process;
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
static void serve_restore_processes(struct serve *s)
{
	const struct config *c = s->box.config;
	const struct spawn_user *user = s->identity.setup.user;

	s->processes.user_fixed =
		!c->has_key && !c->tls_client_ca && user && user->uid != geteuid();
	s->processes.user = s->identity.setup.user;
	s->processes.user_name = s->identity.user.name;
	s->processes.cwd = s->identity.cwd;
	processes_restore(s->api.processes);
}

static int serve_build(struct serve *s)
{
	struct server_conf conf = {.ops = &api_ops, .arg = &s->api};
	int err;

	s->loop = loop_new(&err);
	if (!s->loop)
		return err;
	s->box.loop = s->loop;
	err = children_init(s->loop);
	if (err == 0)
		err = loop_handle_signal(s->loop, SIGTERM, serve_on_signal, s);
	if (err == 0)
		err = loop_handle_signal(s->loop, SIGINT, serve_on_signal, s);
	if (err == 0)
		err = serve_make_processes(s);
	if (err == 0)
		err = restored_load(
			&s->restored, s->store, &s->entrypoint, s->api.processes);
	if (err == 0 && s->store->sock >= 0)
		err = loop_add(s->loop, &s->store_io, s->store->sock, EPOLLIN,
			serve_on_store_event);
	if (err == 0)
		err = credentials_load(s->box.config, s->store, s->restored.tls, &s->tls);
	if (err == 0)
		err = identity_find(
			&s->identity, s->box.config, restored_has_sessions(&s->restored));
	if (err < 0)
		return err;
	s->box.user = s->identity.setup.user;
	s->box.gives_cwd = s->identity.gives_cwd;
	cgroup_find(&s->cgroup, CGROUP_MOUNT);
	s->identity.setup.cgroup = &s->cgroup;
	s->box.shell_setup = &s->identity.setup;
	s->box.user_name = s->identity.user.name;
	serve_read_host_name(s->box.host_name, sizeof(s->box.host_name));
	s->box.after_crash = restored_has_sessions(&s->restored);
	s->box.find_plugin_action = plugin_find_action;
	serve_restore_processes(s);
	s->box.plugs = plugin_set_new(&s->box);
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
	return s->server ? serve_make_sessions(s) : err;
}

/*
 * Ends all descendants of the sandbox and logs those that do not end. A process that has
 * left its session, or was restored from an earlier server process, is a child of init.
 */
static void serve_end_processes(const struct serve *s)
{
	/*
	 * If init has exited, the parent is another process, whose children are not the
	 * sandbox's.
	 */
	bool below = s->store->sock >= 0 && getppid() == s->store->init;
	struct tree t = {.root = below ? s->store->init : getpid()};

	tree_end(&t, STOP_TERM_MS);
	for (size_t i = 0; i < t.survivors_n; i++)
		log_warn("process %d (%s) could not be ended: %s",
			(int)t.survivors[i].pid, t.survivors[i].name,
			t.survivors[i].err ? err_text(t.survivors[i].err)
					   : "it is still running");
}

int serve_run(struct store *store, const struct config *config)
{
	struct serve s = {
		.store = store,
		.store_io.fd = -1,
		.restored = {.listener = -1, .ledger = -1, .tls = -1, .outputs = -1},
		.box = {.store = store, .config = config},
		.api = {.started = clock_ms(), .last_action = clock_ms()},
		.entrypoint = {.report.fd = -1},
		.cgroup.kills = -1,
	};
	int err;

	serve_harden();
	if (store->sock < 0 && tree_adopt_orphans() < 0)
		log_warn("the system has no subreapers: orphaned processes of the "
			 "sandbox are not found");
	s.api.box = &s.box;
	s.entrypoint.box = &s.box;
	s.api.entrypoint = &s.entrypoint;
	err = serve_build(&s);
	if (err == 0) {
		if (config->viewer)
			serve_open_viewer(&s);
		if (config->entrypoint == CONFIG_ENTRYPOINT_WAIT)
			entrypoint_start(&s.entrypoint, serve_start_session, &s);
		else
			serve_start_session(&s);
		err = loop_run(s.loop);
		/*
		 * Actions with an id that no request waits for do not keep the loop
		 * running, so they are answered here.
		 */
		if (err == 0 && s.phase != PHASE_CUT) {
			timer_set(s.loop, &s.grace, 0, serve_on_loop_end);
			err = loop_run(s.loop);
		}
	}
	if (err < 0) {
		log_error("cannot start: %s", err_text(err));
		s.code = EXIT_ENVIRONMENT;
	}
	serve_close_viewer(&s);
	dial_del(s.dial);
	streams_del(s.api.streams);
	attachments_del(s.api.attachments);
	if (s.server)
		server_del(s.server);
	mcp_server_free(&s.api.mcp);
	tls_credentials_del(s.tls);
	plugin_set_del(s.box.plugs);
	job_free(&s.git.job);
	serve_end_processes(&s);
	/* Sessions of a sandbox that ends are not recorded as ended. */
	s.box.on_session = NULL;
	while (s.box.session)
		session_del(s.box.session);
	idem_del(s.api.idem);
	processes_del(s.api.processes);
	restored_free(&s.restored);
	entrypoint_free(&s.entrypoint);
	identity_free(&s.identity);
	cgroup_close(&s.cgroup);
	loop_del(s.loop);
	return s.code;
}
