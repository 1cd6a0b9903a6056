#include "shell/shell_private.h"

#include "base/clock.h"
#include "base/fd.h"
#include "proc/pty.h"
#include "proc/tree.h"
#include "shell/script.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SHELL_PROMPT_MS = 100,   /* from a command's end to the prompt after it */
	SHELL_FRESH_MAX = 65536, /* one read, and bytes held back as part of a mark */
};

static const char note_ended[] =
	"The shell has ended. The next command gets a new one in the "
	"same directory.";
static const char note_not_run[] =
	"The server was restarted before the command reached the "
	"shell: it was not run.";
static const char note_cancelled[] =
	"The key came before the shell had taken the command: it was not run.";
static const char note_ended_first[] =
	"The shell ended before it took the command: it was not run. "
	"The next command gets a new one in the same directory.";
static const char note_replaced[] =
	"The shell had ended before this command, which ran in a new "
	"one in the same directory.";

void shell_set_state(struct shell *s, enum shell_state to)
{
	static const bool legal[6][6] = {
		[SHELL_NONE] = {[SHELL_STARTING] = true},
		[SHELL_STARTING] = {[SHELL_IDLE] = true, [SHELL_NONE] = true},
		[SHELL_IDLE] = {[SHELL_RUNNING] = true, [SHELL_NONE] = true},
		[SHELL_RUNNING] = {[SHELL_DONE] = true},
		[SHELL_DONE] = {[SHELL_REPORTED] = true},
		[SHELL_REPORTED] =
			{[SHELL_IDLE] = true, [SHELL_NONE] = true, [SHELL_DONE] = true},
	};

	assert(legal[s->rec->state][to]);
	timer_cancel(s->loop, &s->timer);
	timer_cancel(s->loop, &s->hang.timer);
	if (s->rec->state == SHELL_STARTING)
		spawn_report_close(&s->report);
	s->rec->entered = clock_ms();
	__atomic_store_n(&s->rec->state, to, __ATOMIC_RELEASE);
	shell_notify_followers(s, false);
}

void shell_store_name(const struct shell *s, const char *kind, char out[STORE_NAME])
{
	snprintf(out, STORE_NAME, "%s:%s", kind, s->setup.name);
}

void shell_remove_handover(struct shell *s)
{
	if (s->rec->handover[0])
		unlink(s->rec->handover);
	s->rec->handover[0] = '\0';
}

/* Closes the pty: any process that still reads from it gets a hang-up. */
void shell_close_pty(struct shell *s)
{
	char name[STORE_NAME];

	if (s->master < 0)
		return;
	shell_store_name(s, "pty", name);
	store_drop(s->store, name);
	loop_remove(s->loop, &s->io);
	fd_close(&s->master);
	buf_free(&s->typed);
}

void shell_arm(struct shell *s, uint64_t ms, timer_fn *fn)
{
	timer_set(s->loop, &s->timer, ms, fn);
}

static void shell_save_prompt(struct shell *s, const struct mark_event *e)
{
	if (e->cwd.n && e->cwd.n < sizeof(s->rec->cwd)) {
		memcpy(s->rec->cwd, e->cwd.p, e->cwd.n);
		s->rec->cwd[e->cwd.n] = '\0';
	}
	s->rec->background = e->background;
	s->rec->edits = e->edits;
	shell_find_python(s, e->path);
}

/* The kernel counts a kill before the signal goes out, so none is missed here. */
static void shell_count_oom_kills(struct shell *s)
{
	struct shell_record *rec = s->rec;
	uint64_t now;

	if (rec->oom_known && cgroup_oom_kills(s->setup.cgroup, &now) == 0 &&
		now > rec->oom_before)
		rec->oom_kills = now - rec->oom_before;
}

void shell_finish(struct shell *s)
{
	/* Input that the command has not read must not reach the next command. */
	buf_free(&s->typed);
	buf_free(&s->line);
	s->probing = false;
	/* A client with several commands sends the next one at once. */
	loop_busy_poll(s->loop, SHELL_AWAKE_US);
	shell_remove_handover(s);
	shell_count_oom_kills(s);
	shell_set_state(s, SHELL_DONE);
}

static void shell_on_prompt_timeout(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, timer);

	/* The user has removed the prompt; the command has ended all the same. */
	shell_finish(s);
	shell_notify_done(s);
}

/* The prompt answers the probe: the line never reached the shell. */
static void shell_cancel_command(struct shell *s)
{
	s->note = s->cancelled ? note_cancelled : note_not_run;
	s->rec->status = -1;
	shell_finish(s);
}

/*
 * Handles a prompt of an earlier command. Either it was printed before the command's
 * line was typed, or an interrupt has discarded the line; the answer to a probe proves
 * the latter.
 */
static void shell_on_old_prompt(struct shell *s)
{
	if (!s->probing) {
		shell_arm(s, SHELL_KEY_MS, shell_probe);
		return;
	}
	if (s->line.n)
		shell_retype_line(s);
	else
		shell_cancel_command(s);
}

void shell_on_mark(struct shell *s, const struct mark_event *e)
{
	struct shell_record *rec = s->rec;

	/* A line typed ahead of the present command has marks of its own. */
	if (!str_eq(e->id, str_c(rec->id))) {
		if (e->kind == MARK_PROMPT && rec->state == SHELL_RUNNING &&
			!rec->started)
			shell_on_old_prompt(s);
		return;
	}
	if (rec->state == SHELL_STARTING && e->kind == MARK_PROMPT) {
		shell_save_prompt(s, e);
		shell_set_state(s, SHELL_IDLE);
	} else if (rec->state == SHELL_RUNNING && e->kind == MARK_START) {
		rec->started = true;
		s->probing = false;
		buf_free(&s->line);
		timer_cancel(s->loop, &s->timer);
		if (script_reads_first(s->setup.kind))
			shell_remove_handover(s);
	} else if (rec->state == SHELL_RUNNING && e->kind == MARK_TEXT_DONE) {
		rec->status = e->status;
		rec->text_done = true;
		shell_save_prompt(s, e);
		rec->edits = true; /* until a prompt mark comes */
		shell_arm(s, SHELL_PROMPT_MS, shell_on_prompt_timeout);
	} else if (rec->state == SHELL_RUNNING && e->kind == MARK_PROMPT &&
		!shell_is_lead(s)) {
		/*
		 * Without a start mark the shell has lost our set-up, except for the
		 * prompt.
		 */
		s->lost = !rec->started;
		if (!rec->text_done)
			rec->status = e->status;
		shell_save_prompt(s, e);
		shell_finish(s);
	}
}

uint64_t shell_get_state_time(const struct shell *s)
{
	return s->rec->entered;
}

uint64_t shell_get_command_start(const struct shell *s)
{
	return s->rec->begun;
}

/* The shell that ran a command has ended, perhaps before the command started. */
static void shell_on_exit_running(struct shell *s, int code)
{
	struct shell_record *rec = s->rec;

	if (rec->state == SHELL_RUNNING) {
		if (s->verdict)
			code = s->verdict;
		rec->status = rec->started || s->note ? code : -1;
		if (!s->note)
			s->note = rec->started ? note_ended : note_ended_first;
		shell_finish(s);
	} else {
		s->note = note_ended;
	}
	shell_notify_done(s);
}

static void shell_on_exit_starting(struct shell *s)
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

void shell_finish_exit(struct shell *s, enum shell_state before)
{
	s->exit.under_way = false;
	s->rec->exited = false;
	s->rec->ended = true;
	shell_close_pty(s);
	switch (before) {
	case SHELL_STARTING:
		shell_on_exit_starting(s);
		break;
	case SHELL_IDLE:
		s->note = note_replaced;
		shell_set_state(s, SHELL_NONE);
		break;
	case SHELL_RUNNING:
		shell_on_exit_running(s, s->exit.code);
		break;
	case SHELL_DONE:
		s->note = note_ended;
		break;
	case SHELL_REPORTED:
		s->note = note_replaced;
		break;
	case SHELL_NONE:
		break;
	}
}

void shell_exited(struct shell *s, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

	children_forget(&s->child);
	s->rec->pid = 0;
	/* Init has no status of a process that this one has reaped. */
	s->rec->exited = true;
	s->rec->exit_status = status;
	if (s->restoring.under_way) {
		s->restoring.exited = true;
		s->restoring.status = status;
		return;
	}
	s->exit = (struct shell_exit){.under_way = true, .code = code};
	shell_drain_output(s);
}

void shell_kill(struct shell *s)
{
	if (s->rec->pid > 0)
		tree_kill_now(s->rec->pid);
}

int shell_report(struct shell *s, struct buf *out, size_t *kept)
{
	int r = vt_report(s->vt, &s->shown, out, kept);

	s->reported = shell_get_fed(s);
	s->rec->reports++;
	return r;
}

unsigned shell_reports(const struct shell *s)
{
	return s->rec->reports;
}

struct shell_result shell_take_result(struct shell *s)
{
	struct shell_result result = {
		.status = s->rec->status,
		.ended = s->rec->ended,
		.background = s->rec->background,
		.note = s->note,
		.oom_kills = s->rec->oom_kills,
	};

	if (result.oom_kills &&
		cgroup_memory_limit(s->setup.cgroup, &result.memory_limit) < 0)
		result.memory_limit = 0;
	/* The note of an earlier process is not stored, but it follows from ended. */
	if (result.ended && !result.note)
		result.note = note_ended;
	s->note = NULL;
	shell_set_state(s, SHELL_REPORTED);
	return result;
}

void shell_confirm(struct shell *s)
{
	struct shell_record *rec = s->rec;

	if (rec->state == SHELL_RUNNING || rec->state == SHELL_DONE)
		rec->reported = s->reported;
	if (rec->state != SHELL_REPORTED)
		return;
	rec->reports = 0;
	rec->reported = 0;
	rec->maybe_reported = false;
	shell_carry_output(s);
	shell_set_state(s, rec->ended ? SHELL_NONE : SHELL_IDLE);
}

enum shell_state shell_state(const struct shell *s)
{
	return s->rec->state;
}

pid_t shell_pid(const struct shell *s)
{
	return s->rec->pid;
}

int shell_no_terminal(const struct shell *s)
{
	return s->rec->no_tty;
}

int shell_report_no_terminal(struct shell *s)
{
	int err = s->tty_reported ? 0 : s->rec->no_tty;

	s->tty_reported = true;
	return err;
}

struct str shell_cwd(const struct shell *s)
{
	return str_c(s->rec->cwd);
}

struct str shell_python(const struct shell *s)
{
	return str_c(s->rec->python);
}

struct shell *shell_new(struct loop *l, struct store *store,
	const struct shell_setup *setup, const struct shell_ops *ops, void *arg, int *err)
{
	struct shell *s = calloc(1, sizeof(*s));

	*err = -ENOMEM;
	if (!s)
		return NULL;
	s->loop = l;
	s->store = store;
	s->setup = *setup;
	s->ops = *ops;
	s->arg = arg;
	buf_init(&s->typed, SHELL_INPUT_MAX);
	buf_init(&s->line, SPOOL_READ);
	buf_init(&s->fresh, SHELL_FRESH_MAX);
	buf_init(&s->searched, MARK_BODY_MAX);
	s->master = -1;
	s->report.fd = -1;
	s->io.fd = -1;
	s->spool.fd = -1;
	s->vt = vt_new();
	if (s->vt)
		*err = spool_make(&s->spool);
	if (*err < 0) {
		vt_free(s->vt);
		free(s);
		return NULL;
	}
	s->rec = spool_get_state(&s->spool);
	s->rec->entered = clock_ms();
	snprintf(s->rec->cwd, sizeof(s->rec->cwd), "%s", setup->cwd);
	return s;
}

void shell_del(struct shell *s)
{
	char name[STORE_NAME];

	if (!s)
		return;
	shell_notify_followers(s, true);
	shell_kill(s);
	children_forget(&s->child);
	timer_cancel(s->loop, &s->timer);
	timer_cancel(s->loop, &s->end.timer);
	timer_cancel(s->loop, &s->hang.timer);
	timer_cancel(s->loop, &s->restoring.timer);
	timer_cancel(s->loop, &s->turn);
	shell_remove_handover(s);
	shell_close_pty(s);
	spawn_report_close(&s->report);
	shell_store_name(s, "spool", name);
	store_drop(s->store, name);
	buf_free(&s->line);
	buf_free(&s->fresh);
	shell_drop_lookup(s);
	buf_free(&s->searched);
	mark_free(&s->marks);
	vt_free(s->vt);
	spool_free(&s->spool);
	free(s);
}
