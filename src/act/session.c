/*
 * The contract's state machine on top of a shell. Its statuses are states of the
 * shell: "none" and "completed" are a shell without a command, the two timeouts
 * are a command that runs with nobody waiting for it.
 */
#include "act/session.h"

#include "act/observe.h"
#include "act/run.h"
#include "act/run_answer.h"
#include "act/run_text.h"

#include "base/log.h"
#include "limits.h"
#include "term/split.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct session {
	struct box *box;
	struct shell *shell;
	struct run *current; /* has the shell */
	struct run *queue;   /* waits for it */
	struct timer turn;   /* of the queue's first */
	session_ready_fn *ready;
	void *ready_arg;
};

static void on_turn(struct timer *t);

static void timers_off(struct session *s, struct run *r)
{
	timer_cancel(s->box->loop, &r->no_change);
	timer_cancel(s->box->loop, &r->hard);
}

static void arm(struct session *s, struct timer *t, uint64_t ms, timer_fn *fn)
{
	if (timer_set(s->box->loop, t, ms, fn) < 0)
		log_warn("session: out of memory for a deadline");
}

/*
 * The observation is written: the request is over, and the next in line has its
 * turn, from the loop rather than from here, because it may be over at once too.
 */
static void finish(struct session *s, struct run *r)
{
	struct act *a = r->act;

	timers_off(s, r);
	buf_free(&r->before);
	s->current = NULL;
	a->state = NULL;
	if (s->queue)
		arm(s, &s->turn, 0, on_turn);
	a->done(a);
}

static void answer_words(struct session *s, struct run *r, const char *content)
{
	run_answer_words(r->act, STR(""), str_c(content), STR(""));
	finish(s, r);
}

static void answer_failure(struct session *s, struct run *r, const char *what, int err)
{
	observe_errorf(r->act, "ERROR: %s: %s.", what, err_text(err));
	finish(s, r);
}

static void answer_finished(struct session *s, struct run *r)
{
	run_answer_finished(&(struct run_answer){
		.act = r->act,
		.shell = s->shell,
		.command = r->command,
		.before = &r->before,
		.hidden = r->act->hidden,
	});
	finish(s, r);
}

static void answer_running(
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
	finish(s, r);
}

static bool has_left(const struct run *r)
{
	return r->act->left && r->act->left(r->act);
}

/* The one who asked seems to have left: what is not reported waits for the next. */
static void dismiss(struct session *s, struct run *r)
{
	run_answer_words(r->act, r->command, STR(""),
		STR("\n[The connection was closed while the command was running. It "
		    "goes on.]"));
	finish(s, r);
}

/* --- Deadlines -------------------------------------------------------------- */

static void on_no_change(struct timer *t)
{
	struct run *r = container_of(t, struct run, no_change);
	struct session *s = r->session;
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_no_change(&suffix, s->box->config->no_change_s);
	if (has_left(r))
		dismiss(s, r);
	else
		answer_running(s, r, false, buf_view(&suffix));
	buf_free(&suffix);
}

static void on_hard(struct timer *t)
{
	struct run *r = container_of(t, struct run, hard);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_timed_out(&suffix, r->act->timeout);
	if (has_left(r))
		dismiss(r->session, r);
	else
		answer_running(r->session, r, false, buf_view(&suffix));
	buf_free(&suffix);
}

static void arm_no_change(struct session *s, struct run *r)
{
	if (!r->blocking)
		arm(s, &r->no_change, s->box->config->no_change_s * 1000ull,
			on_no_change);
}

/* The shell has what it was to get: now the request waits for the end. */
static void wait_for_end(struct session *s, struct run *r)
{
	double ms = r->act->timeout * 1000.0;

	arm_no_change(s, r);
	if (ms > 0)
		arm(s, &r->hard, ms < TIMEOUT_MAX ? (uint64_t)ms : TIMEOUT_MAX, on_hard);
}

/* --- What becomes of a request ------------------------------------------------ */

static void dispatch(struct session *s, struct run *r);

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
	finish(s, r);
}

static void refuse_second(struct session *s, struct run *r)
{
	struct buf suffix = BUF_INIT(OBSERVATION_MAX);

	run_suffix_refused(&suffix, r->command);
	answer_running(s, r, true, buf_view(&suffix));
	buf_free(&suffix);
}

static void submit(struct session *s, struct run *r)
{
	int err = shell_submit(s->shell, r->command);

	if (err < 0)
		answer_failure(s, r, "The command could not be handed to the shell", err);
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

static void type_key(struct session *s, struct run *r)
{
	typed(s, r, shell_key(s->shell, run_key(r->command)));
}

static void type_line(struct session *s, struct run *r)
{
	struct buf line = BUF_INIT(SHELL_INPUT_MAX + 1);

	buf_str(&line, r->command);
	buf_putc(&line, '\n');
	typed(s, r, line.err ? line.err : shell_type(s->shell, buf_view(&line)));
	buf_free(&line);
}

static void start_shell(struct session *s, struct run *r)
{
	(void)r;
	shell_start(s->shell);
}

/* shell_ready goes on with it. */
static void wait_for_shell(struct session *s, struct run *r)
{
	(void)s;
	(void)r;
}

/* Keeps what an earlier command has left, to be shown with the present one. */
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
	buf_free(&text);
	dispatch(s, r);
}

typedef void handle_fn(struct session *s, struct run *r);

/* What is legal when. A shell in TOLD has been confirmed before anybody's turn. */
static handle_fn *const handlers[RUN_KINDS][SHELL_TOLD] = {
	[RUN_POLL] =
		{
			[SHELL_GONE... SHELL_IDLE] = nothing_to_read,
			[SHELL_RUNNING] = wait_for_end,
			[SHELL_DONE] = answer_finished,
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
			[SHELL_DONE] = answer_finished,
		},
	[RUN_INPUT] =
		{
			[SHELL_GONE... SHELL_IDLE] = nobody_to_type_to,
			[SHELL_RUNNING] = type_line,
			[SHELL_DONE] = answer_finished,
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

static void dispatch(struct session *s, struct run *r)
{
	handlers[r->kind][shell_state(s->shell)](s, r);
}

/* --- Whose turn it is --------------------------------------------------------- */

static void begin(struct session *s, struct run *r)
{
	/* Who asks again has got the last answer, or does not care. */
	shell_confirm(s->shell);
	s->current = r;
	dispatch(s, r);
}

static void on_turn(struct timer *t)
{
	struct session *s = container_of(t, struct session, turn);

	while (!s->current && s->queue) {
		struct run *r = s->queue;

		s->queue = r->next;
		begin(s, r);
	}
}

/* The end of the line; *n is its length. */
static struct run **queue_end(struct session *s, size_t *n)
{
	struct run **at = &s->queue;

	for (*n = 0; *at; ++*n)
		at = &(*at)->next;
	return at;
}

int session_run(struct session *s, struct run *r)
{
	size_t waiting;
	struct run **end = queue_end(s, &waiting);

	if (waiting >= RUN_QUEUE_MAX)
		return ERR_LIMIT;
	r->session = s;
	/* Who has hung up must not keep others from the shell until its deadline. */
	while (s->current && shell_state(s->shell) == SHELL_RUNNING &&
		has_left(s->current))
		dismiss(s, s->current);
	if (s->current || s->queue) {
		*end = r;
		arm(s, &s->turn, 0, on_turn);
	} else {
		begin(s, r);
	}
	return 0;
}

void session_abandon(struct run *r)
{
	struct session *s = r->session;
	struct run **at = &s->queue;

	timers_off(s, r);
	buf_free(&r->before);
	if (s->current == r) {
		s->current = NULL;
		if (s->queue)
			arm(s, &s->turn, 0, on_turn);
		return;
	}
	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
}

void session_cut(struct session *s)
{
	while (s->current) {
		answer_running(
			s, s->current, false, STR("\n[The sandbox is shutting down.]"));
		on_turn(&s->turn);
	}
}

/* --- What the shell tells ----------------------------------------------------- */

static void shell_ready(void *arg, int err, const char *why)
{
	struct session *s = arg;
	session_ready_fn *ready = s->ready;

	s->ready = NULL;
	if (ready)
		ready(s->ready_arg, err, why);
	if (!s->current)
		return;
	if (err == 0) {
		dispatch(s, s->current);
		return;
	}
	observe_errorf(s->current->act, "ERROR: No shell could be started: %s (%s).", why,
		err_text(err));
	finish(s, s->current);
}

static void shell_output(void *arg)
{
	struct session *s = arg;

	if (s->current && s->current->no_change.slot)
		arm_no_change(s, s->current);
}

static void shell_done(void *arg)
{
	struct session *s = arg;

	if (s->current && has_left(s->current))
		dismiss(s, s->current);
	else if (s->current)
		answer_finished(s, s->current);
}

struct session *session_new(struct box *box, const struct shell_setup *setup, int *err)
{
	static const struct shell_ops ops = {
		.ready = shell_ready,
		.output = shell_output,
		.done = shell_done,
	};
	struct session *s = calloc(1, sizeof(*s));

	*err = -ENOMEM;
	if (!s)
		return NULL;
	s->box = box;
	s->shell = shell_new(box->loop, box->store, setup, &ops, s, err);
	if (!s->shell) {
		free(s);
		return NULL;
	}
	return s;
}

void session_del(struct session *s)
{
	if (!s)
		return;
	assert(!s->current && !s->queue);
	timer_cancel(s->box->loop, &s->turn);
	shell_del(s->shell);
	free(s);
}

struct shell *session_shell(struct session *s)
{
	return s->shell;
}

void session_start(struct session *s, session_ready_fn *ready, void *arg)
{
	s->ready = ready;
	s->ready_arg = arg;
	if (shell_state(s->shell) == SHELL_GONE)
		shell_start(s->shell);
	else
		shell_ready(s, 0, NULL);
}

struct str session_cwd(const struct session *s)
{
	return shell_cwd(s->shell);
}
