#include "shell/shell_private.h"

#include "base/clock.h"
#include "base/log.h"
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
	SHELL_PROMPT_MS = 100, /* from a command's end to the prompt after it */
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

static const char note_hung[] =
	"The shell hung in a lock of its own when it was interrupted, which is a defect "
	"of that shell, and was killed. The next command gets a new one in the same "
	"directory, without the variables and functions of the old one.";

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
	shell_hang_cancel(&s->hang);
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

void shell_close_pty(struct shell *s)
{
	char name[STORE_NAME];

	if (s->tty.fd < 0)
		return;
	shell_store_name(s, "pty", name);
	store_drop(s->store, name);
	shell_tty_close(&s->tty);
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
	python_lookup_start(&s->lookup, e->path, s->rec->python);
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
	shell_tty_drop_input(&s->tty);
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

static void shell_on_mark(struct shell_output *o, const struct mark_event *e)
{
	struct shell *s = container_of(o, struct shell, output);
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

void shell_finish_exit(struct shell *s, enum shell_state before)
{
	s->exit.under_way = false;
	s->rec->exited = false;
	s->rec->ended = true;
	shell_close_pty(s);
	switch (before) {
	case SHELL_STARTING:
		shell_on_start_exit(s);
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
	if (s->restore.under_way)
		return;
	s->exit = (struct shell_exit){.under_way = true, .code = code};
	shell_drain_output(s);
}

void shell_kill(struct shell *s)
{
	if (s->rec->pid > 0)
		tree_kill_now(s->rec->pid);
}

/* --- Callbacks of the parts ---------------------------------------------- */

static enum shell_output_use shell_get_output_use(const struct shell_output *o)
{
	const struct shell *s = container_of(o, const struct shell, output);

	if (s->rec->state == SHELL_STARTING)
		return SHELL_OUTPUT_DROP;
	if (s->rec->state == SHELL_RUNNING && s->ops.printed && !s->restore.under_way)
		return SHELL_OUTPUT_REPORT;
	return SHELL_OUTPUT_SHOW;
}

static void shell_on_fed(struct shell_output *o, struct str bytes, bool shown)
{
	struct shell *s = container_of(o, struct shell, output);

	if (bytes.n)
		s->ops.printed(s->arg, bytes, shell_output_get_fed(o));
	if (shown)
		shell_notify_followers(s, false);
}

/* Before the command has started, the deadline of its start covers a hang. */
static bool shell_is_deadlocked(struct shell_hang *h, char where[INSPECT_TEXT_MAX])
{
	const struct shell *s = container_of(h, struct shell, hang);

	return s->rec->pid > 0 && s->rec->started && !shell_is_ending(s) &&
		shell_tty_is_foreground(&s->tty, s->rec->pid) &&
		inspect_is_deadlocked(s->rec->pid, s->setup.path, where);
}

/* Kills the shell only: its background processes go on, as they do after "exit". */
static void shell_on_hang(struct shell_hang *h)
{
	struct shell *s = container_of(h, struct shell, hang);

	log_warn("shell %s: it is blocked in a lock of its own and is killed",
		s->setup.name);
	s->note = note_hung;
	s->verdict = 128 + SIGINT;
	kill(s->rec->pid, SIGKILL);
}

static void shell_on_python(struct python_lookup *k)
{
	struct shell *s = container_of(k, struct shell, lookup);
	bool due = s->done_due;

	s->done_due = false;
	if (due && s->rec->state == SHELL_DONE)
		s->ops.done(s->arg);
}

void shell_notify_done(struct shell *s)
{
	/* The answer names the python of a new PATH, not that of the old one. */
	s->done_due = s->lookup.is_path_new;
	if (!s->done_due)
		s->ops.done(s->arg);
}

/* --- The end from outside ------------------------------------------------ */

/* The end of the command is reported before the end of the session. */
static bool shell_on_end(struct shell_end *e, const struct tree *report)
{
	struct shell *s = container_of(e, struct shell, end);
	shell_ended_fn *fn = s->ended;

	if (s->restore.under_way || s->exit.under_way)
		return false;
	s->ended = NULL;
	fn(s->ended_arg, report);
	return true;
}

int shell_end(struct shell *s, const char *note, shell_ended_fn *fn, void *arg)
{
	enum shell_state state = s->rec->state;

	if (s->ended)
		return -EALREADY;
	s->ended = fn;
	s->ended_arg = arg;
	s->end = (struct shell_end){
		.loop = s->loop,
		.tty = &s->tty,
		.pid = &s->rec->pid,
		.name = s->setup.arg0,
		.at_prompt = state != SHELL_RUNNING && state != SHELL_STARTING,
		.fn = shell_on_end,
	};
	if (state == SHELL_RUNNING)
		s->note = note;
	shell_end_begin(&s->end);
	return 0;
}

bool shell_is_ending(const struct shell *s)
{
	return s->ended;
}

/* --- The result ---------------------------------------------------------- */

int shell_report(struct shell *s, struct buf *out, size_t *kept)
{
	s->rec->reports++;
	return shell_output_report(&s->output, out, kept);
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
		rec->reported = s->output.reported;
	if (rec->state != SHELL_REPORTED)
		return;
	rec->reports = 0;
	rec->reported = 0;
	rec->maybe_reported = false;
	shell_output_carry(&s->output);
	shell_arm_turn(s);
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
	return s->tty.no_pty;
}

int shell_report_no_terminal(struct shell *s)
{
	int err = s->tty_reported ? 0 : s->tty.no_pty;

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
	static const struct shell_output_ops output_ops = {
		shell_get_output_use, shell_on_mark, shell_on_fed};
	static const struct shell_hang_ops hang_ops = {
		shell_is_deadlocked, shell_on_hang};
	struct shell *s = calloc(1, sizeof(*s));

	*err = s ? shell_output_init(&s->output, setup->name, &output_ops) : -ENOMEM;
	if (*err < 0) {
		free(s);
		return NULL;
	}
	s->loop = l;
	s->store = store;
	s->setup = *setup;
	s->ops = *ops;
	s->arg = arg;
	shell_tty_init(&s->tty, l, shell_on_tty_ready);
	python_lookup_init(&s->lookup, l, setup->user, shell_on_python);
	s->hang = (struct shell_hang){.loop = l, .ops = &hang_ops};
	buf_init(&s->line, SPOOL_READ);
	s->report.fd = -1;
	s->rec = spool_get_state(&s->output.spool);
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
	timer_cancel(s->loop, &s->turn);
	shell_end_cancel(&s->end);
	shell_hang_cancel(&s->hang);
	shell_restore_cancel(&s->restore);
	shell_remove_handover(s);
	shell_close_pty(s);
	spawn_report_close(&s->report);
	shell_store_name(s, "spool", name);
	store_drop(s->store, name);
	buf_free(&s->line);
	python_lookup_free(&s->lookup);
	shell_output_free(&s->output);
	free(s);
}
