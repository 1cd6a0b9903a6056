#include "action/run_handle.h"

#include "action/observe.h"
#include "action/run_answer.h"
#include "action/run_text.h"

#include "base/log.h"
#include "codec/split.h"
#include "limits.h"

#include <errno.h>

static void run_handle_answer_text(struct run *r, const char *content)
{
	run_answer_text(r->act, STR(""), str_c(content), STR(""));
	r->answered(r);
}

static void run_handle_answer_failure(struct run *r, const char *what, int err)
{
	observe_errorf(r->act, "ERROR: %s: %s.", what, err_text(err));
	r->answered(r);
}

static void run_handle_answer_finished(struct run *r)
{
	run_answer_finished(&(struct run_answer){
		.act = r->act,
		.shell = r->shell,
		.command = r->command,
		.before = &r->before,
		.hidden = r->act->hidden,
	});
	r->answered(r);
}

static void run_handle_answer_running(struct run *r, bool refused, struct str suffix)
{
	run_answer_running(
		&(struct run_answer){
			.act = r->act,
			.shell = r->shell,
			.command = r->command,
			.before = &r->before,
		},
		refused, suffix);
	r->answered(r);
}

/* Whether the client seems to have disconnected. */
static bool run_is_disconnected(const struct run *r)
{
	return r->act->is_disconnected && r->act->is_disconnected(r->act);
}

/*
 * The client has disconnected, but may fetch the answer later: the answer is kept, and
 * the request does not hold up others.
 */
static bool run_is_detached(const struct run *r)
{
	return r->act->is_detached && r->act->is_detached(r->act);
}

/* The client seems to have disconnected: unreported output waits for the next request. */
static void run_handle_answer_closed(struct run *r)
{
	run_answer_text(r->act, r->command, STR(""),
		STR("\n[The connection was closed while the command was running. It "
		    "goes on.]"));
	r->answered(r);
}

/* --- Deadlines -------------------------------------------------------------- */

/* The command may have ended while its report waits for the interpreter's name. */
static void run_handle_answer_timeout(struct run *r, struct str suffix)
{
	if (run_is_disconnected(r))
		run_handle_answer_closed(r);
	else if (shell_state(r->shell) == SHELL_DONE)
		run_handle_answer_finished(r);
	else
		run_handle_answer_running(r, false, suffix);
}

static void run_handle_on_no_change(struct timer *t)
{
	struct run *r = container_of(t, struct run, no_change);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_no_change(&suffix, r->act->box->config->no_change_s);
	run_handle_answer_timeout(r, buf_view(&suffix));
	buf_free(&suffix);
}

static void run_handle_on_timeout(struct timer *t)
{
	struct run *r = container_of(t, struct run, hard);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_timed_out(&suffix, r->act->timeout);
	run_handle_answer_timeout(r, buf_view(&suffix));
	buf_free(&suffix);
}

static void run_handle_arm_no_change(struct run *r)
{
	if (!r->blocking)
		timer_set(r->act->box->loop, &r->no_change,
			r->act->box->config->no_change_s * 1000ull,
			run_handle_on_no_change);
}

/* The shell has the input: now the request waits for the end of the command. */
static void run_handle_wait_end(struct run *r)
{
	uint64_t ms = act_timeout_ms(r->act), spent = r->act->elapsed_ms;

	run_handle_arm_no_change(r);
	if (ms)
		timer_set(r->act->box->loop, &r->hard, ms > spent ? ms - spent : 1,
			run_handle_on_timeout);
}

/* --- Handlers of requests -------------------------------------------------------- */

static void run_handle_refuse_poll(struct run *r)
{
	run_handle_answer_text(r, RUN_NOTHING_TO_READ);
}

static void run_handle_refuse_input(struct run *r)
{
	run_handle_answer_text(r, RUN_NOTHING_TO_TYPE_TO);
}

static void run_handle_refuse_list(struct run *r)
{
	struct split_pieces pieces;
	struct buf text = BUF_INIT(OBSERVATION_MAX);

	if (split_command(r->command, &pieces) == SPLIT_MULTIPLE)
		split_write_refusal(r->command, &pieces, &text);
	observe_error(r->act, buf_view(&text));
	buf_free(&text);
	r->answered(r);
}

static void run_handle_refuse_command(struct run *r)
{
	struct buf suffix = BUF_INIT(OBSERVATION_MAX);

	run_suffix_refused(&suffix, r->command);
	run_handle_answer_running(r, true, buf_view(&suffix));
	buf_free(&suffix);
}

/* From here on the request may have an effect. False, and answered: it must not. */
static bool run_handle_record_start(struct run *r)
{
	int err = act_before_effect(r->act);

	if (err < 0)
		run_handle_answer_failure(
			r, "The action cannot be recorded and was not started", err);
	return err == 0;
}

static void run_handle_submit_command(struct run *r)
{
	int err;

	if (!run_handle_record_start(r))
		return;
	err = shell_submit(r->shell, r->command, r->act->id);
	if (err < 0)
		run_handle_answer_failure(r,
			"The command could not be passed to the shell (a long "
			"command needs a writable folder: /dev/shm, /tmp, /run "
			"or /var/tmp)",
			err);
	else
		run_handle_wait_end(r);
}

static void run_handle_finish_typing(struct run *r, int err)
{
	if (err < 0)
		run_handle_answer_failure(
			r, "The terminal does not accept the input", err);
	else
		run_handle_wait_end(r);
}

static void run_handle_refuse_key(struct run *r)
{
	struct buf text = BUF_INIT(RUN_WORDS_MAX);

	run_put_key_error(&text, run_parse_key(r->command), shell_no_terminal(r->shell));
	observe_error(r->act, buf_view(&text));
	buf_free(&text);
	r->answered(r);
}

static void run_handle_type_key(struct run *r)
{
	int err;

	if (!run_handle_record_start(r))
		return;
	err = shell_key(r->shell, run_parse_key(r->command));
	if (err == -ENOTTY)
		run_handle_refuse_key(r);
	else
		run_handle_finish_typing(r, err);
}

static void run_handle_type_line(struct run *r)
{
	struct buf line = BUF_INIT(SHELL_INPUT_MAX + 1);

	if (!run_handle_record_start(r))
		return;
	buf_str(&line, r->input);
	buf_putc(&line, shell_takes_keys(r->shell) ? '\r' : '\n');
	run_handle_finish_typing(
		r, line.err ? line.err : shell_type(r->shell, buf_view(&line)));
	buf_free(&line);
}

static void run_handle_start_shell(struct run *r)
{
	(void)r;
	shell_start(r->shell);
}

/* run_handle is called again when the shell is ready. */
static void run_handle_wait_shell(struct run *r)
{
	(void)r;
}

/* Keeps the output left from an earlier command, to be shown with the present one. */
static void run_handle_collect_leftover(struct run *r)
{
	struct buf text = BUF_INIT(RUN_OUTPUT_MAX);
	size_t kept = 0;
	struct str left;
	struct shell_result res;

	if (shell_report(r->shell, &text, &kept) < 0)
		log_warn("session: out of memory: a part of the output of a command is "
			 "left out");
	left = run_strip_blanks(buf_view(&text));
	res = shell_take_result(r->shell);
	shell_confirm(r->shell);
	buf_str(&r->before, left);
	buf_fmt(&r->before, "%s[The previous command completed with exit code %d.]\n",
		left.n ? "\n" : "", res.status);
	if (res.note)
		buf_fmt(&r->before, "[%s]\n", res.note);
	if (res.oom_kills) {
		run_note_oom(&r->before, &res);
		buf_putc(&r->before, '\n');
	}
	buf_free(&text);
	run_handle(r);
}

typedef void handle_fn(struct run *r);

/*
 * The handler of each kind of request in each state of the shell up to DONE. The state
 * after DONE never occurs here: shell_confirm precedes the turn of each request.
 */
static handle_fn *const handlers[RUN_KINDS][SHELL_REPORTED] = {
	[RUN_POLL] =
		{
			[SHELL_NONE... SHELL_IDLE] = run_handle_refuse_poll,
			[SHELL_RUNNING] = run_handle_wait_end,
			[SHELL_DONE] = run_handle_answer_finished,
		},
	[RUN_KEY] =
		{
			[SHELL_NONE] = run_handle_start_shell,
			[SHELL_STARTING] = run_handle_wait_shell,
			[SHELL_IDLE] = run_handle_type_key,
			[SHELL_RUNNING] = run_handle_refuse_command,
			[SHELL_DONE] = run_handle_collect_leftover,
		},
	[RUN_INPUT_KEY] =
		{
			[SHELL_NONE... SHELL_IDLE] = run_handle_refuse_input,
			[SHELL_RUNNING] = run_handle_type_key,
			[SHELL_DONE] = run_handle_answer_finished,
		},
	[RUN_INPUT] =
		{
			[SHELL_NONE... SHELL_IDLE] = run_handle_refuse_input,
			[SHELL_RUNNING] = run_handle_type_line,
			[SHELL_DONE] = run_handle_answer_finished,
		},
	[RUN_COMMAND] =
		{
			[SHELL_NONE] = run_handle_start_shell,
			[SHELL_STARTING] = run_handle_wait_shell,
			[SHELL_IDLE] = run_handle_submit_command,
			[SHELL_RUNNING] = run_handle_refuse_command,
			[SHELL_DONE] = run_handle_collect_leftover,
		},
	[RUN_COMMAND_LIST] =
		{
			[SHELL_NONE... SHELL_DONE] = run_handle_refuse_list,
		},
	[RUN_INPUT_LIST] =
		{
			[SHELL_NONE... SHELL_IDLE] = run_handle_refuse_input,
			[SHELL_RUNNING... SHELL_DONE] = run_handle_refuse_list,
		},
};

void run_handle(struct run *r)
{
	handlers[r->kind][shell_state(r->shell)](r);
}

/* --- Events of the shell ----------------------------------------------------------- */

void run_handle_output(struct run *r)
{
	if (timer_is_armed(&r->no_change))
		run_handle_arm_no_change(r);
}

void run_handle_end(struct run *r)
{
	if (run_is_disconnected(r))
		run_handle_answer_closed(r);
	else
		run_handle_answer_finished(r);
}

void run_handle_failure(struct run *r, int err, const char *why)
{
	observe_errorf(
		r->act, "ERROR: No shell could be started: %s (%s).", why, err_text(err));
	r->answered(r);
}

bool run_handle_absence(struct run *r)
{
	bool absent = run_is_disconnected(r) || run_is_detached(r);

	if (absent)
		run_handle_answer_closed(r);
	return absent;
}

void run_handle_shutdown(struct run *r)
{
	run_handle_answer_running(r, false, STR("\n[The sandbox is shutting down.]"));
}

void run_release(struct run *r)
{
	timer_cancel(r->act->box->loop, &r->no_change);
	timer_cancel(r->act->box->loop, &r->hard);
	buf_free(&r->before);
}
