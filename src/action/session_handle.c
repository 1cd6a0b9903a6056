/*
 * The state machine of the wire contract on top of a shell: handles a request whose turn
 * it is. The contract's statuses are states of the shell: "none" and "completed" are a
 * shell without a command, the two timeouts are a command that runs while no request
 * waits for it.
 */
#include "action/session_private.h"

#include "action/observe.h"
#include "action/run_answer.h"
#include "action/run_text.h"

#include "base/log.h"
#include "codec/split.h"
#include "limits.h"

#include <errno.h>

static void answer_words(struct session *s, struct run *r, const char *content)
{
	run_answer_words(r->act, STR(""), str_c(content), STR(""));
	session_finish(s, r);
}

static void answer_failure(struct session *s, struct run *r, const char *what, int err)
{
	observe_errorf(r->act, "ERROR: %s: %s.", what, err_text(err));
	session_finish(s, r);
}

void session_answer_finished(struct session *s, struct run *r)
{
	run_answer_finished(&(struct run_answer){
		.act = r->act,
		.shell = s->shell,
		.command = r->command,
		.before = &r->before,
		.hidden = r->act->hidden,
	});
	session_finish(s, r);
}

void session_answer_running(
	struct session *s, struct run *r, bool refused, struct str suffix)
{
	run_answer_running(
		&(struct run_answer){
			.act = r->act,
			.shell = s->shell,
			.command = r->command,
			.before = &r->before,
		},
		refused, suffix);
	session_finish(s, r);
}

bool run_has_left(const struct run *r)
{
	return r->act->left && r->act->left(r->act);
}

bool run_is_alone(const struct run *r)
{
	return r->act->alone && r->act->alone(r->act);
}

/* The client seems to have disconnected: unreported output waits for the next request. */
void session_dismiss(struct session *s, struct run *r)
{
	run_answer_words(r->act, r->command, STR(""),
		STR("\n[The connection was closed while the command was running. It "
		    "goes on.]"));
	session_finish(s, r);
}

/* --- Deadlines -------------------------------------------------------------- */

/* The command may have ended while its report waits for the interpreter's name. */
static void answer_late(struct session *s, struct run *r, struct str suffix)
{
	if (run_has_left(r))
		session_dismiss(s, r);
	else if (shell_state(s->shell) == SHELL_DONE)
		session_answer_finished(s, r);
	else
		session_answer_running(s, r, false, suffix);
}

static void on_no_change(struct timer *t)
{
	struct run *r = container_of(t, struct run, no_change);
	struct session *s = r->session;
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_no_change(&suffix, s->box->config->no_change_s);
	answer_late(s, r, buf_view(&suffix));
	buf_free(&suffix);
}

static void on_hard(struct timer *t)
{
	struct run *r = container_of(t, struct run, hard);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_timed_out(&suffix, r->act->timeout);
	answer_late(r->session, r, buf_view(&suffix));
	buf_free(&suffix);
}

void session_wait_anew(struct session *s, struct run *r)
{
	if (!r->blocking)
		session_arm(s, &r->no_change, s->box->config->no_change_s * 1000ull,
			on_no_change);
}

/* The shell has the input: now the request waits for the end of the command. */
static void wait_for_end(struct session *s, struct run *r)
{
	uint64_t ms = act_timeout_ms(r->act), spent = r->act->spent;

	session_wait_anew(s, r);
	if (ms)
		session_arm(s, &r->hard, ms > spent ? ms - spent : 1, on_hard);
}

/* --- Handlers of requests -------------------------------------------------------- */

static void nothing_to_read(struct session *s, struct run *r)
{
	answer_words(s, r, RUN_NOTHING_TO_READ);
}

static void nobody_to_type_to(struct session *s, struct run *r)
{
	answer_words(s, r, RUN_NOTHING_TO_TYPE_TO);
}

static void refuse_several(struct session *s, struct run *r)
{
	struct split_pieces pieces;
	struct buf text = BUF_INIT(OBSERVATION_MAX);

	if (split_command(r->command, &pieces) == SPLIT_SEVERAL)
		split_write_refusal(r->command, &pieces, &text);
	observe_error(r->act, buf_view(&text));
	buf_free(&text);
	session_finish(s, r);
}

static void refuse_second(struct session *s, struct run *r)
{
	struct buf suffix = BUF_INIT(OBSERVATION_MAX);

	run_suffix_refused(&suffix, r->command);
	session_answer_running(s, r, true, buf_view(&suffix));
	buf_free(&suffix);
}

/* From here on the request may have an effect. False, and answered: it must not. */
static bool starts(struct session *s, struct run *r)
{
	int err = act_before_effect(r->act);

	if (err < 0)
		answer_failure(
			s, r, "The action cannot be recorded, and was not started", err);
	return err == 0;
}

static void submit(struct session *s, struct run *r)
{
	int err;

	if (!starts(s, r))
		return;
	err = shell_submit(s->shell, r->command, r->act->id);
	if (err < 0)
		answer_failure(s, r,
			"The command could not be handed to the shell (a long one needs "
			"a file in /dev/shm, /tmp, /run or /var/tmp)",
			err);
	else
		wait_for_end(s, r);
}

static void typed(struct session *s, struct run *r, int err)
{
	if (err < 0)
		answer_failure(s, r, "The terminal does not take the input", err);
	else
		wait_for_end(s, r);
}

static void refuse_key(struct session *s, struct run *r)
{
	struct buf text = BUF_INIT(RUN_WORDS_MAX);

	run_words_no_key(&text, run_key(r->command), shell_no_terminal(s->shell));
	observe_error(r->act, buf_view(&text));
	buf_free(&text);
	session_finish(s, r);
}

static void type_key(struct session *s, struct run *r)
{
	int err;

	if (!starts(s, r))
		return;
	err = shell_key(s->shell, run_key(r->command));
	if (err == -ENOTTY)
		refuse_key(s, r);
	else
		typed(s, r, err);
}

static void type_line(struct session *s, struct run *r)
{
	struct buf line = BUF_INIT(SHELL_INPUT_MAX + 1);

	if (!starts(s, r))
		return;
	buf_str(&line, r->input);
	buf_putc(&line, shell_takes_keys(s->shell) ? '\r' : '\n');
	typed(s, r, line.err ? line.err : shell_type(s->shell, buf_view(&line)));
	buf_free(&line);
}

static void start_shell(struct session *s, struct run *r)
{
	(void)r;
	shell_start(s->shell);
}

/* shell_ready continues the request. */
static void wait_for_shell(struct session *s, struct run *r)
{
	(void)s;
	(void)r;
}

/* Keeps the output left from an earlier command, to be shown with the present one. */
static void take_leftover(struct session *s, struct run *r)
{
	struct buf text = BUF_INIT(RUN_OUTPUT_MAX);
	size_t kept = 0;
	struct str left;
	struct shell_result res;

	if (shell_report(s->shell, &text, &kept) < 0)
		log_warn("session: out of memory, a part of the output is left out");
	left = run_strip(buf_view(&text));
	res = shell_take(s->shell);
	shell_confirm(s->shell);
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
	session_handle(s, r);
}

typedef void handle_fn(struct session *s, struct run *r);

/*
 * The handler of each kind of request in each state of the shell up to DONE. The state
 * after DONE never occurs here: shell_confirm precedes the turn of each request.
 */
static handle_fn *const handlers[RUN_KINDS][SHELL_TOLD] = {
	[RUN_POLL] =
		{
			[SHELL_GONE... SHELL_IDLE] = nothing_to_read,
			[SHELL_RUNNING] = wait_for_end,
			[SHELL_DONE] = session_answer_finished,
		},
	[RUN_KEY] =
		{
			[SHELL_GONE] = start_shell,
			[SHELL_STARTING] = wait_for_shell,
			[SHELL_IDLE] = type_key,
			[SHELL_RUNNING] = refuse_second,
			[SHELL_DONE] = take_leftover,
		},
	[RUN_INPUT_KEY] =
		{
			[SHELL_GONE... SHELL_IDLE] = nobody_to_type_to,
			[SHELL_RUNNING] = type_key,
			[SHELL_DONE] = session_answer_finished,
		},
	[RUN_INPUT] =
		{
			[SHELL_GONE... SHELL_IDLE] = nobody_to_type_to,
			[SHELL_RUNNING] = type_line,
			[SHELL_DONE] = session_answer_finished,
		},
	[RUN_COMMAND] =
		{
			[SHELL_GONE] = start_shell,
			[SHELL_STARTING] = wait_for_shell,
			[SHELL_IDLE] = submit,
			[SHELL_RUNNING] = refuse_second,
			[SHELL_DONE] = take_leftover,
		},
	[RUN_SEVERAL] =
		{
			[SHELL_GONE... SHELL_DONE] = refuse_several,
		},
	[RUN_INPUT_SEVERAL] =
		{
			[SHELL_GONE... SHELL_IDLE] = nobody_to_type_to,
			[SHELL_RUNNING... SHELL_DONE] = refuse_several,
		},
};

void session_handle(struct session *s, struct run *r)
{
	handlers[r->kind][shell_state(s->shell)](s, r);
}
