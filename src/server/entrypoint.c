#include "server/entrypoint.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "limits.h"
#include "proc/which.h"
#include "shell/shell.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The default of container engines for images without PATH. */
static const char default_path[] =
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static const char *entrypoint_find_path(const char *const *env)
{
	const char *path = env_find(env, STR("PATH"));

	return path ? path : default_path;
}

/* Puts the state into the fd store. A record there needs a descriptor: /dev/null. */
static void entrypoint_store_state(const struct entrypoint *e)
{
	char name[STORE_NAME] = ENTRYPOINT_RECORD;
	int fd = fd_open("/dev/null", O_RDONLY, 0);
	int r = fd;

	if (e->state != ENTRYPOINT_RUNNING)
		snprintf(name, sizeof(name), ENTRYPOINT_RECORD "%d", e->status);
	if (fd >= 0)
		r = store_put(e->box->store, name, fd, e->pid);
	if (r < 0)
		log_warn("the entrypoint cannot be stored in init, so a crash of the "
			 "server would lose its exit code: %s",
			err_text(r));
	fd_close(&fd);
}

static void entrypoint_log_end(const struct entrypoint *e)
{
	if (e->state == ENTRYPOINT_FAILED)
		log_warn("the entrypoint cannot be started: %s: %s", e->step,
			err_text(e->err));
	else if (WIFSIGNALED(e->status))
		log_warn("the entrypoint was ended by signal %d", WTERMSIG(e->status));
	else if (WEXITSTATUS(e->status))
		log_warn("the entrypoint has ended with exit code %d",
			WEXITSTATUS(e->status));
	else
		log_info("the entrypoint has ended");
}

static void entrypoint_set_state(struct entrypoint *e, enum entrypoint_state to)
{
	void (*ended)(void *arg) = e->ended;

	assert(to > e->state && e->state <= ENTRYPOINT_RUNNING);
	e->state = to;
	entrypoint_store_state(e);
	if (to == ENTRYPOINT_RUNNING)
		return;
	entrypoint_log_end(e);
	e->ended = NULL;
	if (ended)
		ended(e->arg);
}

static void entrypoint_fail(struct entrypoint *e, const char *step, int err)
{
	e->step = step;
	e->err = err;
	/* The exit codes of a shell: 127 not found, 126 not executable. */
	e->status = (err == -ENOENT ? 127 : 126) << 8;
	entrypoint_set_state(e, ENTRYPOINT_FAILED);
}

static void entrypoint_on_exit(struct child *c, int status)
{
	struct entrypoint *e = container_of(c, struct entrypoint, child);
	int r = spawn_read_outcome(&e->report);

	e->status = status;
	if (r < 0 && r != -EINTR)
		entrypoint_fail(e, e->report.step, r);
	else
		entrypoint_set_state(e, ENTRYPOINT_ENDED);
}

static void entrypoint_spawn(struct entrypoint *e)
{
	const struct shell_setup *setup = e->box->shell_setup;
	const char *const *words = e->box->config->entrypoint_words;
	char path[FILE_PATH_MAX];
	struct spawn s = {
		.path = path,
		.argv = words,
		.env = setup->env,
		.cwd = setup->cwd,
		.tty = -1,
		.fds = {-1, STDOUT_FILENO, STDERR_FILENO},
		.user = setup->user,
	};
	int r = which_find(words[0], entrypoint_find_path(setup->env), path);

	if (r < 0) {
		entrypoint_fail(e, words[0], r);
		return;
	}
	r = spawn(&s, &e->pid, &e->report);
	if (r < 0) {
		entrypoint_fail(e, e->report.step, r);
		return;
	}
	log_info("the entrypoint %s is process %d", path, (int)e->pid);
	children_watch(&e->child, e->pid, entrypoint_on_exit);
	entrypoint_set_state(e, ENTRYPOINT_RUNNING);
}

void entrypoint_restore(struct entrypoint *e, const struct store_record *r)
{
	struct str name = str_c(r->name);
	uint64_t status;

	if (!str_starts(name, STR(ENTRYPOINT_RECORD)) || e->state == ENTRYPOINT_ENDED)
		return;
	name = str_skip(name, strlen(ENTRYPOINT_RECORD));
	e->pid = r->pid;
	e->status = r->status;
	e->state = r->exited ? ENTRYPOINT_ENDED : ENTRYPOINT_RUNNING;
	if (name.n && str_u64(name, INT32_MAX, &status) == 0) {
		e->status = (int)status;
		e->state = ENTRYPOINT_ENDED;
	}
}

void entrypoint_start(struct entrypoint *e, void (*ended)(void *arg), void *arg)
{
	if (e->state > ENTRYPOINT_RUNNING) {
		if (ended)
			ended(arg);
		return;
	}
	e->ended = ended;
	e->arg = arg;
	if (e->state == ENTRYPOINT_IDLE)
		entrypoint_spawn(e);
}

void entrypoint_handle_exit(struct entrypoint *e, pid_t pid, int status)
{
	if (e->state != ENTRYPOINT_RUNNING || pid != e->pid)
		return;
	e->status = status;
	entrypoint_set_state(e, ENTRYPOINT_ENDED);
}

void entrypoint_write_info(const struct entrypoint *e, struct jw *w)
{
	static const char *const words[] = {
		[ENTRYPOINT_IDLE] = "starting",
		[ENTRYPOINT_RUNNING] = "running",
		[ENTRYPOINT_ENDED] = "ended",
		[ENTRYPOINT_FAILED] = "failed",
	};

	if (e->box->config->entrypoint == CONFIG_ENTRYPOINT_NONE)
		return;
	jw_key(w, "entrypoint");
	jw_object(w);
	jw_key(w, "state");
	jw_cstr(w, words[e->state]);
	if (e->state == ENTRYPOINT_RUNNING) {
		jw_key(w, "pid");
		jw_uint(w, (uint64_t)e->pid);
	} else if (e->state == ENTRYPOINT_ENDED && WIFSIGNALED(e->status)) {
		jw_key(w, "signal");
		jw_uint(w, (uint64_t)WTERMSIG(e->status));
	} else if (e->state == ENTRYPOINT_ENDED) {
		jw_key(w, "exit_code");
		jw_uint(w, (uint64_t)WEXITSTATUS(e->status));
	} else if (e->state == ENTRYPOINT_FAILED) {
		jw_key(w, "why");
		jw_cstr(w, err_text(e->err));
	}
	jw_end(w);
}

void entrypoint_free(struct entrypoint *e)
{
	children_forget(&e->child);
	spawn_report_close(&e->report);
}
