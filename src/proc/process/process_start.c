/* The start of a process, in steps that a crash of serve leaves in a known state. */
#include "proc/process/process_private.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "proc/pty.h"
#include "proc/shells.h"
#include "proc/user.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *const process_reason_names[] = {
	[PROCESS_NOT_FOUND] = "not_found",
	[PROCESS_NOT_EXECUTABLE] = "not_executable",
	[PROCESS_NO_DIRECTORY] = "no_directory",
	[PROCESS_NO_USER] = "no_user",
	[PROCESS_NO_RIGHTS] = "no_rights",
	[PROCESS_START_FAILED] = "failed",
};

/* The PATH that engines set if the image sets none. */
static const char default_path[] =
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

enum { START_MEMORY_MAX = 1 << 20 }; /* the path of argv[0] in each folder of the PATH */

/* Memory that a start needs until it has forked. */
struct start {
	struct process *p;
	const struct process_spec *spec;
	struct arena arena;
	struct spawn spawn;
	struct user found;
	struct spawn_user identity;
	int other[3]; /* ends of the child: 0, 1, 2; or [0] is the slave of the pty */
};

/* --- In the child ---------------------------------------------------------- */

/* The variables of the sandbox that depend on the user. */
static const struct {
	const char *name;
	size_t at; /* in struct user */
} user_env[] = {
	{"HOME=", offsetof(struct user, home)},
	{"SHELL=", offsetof(struct user, shell)},
	{"USER=", offsetof(struct user, name)},
	{"LOGNAME=", offsetof(struct user, name)},
};

static bool process_is_default_env(const struct process_spec *spec, const char *entry)
{
	const char *const *at = spec->defaults;

	while (at && *at && *at != entry)
		at++;
	return at && *at;
}

/* The text for an entry of the environment; NULL: it is left out. */
static int process_make_env_entry(struct start *st, const char *entry, const char **out)
{
	char *text;
	size_t size;

	*out = entry;
	for (size_t i = 0; i < ARRAY_LEN(user_env); i++) {
		const char *value = (const char *)&st->found + user_env[i].at;

		if (strncmp(entry, user_env[i].name, strlen(user_env[i].name)) != 0 ||
			!process_is_default_env(st->spec, entry))
			continue;
		*out = NULL;
		if (!*value)
			return 0;
		size = strlen(user_env[i].name) + strlen(value) + 1;
		text = arena_alloc(&st->arena, size);
		if (!text)
			return -ENOMEM;
		snprintf(text, size, "%s%s", user_env[i].name, value);
		*out = text;
		return 0;
	}
	return 0;
}

static int process_set_env(struct start *st, struct spawn *s)
{
	size_t n = 0, kept = 0;
	const char **env;

	while (st->spec->env[n])
		n++;
	env = arena_array(&st->arena, n + 1, sizeof(*env));
	if (!env)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = process_make_env_entry(st, st->spec->env[i], &env[kept]);

		if (r < 0)
			return r;
		kept += env[kept] != NULL;
	}
	s->env = env;
	return 0;
}

/* Reads the files of users, which may take any time, in the child. */
static int process_find_identity(struct spawn *s, void *arg)
{
	struct start *st = arg;
	const struct user *u = &st->found;
	int r = user_find("", str_c(st->spec->user), &st->found);

	if (r < 0)
		return r;
	st->identity =
		(struct spawn_user){.uid = u->uid, .gid = u->gid, .ngroups = u->groups_n};
	memcpy(st->identity.groups, u->groups, u->groups_n * sizeof(gid_t));
	/*
	 * The present identity is not set again: that may be refused. A group of the
	 * request is never ignored.
	 */
	s->user = &st->identity;
	if (u->uid == geteuid() &&
		(u->gid == getegid() || (u->uid != 0 && !strchr(st->spec->user, ':'))))
		s->user = NULL;
	return process_set_env(st, s);
}

/* --- The path of the program ----------------------------------------------- */

/* The paths to try for a name without a slash: as execvp, and for sh known shells. */
static int process_find_paths(struct start *st)
{
	const char *name = st->spec->argv[0];
	const char *path = env_find(st->spec->env, STR("PATH"));
	struct str rest = str_c(path ? path : default_path);
	size_t n = 0, max = str_count(rest, ':') + 2;
	bool shell = !strcmp(name, "sh");
	const char **paths;

	if (strchr(name, '/')) {
		st->spawn.path = name;
		return 0;
	}
	for (size_t i = 0; shell && shells_paths[i]; i++)
		max++;
	paths = arena_array(&st->arena, max, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	/* An empty name has no path; an empty entry is the working directory. */
	for (bool more = *name; more;) {
		size_t at = str_find_byte(rest, ':');
		struct str dir = str_make(rest.p, at);
		size_t size = dir.n + strlen(name) + 3;
		char *to = arena_alloc(&st->arena, size);

		if (!to)
			return -ENOMEM;
		snprintf(to, size, "%.*s%s/%s", STR_ARG(dir), dir.n ? "" : ".", name);
		paths[n++] = to;
		more = at < rest.n;
		rest = str_skip(rest, at + 1);
	}
	for (size_t i = 0; shell && shells_paths[i]; i++)
		paths[n++] = shells_paths[i];
	st->spawn.paths = paths;
	return 0;
}

/* --- Pipes ----------------------------------------------------------------- */

static int process_make_pty(struct start *st)
{
	struct process *p = st->p;
	int slave;
	int r = pty_open(
		st->spec->rows, st->spec->columns, &p->out[PROCESS_STDOUT].fd, &slave);

	if (r < 0)
		return r;
	st->other[0] = st->spawn.tty = slave;
	pty_set_echo(p->out[PROCESS_STDOUT].fd);
	p->in.fd = fd_dup(p->out[PROCESS_STDOUT].fd, 0);
	return p->in.fd < 0 ? p->in.fd : 0;
}

static int process_make_stdin(struct start *st)
{
	struct process_sink *s = &st->p->in;
	int pair[2];
	int r = st->spec->takes_stdin ? fd_pipe(pair) : 1;

	if (r)
		return r < 0 ? r : 0;
	st->other[0] = pair[0];
	s->fd = pair[1];
	fd_widen_pipe(s->fd, PROCESS_PIPE);
	r = fd_pipe(s->stage);
	if (r == 0)
		fd_widen_pipe(s->stage[1], PROCESS_PIPE);
	return r;
}

static int process_make_pipes(struct start *st)
{
	int r = process_make_stdin(st);

	if (st->spec->writes_to_log) {
		const int fds[] = {st->other[0], STDOUT_FILENO, STDERR_FILENO};

		memcpy(st->spawn.fds, fds, sizeof(st->spawn.fds));
		return r;
	}
	for (unsigned i = 0; i < PROCESS_OUTPUTS && r == 0; i++) {
		int pair[2];

		r = fd_pipe(pair);
		if (r < 0)
			return r;
		st->p->out[i].fd = pair[0];
		st->other[i + 1] = pair[1];
	}
	memcpy(st->spawn.fds, st->other, sizeof(st->spawn.fds));
	return r;
}

static int process_make_spools(struct process *p)
{
	int r = 0;

	for (unsigned i = 0; i < process_outputs(p) && r == 0; i++)
		r = process_spool_make(&p->out[i].spool, &p->record->spool[i]);
	return r;
}

static int process_watch_all(struct process *p)
{
	int r = p->in.fd < 0 ? 0 : process_sink_watch(p);

	for (unsigned i = 0; i < process_outputs(p) && r == 0; i++)
		if (p->record->out[i].open)
			r = process_source_watch(p, i);
	return r;
}

/* Stores the descriptors in init: without them a crash of serve ends the process. */
static int process_store_all(struct process *p)
{
	const struct {
		const char *part;
		int fd;
	} parts[] = {
		{"", p->record_fd},
		{":1", p->out[0].fd},
		{":1s", p->out[0].spool.fd},
		{":2", p->out[1].fd},
		{":2s", p->out[1].spool.fd},
		{":0", p->record->pty ? -1 : p->in.fd},
		{":0r", p->in.stage[0]},
		{":0w", p->in.stage[1]},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts) && r == 0; i++)
		if (parts[i].fd >= 0)
			r = process_store(p, parts[i].part, parts[i].fd);
	return r;
}

/* --- The outcome ----------------------------------------------------------- */

static enum process_reason process_failure_reason(enum spawn_step at, int err)
{
	switch (at) {
	case SPAWN_IDENTITY:
		return err == -ENOENT || err == ERR_RANGE ? PROCESS_NO_USER
							  : PROCESS_START_FAILED;
	case SPAWN_GROUPS:
	case SPAWN_GID:
	case SPAWN_UID:
		return err == -EPERM ? PROCESS_NO_RIGHTS : PROCESS_START_FAILED;
	case SPAWN_CWD:
		return PROCESS_NO_DIRECTORY;
	case SPAWN_EXEC:
		if (err == -ENOENT || err == -ENOTDIR)
			return PROCESS_NOT_FOUND;
		if (err == -EACCES || err == -ENOEXEC || err == -EISDIR ||
			err == -EPERM || err == -ELOOP || err == -ETXTBSY)
			return PROCESS_NOT_EXECUTABLE;
		return PROCESS_START_FAILED;
	default:
		return PROCESS_START_FAILED;
	}
}

static void process_write_detail(struct process *p, int err)
{
	struct process_info i;
	char *to = p->detail;
	size_t n = sizeof(p->detail);

	process_info(p, &i);
	if (p->reason == PROCESS_NO_USER)
		snprintf(to, n, "The sandbox has no user %.64s.", i.user);
	else if (p->reason == PROCESS_NO_RIGHTS)
		snprintf(to, n,
			"The server is not permitted to become the user %.64s: %s "
			"failed.",
			i.user, p->report.step);
	else if (p->reason == PROCESS_NO_DIRECTORY)
		snprintf(to, n, "The directory %.80s cannot be entered: %s.", i.cwd,
			err_text(err));
	else if (p->reason == PROCESS_NOT_FOUND)
		snprintf(to, n, "There is no program named %.80s%s.", i.argv,
			strchr(i.argv, '/') ? "" : " on the PATH");
	else if (p->reason == PROCESS_NOT_EXECUTABLE)
		snprintf(to, n, "The program %.80s cannot be executed: %s.", i.argv,
			err_text(err));
	else
		snprintf(to, n, "The process did not start: %s: %s.", p->report.step,
			err_text(err));
}

static void process_fail(struct process *p, int err)
{
	process_end_timers(p);
	/* The child may still run, and its report is not watched any more. */
	if (p->child.pid)
		kill(p->record->pid, SIGKILL);
	p->reason = process_failure_reason(p->report.at, err);
	process_write_detail(p, err);
	process_table_drop_key(&p->all->table, p->number);
	process_enter(p, PROCESS_FAILED);
}

static void process_started(struct process *p)
{
	timer_cancel(p->all->conf->loop, &p->killing.timer);
	process_enter(p, PROCESS_RUNNING);
}

static int process_watch_report(struct process *p);

/* The child has executed the program, or has failed to. */
static void process_on_report(struct io *io, uint32_t events)
{
	struct process *p = container_of(io, struct process, report_io);
	int r;

	(void)events;
	/* spawn_read_outcome closes the descriptor. */
	loop_remove(p->all->conf->loop, io);
	r = spawn_read_outcome(&p->report);
	if (r == -EAGAIN)
		r = process_watch_report(p);
	else if (r == 0)
		process_started(p);
	/* -EINTR: a signal has killed the child before its exec. */
	if (r < 0)
		process_fail(p, r);
}

static int process_watch_report(struct process *p)
{
	return loop_add(p->all->conf->loop, &p->report_io, p->report.fd, EPOLLIN,
		process_on_report);
}

void process_on_child_exit(struct child *c, int status)
{
	struct process *p = container_of(c, struct process, child);

	if (p->record->state == PROCESS_STARTING && p->report_io.fd >= 0)
		process_on_report(&p->report_io, 0);
	if (p->record->state == PROCESS_RUNNING && p->record->failure) {
		p->report.at = SPAWN_EXEC;
		process_fail(p, -p->record->failure);
	}
	if (p->record->state == PROCESS_RUNNING)
		process_on_exit(p, status);
}

/* --- Start ----------------------------------------------------------------- */

static int process_fork_child(struct start *st, const char **why)
{
	struct process *p = st->p;
	const struct process_spec *spec = st->spec;
	struct spawn *s = &st->spawn;
	int r;

	s->argv = spec->argv;
	s->env = spec->env;
	s->cwd = spec->cwd ? spec->cwd : p->all->conf->cwd;
	s->cwd_needed = spec->cwd;
	s->user = p->all->conf->user;
	if (spec->user) {
		s->find_identity = process_find_identity;
		s->arg = st;
	}
	s->gated = true;
	s->failure = &p->record->failure;
	r = spawn(s, &p->record->pid, &p->report);
	*why = p->report.step;
	if (r < 0)
		return r;
	children_watch(&p->child, p->record->pid, process_on_child_exit);
	return process_watch_report(p);
}

/* Everything up to the gate of the child. */
static int process_prepare(struct start *st, const char **why)
{
	struct process *p = st->p;
	int r;

	*why = "allocating memory";
	r = process_record_make(p, st->spec);
	if (r == 0)
		r = process_find_paths(st);
	if (r < 0)
		return r;
	*why = st->spec->pty ? "opening a pseudo-terminal" : "making pipes";
	r = st->spec->pty ? process_make_pty(st) : process_make_pipes(st);
	if (r == 0)
		r = process_make_spools(p);
	return r < 0 ? r : process_fork_child(st, why);
}

/* Lets the child execute the program: a later serve assumes that it has done so. */
static void process_open_gate(struct start *st)
{
	struct process *p = st->p;
	int r = process_store_all(p);

	if (r < 0)
		log_warn("process %s: it cannot be stored in init, so a crash of the "
			 "server would end it: %s",
			p->id, err_text(r));
	if (st->spec->key.n)
		process_table_add_key(
			&p->all->table, st->spec->key, st->spec->request, p->number);
	if (st->spec->timeout_ms)
		p->record->deadline = clock_ms() + st->spec->timeout_ms;
	process_arm_timeout(p);
	process_arm_start(p);
	p->record->released = true;
	spawn_open_gate(&p->report);
}

static int process_launch(struct start *st, const char **why)
{
	struct process *p = st->p;
	int r = process_prepare(st, why);

	if (r == 0) {
		*why = "watching descriptors";
		r = process_watch_all(p);
	}
	for (size_t i = 0; i < ARRAY_LEN(st->other); i++)
		fd_close(&st->other[i]);
	if (r == 0)
		process_open_gate(st);
	else if (p->record && p->record->pid)
		kill(p->record->pid, SIGKILL);
	return r;
}

int process_start(struct processes *all, const struct process_spec *spec,
	struct process **out, const char **why)
{
	struct start st = {.spec = spec, .spawn.tty = -1, .other = {-1, -1, -1}};
	int r;

	*why = "allocating memory";
	if (all->stopping)
		return ERR_CLOSED;
	if (all->conf->user_fixed && spec->user &&
		strcmp(spec->user, all->conf->user_name) != 0)
		return ERR_REFUSED;
	if (all->running >= PROCESSES_MAX)
		return ERR_LIMIT;
	r = process_table_make(&all->table, all->conf->store);
	if (r < 0)
		return r;
	st.p = process_new(all, process_table_add_number(&all->table));
	if (!st.p)
		return -ENOMEM;
	all->running++;
	arena_init(&st.arena, START_MEMORY_MAX);
	r = process_launch(&st, why);
	arena_reset(&st.arena);
	if (r < 0) {
		all->running--;
		process_del(st.p);
		return r;
	}
	*out = st.p;
	return 0;
}
