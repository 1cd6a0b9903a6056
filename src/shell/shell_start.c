#include "shell/shell_private.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "shell/script.h"
#include "shell/tty_folder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SHELL_START_MS = 5000, /* a start-up file that takes longer is skipped */
	SHELL_KILL_MS = 200,   /* from a request to end to the kill */
};

static const char note_clean[] =
	"The shell was started without the user's start-up files, because they ended "
	"it or took more than 5 seconds.";

static const char note_elsewhere[] =
	"The shell was started in /, and without the user's start-up files, because its "
	"directory could not be entered within 5 seconds.";

static void shell_fail_start(struct shell *s, int err, const char *why)
{
	shell_kill(s);
	children_forget(&s->child);
	shell_close_pty(s);
	s->rec->pid = 0;
	shell_set_state(s, SHELL_NONE);
	s->ops.ready(s->arg, err, why);
}

static void shell_on_start_kill(struct timer *t)
{
	shell_kill(container_of(t, struct shell, timer));
}

/* Sends SIGHUP and SIGTERM before SIGKILL: a start-up file may have to clean up. */
static void shell_on_start_timeout(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, timer);

	kill(-s->rec->pid, SIGHUP);
	kill(-s->rec->pid, SIGTERM);
	shell_arm(s, SHELL_KILL_MS, shell_on_start_kill);
}

static int shell_store_fds(struct shell *s)
{
	char name[STORE_NAME];
	int r;

	shell_store_name(s, "pty", name);
	r = store_put(s->store, name, s->tty.fd, s->rec->pid);
	if (r < 0)
		return r;
	shell_store_name(s, "spool", name);
	return store_put(s->store, name, s->output.spool.fd, 0);
}

static int shell_make_nonce(struct shell *s)
{
	uint8_t random[MARK_NONCE / 2];
	int r = random_bytes(random, sizeof(random));

	if (r < 0)
		return r;
	hex_encode(random, sizeof(random), s->rec->nonce);
	shell_output_set_nonce(&s->output, s->rec->nonce);
	return shell_new_id(s->rec->id);
}

static int shell_type_setup(struct shell *s)
{
	struct buf line = BUF_INIT(SPOOL_READ);
	int r;

	script_setup(&line, s->setup.kind, shell_tty_is_reachable(&s->tty), s->in_folder,
		s->rec->nonce, s->rec->id);
	r = line.err ? line.err : shell_tty_type_line(&s->tty, buf_view(&line));
	buf_free(&line);
	return r;
}

static void shell_on_child_exit(struct child *c, int status)
{
	shell_exited(container_of(c, struct shell, child), status);
}

/*
 * The environment and the variable more. A clean environment has no ENV, which names a
 * start-up file for most shells. mksh uses a default file if ENV is unset, so ENV names
 * an empty file for it.
 */
static const char **shell_env_new(const struct shell *s, const char *more)
{
	const char *const *env = s->setup.env;
	const char **out;
	size_t n = 0, kept = 0;

	while (env[n])
		n++;
	out = calloc(n + 3, sizeof(*out));
	for (size_t i = 0; out && i < n; i++)
		if (!s->clean || strncmp(env[i], "ENV=", 4) != 0)
			out[kept++] = env[i];
	if (out && s->clean && s->setup.kind == SHELLS_MKSH)
		out[kept++] = "ENV=/dev/null";
	if (out)
		out[kept] = more;
	return out;
}

/*
 * Opens the terminal, and gives the other end, *other, to the child. *why names the step
 * that fails.
 */
static int shell_open_terminal(
	struct shell *s, struct spawn *sp, int *other, const char **why)
{
	int r = shell_tty_open(&s->tty, other, why);

	if (r < 0)
		return r;
	if (s->tty.no_pty != s->rec->no_pty)
		s->tty_reported = false;
	s->rec->no_pty = s->tty.no_pty;
	s->rec->poor_tty = s->tty.poor;
	vt_set_newline(s->output.vt, s->tty.no_pty);
	sp->tty = s->tty.no_pty ? -1 : *other;
	if (!s->tty.no_pty)
		return 0;
	log_warn("shell %s: no terminal: cannot open /dev/ptmx: %s", s->setup.name,
		err_text(s->tty.no_pty));
	for (size_t i = 0; i < ARRAY_LEN(sp->fds); i++)
		sp->fds[i] = *other;
	return 0;
}

/*
 * Makes the folder in which ash opens its terminal under the name of a shell. A shell
 * with a start-up file has none, because the file would be executed in that folder.
 */
static bool shell_make_folder(const struct shell *s, char path[TTY_FOLDER_PATH])
{
	const char *file = s->clean ? NULL : env_value(s->setup.env, "ENV");

	return s->setup.kind == SHELLS_ASH && shell_tty_is_reachable(&s->tty) && !file &&
		s->rec->cwd[0] == '/' && tty_folder_make(tty_folder_places, path) == 0;
}

static int shell_spawn(struct shell *s, const char **why)
{
	char folder[TTY_FOLDER_PATH], back[sizeof("OLDPWD=") + SHELL_CWD_MAX];
	const char *const named[] = {s->setup.arg0, "-i", TTY_FOLDER_NAME, NULL};
	const char *argv[8] = {s->setup.arg0};
	const char *const *more;
	struct spawn sp = {
		.path = s->setup.path,
		.argv = argv,
		.env = s->setup.env,
		.cwd = s->rec->cwd,
		.cwd_needed = s->setup.cwd_needed,
		.user = s->setup.user,
	};
	const char **env = NULL;
	int other = -1;
	pid_t pid;
	int r;

	*why = s->setup.missing;
	if (!s->setup.path)
		return -ENOENT;
	r = shell_open_terminal(s, &sp, &other, why);
	if (r < 0)
		return r;
	more = script_argv(s->setup.kind, s->clean, !s->tty.no_pty, !s->tty.poor);
	for (size_t i = 0; more[i]; i++)
		argv[i + 1] = more[i];
	s->in_folder = shell_make_folder(s, folder);
	if (s->in_folder) {
		snprintf(back, sizeof(back), "OLDPWD=%s", s->rec->cwd);
		sp.folder = folder;
		sp.folder_argv = named;
	}
	if (s->clean || s->in_folder)
		sp.env = env = shell_env_new(s, s->in_folder ? back : NULL);
	s->report.step = "copying the environment";
	r = sp.env ? spawn(&sp, &pid, &s->report) : -ENOMEM;
	*why = s->report.step;
	fd_close(&other);
	free(env);
	if (r < 0)
		return r;
	s->rec->pid = pid;
	children_watch(&s->child, pid, shell_on_child_exit);
	*why = "the event loop takes no more descriptors";
	return shell_tty_watch(&s->tty);
}

static void shell_start_process(struct shell *s, bool clean)
{
	const char *why = "no random numbers";
	int r;

	shell_set_state(s, SHELL_STARTING);
	s->clean = clean;
	s->rec->ended = s->rec->exited = false;
	shell_output_clear(&s->output);
	r = shell_make_nonce(s);
	if (r == 0)
		r = shell_spawn(s, &why);
	if (r == 0) {
		why = "the terminal does not accept input";
		r = shell_type_setup(s);
		/* The shell has ended: its exit status follows and gives the reason. */
		if (r == -EIO || r == -EPIPE)
			r = 0;
	}
	if (r == 0 && shell_store_fds(s) < 0)
		log_warn("shell %s: it cannot be stored in init, so a crash of the "
			 "server would end it",
			s->setup.name);
	if (r == 0)
		shell_arm(s, SHELL_START_MS, shell_on_start_timeout);
	else
		shell_fail_start(s, r, why);
}

void shell_start(struct shell *s)
{
	shell_start_process(s, false);
}

/* Faulty start-up files of the user must not leave the session without a shell. */
static void shell_start_clean(struct shell *s)
{
	log_warn("shell %s: its start-up files ended it or took more than 5 seconds; "
		 "starting without them",
		s->setup.name);
	s->note = note_clean;
	shell_start_process(s, true);
}

/* As shell_start_clean, because the shell did not enter its directory in time. */
static void shell_start_in_root(struct shell *s)
{
	log_warn("shell %s: the directory %s cannot be entered in time; starting in /",
		s->setup.name, s->rec->cwd);
	snprintf(s->rec->cwd, sizeof(s->rec->cwd), "/");
	s->note = note_elsewhere;
	shell_start_process(s, true);
}

void shell_on_start_exit(struct shell *s)
{
	const char *why = "it ended while it was starting";
	int r = spawn_read_outcome(&s->report);

	shell_set_state(s, SHELL_NONE);
	/* The shell was killed before it could read a start-up file. */
	if (r == -EINTR && !s->setup.cwd_needed && !s->clean && !shell_is_ending(s))
		shell_start_in_root(s);
	else if (r < 0)
		s->ops.ready(s->arg, r == -EINTR ? -ETIMEDOUT : r, s->report.step);
	else if (s->clean || shell_is_ending(s))
		s->ops.ready(s->arg, -ECHILD, why);
	else
		shell_start_clean(s);
}
