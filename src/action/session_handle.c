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

static void session_answer_text(struct session *s, struct run *r, const char *content)
{
	run_answer_text(r->act, STR(""), str_c(content), STR(""));
	session_finish(s, r);
}

static void session_answer_failure(
	struct session *s, struct run *r, const char *what, int err)
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

bool run_is_disconnected(const struct run *r)
{
	return r->act->is_disconnected && r->act->is_disconnected(r->act);
}

bool run_is_detached(const struct run *r)
{
	return r->act->is_detached && r->act->is_detached(r->act);
}

/* The client seems to have disconnected: unreported output waits for the next request. */
void session_answer_closed(struct session *s, struct run *r)
{
	run_answer_text(r->act, r->command, STR(""),
		STR("\n[The connection was closed while the command was running. It "
		    "goes on.]"));
	session_finish(s, r);
}

/* --- Deadlines -------------------------------------------------------------- */

/* The command may have ended while its report waits for the interpreter's name. */
static void session_answer_timeout(struct session *s, struct run *r, struct str suffix)
{
	if (run_is_disconnected(r))
		session_answer_closed(s, r);
	else if (shell_state(s->shell) == SHELL_DONE)
		session_answer_finished(s, r);
	else
		session_answer_running(s, r, false, suffix);
}

static void session_on_no_change(struct timer *t)
{
	struct run *r = container_of(t, struct run, no_change);
	struct session *s = r->session;
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_no_change(&suffix, s->box->config->no_change_s);
	session_answer_timeout(s, r, buf_view(&suffix));
	buf_free(&suffix);
}

static void session_on_timeout(struct timer *t)
{
	struct run *r = container_of(t, struct run, hard);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_timed_out(&suffix, r->act->timeout);
	session_answer_timeout(r->session, r, buf_view(&suffix));
	buf_free(&suffix);
}

void session_arm_no_change(struct session *s, struct run *r)
{
	if (!r->blocking)
		session_arm(s, &r->no_change, s->box->config->no_change_s * 1000ull,
			session_on_no_change);
}

/* The shell has the input: now the request waits for the end of the command. */
static void session_wait_end(struct session *s, struct run *r)
{
	uint64_t ms = act_timeout_ms(r->act), spent = r->act->elapsed_ms;

	session_arm_no_change(s, r);
	if (ms)
		session_arm(s, &r->hard, ms > spent ? ms - spent : 1, session_on_timeout);
}

/* --- Handlers of requests -------------------------------------------------------- */

static void session_refuse_poll(struct session *s, struct run *r)
{
	session_answer_text(s, r, RUN_NOTHING_TO_READ);
}

static void session_refuse_input(struct session *s, struct run *r)
{
	session_answer_text(s, r, RUN_NOTHING_TO_TYPE_TO);
}

static void session_refuse_list(struct session *s, struct run *r)
{
	struct split_pieces pieces;
	struct buf text = BUF_INIT(OBSERVATION_MAX);

	if (split_command(r->command, &pieces) == SPLIT_MULTIPLE)
		split_write_refusal(r->command, &pieces, &text);
	observe_error(r->act, buf_view(&text));
	buf_free(&text);
	session_finish(s, r);
}

static void session_refuse_command(struct session *s, struct run *r)
{
	struct buf suffix = BUF_INIT(OBSERVATION_MAX);

	run_suffix_refused(&suffix, r->command);
	session_answer_running(s, r, true, buf_view(&suffix));
	buf_free(&suffix);
}

/* From here on the request may have an effect. False, and answered: it must not. */
static bool session_record_start(struct session *s, struct run *r)
{
	int err = act_before_effect(r->act);

	if (err < 0)
		session_answer_failure(
			s, r, "The action cannot be recorded and was not started", err);
	return err == 0;
}

static void session_submit_command(struct session *s, struct run *r)
{
	int err;

	if (!session_record_start(s, r))
		return;
	err = shell_submit(s->shell, r->command, r->act->id);
	if (err < 0)
		session_answer_failure(s, r,
			"The command could not be passed to the shell (a long command "
			"needs a writable folder: /dev/shm, /tmp, /run or /var/tmp)",
			err);
	else
		session_wait_end(s, r);
}

static void session_finish_typing(struct session *s, struct run *r, int err)
{
	if (err < 0)
		session_answer_failure(
			s, r, "The terminal does not accept the input", err);
	else
		session_wait_end(s, r);
}

static void session_refuse_key(struct session *s, struct run *r)
{
	struct buf text = BUF_INIT(RUN_WORDS_MAX);

	run_put_key_error(&text, run_parse_key(r->command), shell_no_terminal(s->shell));
	observe_error(r->act, buf_view(&text));
	buf_free(&text);
	session_finish(s, r);
}

static void session_type_key(struct session *s, struct run *r)
{
	int err;

	if (!session_record_start(s, r))
		return;
	err = shell_key(s->shell, run_parse_key(r->command));
	if (err == -ENOTTY)
		session_refuse_key(s, r);
	else
		session_finish_typing(s, r, err);
}

static void session_type_line(struct session *s, struct run *r)
{
	struct buf line = BUF_INIT(SHELL_INPUT_MAX + 1);

	if (!session_record_start(s, r))
		return;
	buf_str(&line, r->input);
	buf_putc(&line, shell_takes_keys(s->shell) ? '\r' : '\n');
	session_finish_typing(
		s, r, line.err ? line.err : shell_type(s->shell, buf_view(&line)));
	buf_free(&line);
}

static void session_start_shell(struct session *s, struct run *r)
{
	(void)r;
	shell_start(s->shell);
}

/* session_on_ready continues the request. */
static void session_wait_shell(struct session *s, struct run *r)
{
	(void)s;
	(void)r;
}

/* Keeps the output left from an earlier command, to be shown with the present one. */
static void session_collect_leftover(struct session *s, struct run *r)
{
	struct buf text = BUF_INIT(RUN_OUTPUT_MAX);
	size_t kept = 0;
	struct str left;
	struct shell_result res;

	if (shell_report(s->shell, &text, &kept) < 0)
		log_warn("session: out of memory: a part of the output of a command is "
			 "left out");
	left = run_strip_blanks(buf_view(&text));
	res = shell_take_result(s->shell);
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
static handle_fn *const handlers[RUN_KINDS][SHELL_REPORTED] = {
	[RUN_POLL] =
		{
			[SHELL_NONE... SHELL_IDLE] = session_refuse_poll,
			[SHELL_RUNNING] = session_wait_end,
			[SHELL_DONE] = session_answer_finished,
		},
	[RUN_KEY] =
		{
			[SHELL_NONE] = session_start_shell,
			[SHELL_STARTING] = session_wait_shell,
			[SHELL_IDLE] = session_type_key,
			[SHELL_RUNNING] = session_refuse_command,
			[SHELL_DONE] = session_collect_leftover,
		},
	[RUN_INPUT_KEY] =
		{
			[SHELL_NONE... SHELL_IDLE] = session_refuse_input,
			[SHELL_RUNNING] = session_type_key,
			[SHELL_DONE] = session_answer_finished,
		},
	[RUN_INPUT] =
		{
			[SHELL_NONE... SHELL_IDLE] = session_refuse_input,
			[SHELL_RUNNING] = session_type_line,
			[SHELL_DONE] = session_answer_finished,
		},
	[RUN_COMMAND] =
		{
			[SHELL_NONE] = session_start_shell,
			[SHELL_STARTING] = session_wait_shell,
			[SHELL_IDLE] = session_submit_command,
			[SHELL_RUNNING] = session_refuse_command,
			[SHELL_DONE] = session_collect_leftover,
		},
	[RUN_COMMAND_LIST] =
		{
			[SHELL_NONE... SHELL_DONE] = session_refuse_list,
		},
	[RUN_INPUT_LIST] =
		{
			[SHELL_NONE... SHELL_IDLE] = session_refuse_input,
			[SHELL_RUNNING... SHELL_DONE] = session_refuse_list,
		},
};

void session_handle(struct session *s, struct run *r)
{
	handlers[r->kind][shell_state(s->shell)](s, r);
}
