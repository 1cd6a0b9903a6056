/*
 * The run action: the contract's state machine on top of a shell session. Its
 * statuses are states of the shell: "none" and "completed" are a shell without a
 * command, the two timeouts are a command that runs with nobody waiting for it.
 */
#include "act/observe.h"
#include "act/run_text.h"
#include "act/session.h"
#include "act/table.h"

#include "base/log.h"
#include "limits.h"
#include "term/split.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum request_kind {
	REQUEST_POLL,    /* an empty command */
	REQUEST_KEY,     /* "C-x" */
	REQUEST_INPUT,   /* text for the running program */
	REQUEST_COMMAND, /* text for the shell */
};

/* One run request; lives in its request's arena. */
struct run {
	struct act *act;
	struct run *next;
	struct str command; /* without blanks at the ends */
	enum request_kind kind;
	bool is_input;
	bool blocking;
	struct buf before; /* output of an earlier command, reported with this one */
	struct timer no_change;
	struct timer hard;
};

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

static bool busy(const struct session *s)
{
	enum shell_state state = shell_state(s->shell);

	return state == SHELL_RUNNING || state == SHELL_DONE;
}

static void run_timers_off(struct session *s, struct run *r)
{
	timer_cancel(s->box->loop, &r->no_change);
	timer_cancel(s->box->loop, &r->hard);
}

static void arm_turn(struct session *s)
{
	if (timer_set(s->box->loop, &s->turn, 0, on_turn) < 0)
		log_warn("session: out of memory, the next command waits");
}

/*
 * The observation is written: the request is over, and the next in line has its
 * turn, from the loop rather than from here, because it may be over at once too.
 */
static void answer(struct session *s, struct run *r)
{
	struct act *a = r->act;

	run_timers_off(s, r);
	buf_free(&r->before);
	s->current = NULL;
	a->state = NULL;
	if (s->queue)
		arm_turn(s);
	a->done(a);
}

static void observe(struct run *r, const struct run_observation *o)
{
	observe_run(r->act->out, o);
}

static void answer_text(
	struct session *s, struct run *r, struct str command, struct str text)
{
	observe(r,
		&(struct run_observation){
			.command = command,
			.content = text,
			.hidden = r->act->hidden,
			.exit_code = -1,
			.pid = -1,
			.prefix = STR(""),
			.suffix = STR(""),
		});
	answer(s, r);
}

static void answer_failure(struct session *s, struct run *r, const char *what, int err)
{
	observe_errorf(r->act, "ERROR: %s: %s.", what, err_text(err));
	answer(s, r);
}

/* The output not reported so far, behind that of an earlier command. */
static struct str report(struct session *s, struct run *r, struct buf *text, size_t *kept)
{
	struct buf *before = &r->before;

	if (shell_report(s->shell, text, kept) < 0)
		log_warn("session: out of memory, a part of the output is left out");
	if (before->n) {
		buf_str(before, run_strip(buf_view(text)));
		return buf_view(before);
	}
	return run_strip(buf_view(text));
}

static struct str prefix_of(const struct run *r, unsigned reports, bool finished,
	size_t kept, struct buf *room)
{
	if (r->before.n || (reports && !finished))
		return STR(RUN_OUTPUT_OF_PREVIOUS);
	if (kept && !reports)
		run_prefix_truncated(room, kept);
	return buf_view(room);
}

/* The command has ended: takes its result and answers with it. */
static void answer_finished(struct session *s, struct run *r)
{
	struct buf text = BUF_INIT(RUN_OUTPUT_MAX);
	struct buf prefix = BUF_INIT(RUN_WORDS_MAX);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);
	unsigned reports = shell_reports(s->shell);
	size_t kept = 0;
	struct str content = report(s, r, &text, &kept);
	struct shell_result res = shell_take(s->shell);

	run_suffix_finished(&suffix, &res, run_key(r->command));
	observe(r,
		&(struct run_observation){
			.command = r->command,
			.content = content,
			.hidden = r->act->hidden,
			.exit_code = res.status,
			.pid = res.background,
			.known = true,
			.username = str_c(s->box->user_name),
			.hostname = str_c(s->box->host_name),
			.working_dir = shell_cwd(s->shell),
			.python = shell_python(s->shell),
			.prefix = prefix_of(r, reports, true, kept, &prefix),
			.suffix = buf_view(&suffix),
		});
	buf_free(&text);
	buf_free(&prefix);
	buf_free(&suffix);
	answer(s, r);
}

/* The command goes on: answers with what there is, and why now. Frees suffix. */
static void answer_running(
	struct session *s, struct run *r, struct buf *suffix, bool refused)
{
	struct buf text = BUF_INIT(RUN_OUTPUT_MAX);
	struct buf prefix = BUF_INIT(RUN_WORDS_MAX);
	unsigned reports = shell_reports(s->shell) + refused;
	size_t kept = 0;
	struct str content = report(s, r, &text, &kept);

	observe(r,
		&(struct run_observation){
			.command = r->command,
			.content = content,
			.exit_code = -1,
			.pid = -1,
			.prefix = prefix_of(r, reports, false, kept, &prefix),
			.suffix = buf_view(suffix),
		});
	buf_free(&text);
	buf_free(&prefix);
	buf_free(suffix);
	answer(s, r);
}

static bool has_left(const struct act *a)
{
	return a->left && a->left(a);
}

/* The one who asked seems to have left: what is not reported waits for the next. */
static void dismiss(struct session *s, struct run *r)
{
	observe(r,
		&(struct run_observation){
			.command = r->command,
			.content = STR(""),
			.exit_code = -1,
			.pid = -1,
			.prefix = STR(""),
			.suffix =
				STR("\n[The connection was closed while the command was "
				    "running. It goes on.]"),
		});
	answer(s, r);
}

static void answer_refused(struct session *s, struct run *r)
{
	struct buf suffix = BUF_INIT(OBSERVATION_MAX);

	run_suffix_refused(&suffix, r->command);
	answer_running(s, r, &suffix, true);
}

static void on_no_change(struct timer *t)
{
	struct run *r = container_of(t, struct run, no_change);
	struct session *s = r->act->box->session;
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	if (has_left(r->act)) {
		dismiss(s, r);
		return;
	}
	run_suffix_no_change(&suffix, s->box->config->no_change_s);
	answer_running(s, r, &suffix, false);
}

static void on_hard(struct timer *t)
{
	struct run *r = container_of(t, struct run, hard);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	if (has_left(r->act)) {
		dismiss(r->act->box->session, r);
		return;
	}
	run_suffix_timed_out(&suffix, r->act->timeout);
	answer_running(r->act->box->session, r, &suffix, false);
}

static void arm_no_change(struct session *s, struct run *r)
{
	if (r->blocking)
		return;
	if (timer_set(s->box->loop, &r->no_change, s->box->config->no_change_s * 1000ull,
		    on_no_change) < 0)
		log_warn("session: out of memory for a deadline");
}

static void arm_timers(struct session *s, struct run *r)
{
	double ms = r->act->timeout * 1000.0;

	arm_no_change(s, r);
	if (ms <= 0)
		return;
	if (timer_set(s->box->loop, &r->hard,
		    ms < TIMEOUT_MAX ? (uint64_t)ms : TIMEOUT_MAX, on_hard) < 0)
		log_warn("session: out of memory for a deadline");
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
}

static int type_input(struct session *s, struct run *r)
{
	struct buf line = BUF_INIT(SHELL_INPUT_MAX + 1);
	int err;

	buf_str(&line, r->command);
	buf_putc(&line, '\n');
	err = line.err ? line.err : shell_type(s->shell, buf_view(&line));
	buf_free(&line);
	return err;
}

/* Does what the request asks for; the shell is ready for it. */
static int send(struct session *s, struct run *r)
{
	switch (r->kind) {
	case REQUEST_POLL:
		return 0;
	case REQUEST_KEY:
		return shell_key(s->shell, run_key(r->command));
	case REQUEST_INPUT:
		return type_input(s, r);
	case REQUEST_COMMAND:
		return shell_submit(s->shell, r->command);
	}
	return -EINVAL;
}

static void execute(struct session *s, struct run *r)
{
	int err = send(s, r);

	if (err < 0) {
		answer_failure(s, r,
			r->kind == REQUEST_COMMAND
				? "The command could not be handed to the shell"
				: "The terminal does not take the input",
			err);
		return;
	}
	arm_timers(s, r);
}

/* Several commands at once are refused, as input too; false if it is one. */
static bool answer_several(struct session *s, struct run *r)
{
	struct split_pieces pieces;
	struct buf text = BUF_INIT(OBSERVATION_MAX);

	if (split_command(r->command, &pieces) != SPLIT_SEVERAL)
		return false;
	split_write_refusal(r->command, &pieces, &text);
	observe_error(r->act, buf_view(&text));
	buf_free(&text);
	answer(s, r);
	return true;
}

static void begin(struct session *s, struct run *r)
{
	enum shell_state state;

	/* Who asks again has got the last answer, or does not care. */
	shell_confirm(s->shell);
	state = shell_state(s->shell);
	s->current = r;
	if (!busy(s) && r->command.n == 0) {
		answer_text(s, r, STR(""), STR(RUN_NOTHING_TO_READ));
	} else if (!busy(s) && r->is_input) {
		answer_text(s, r, STR(""), STR(RUN_NOTHING_TO_TYPE_TO));
	} else if (answer_several(s, r)) {
		return;
	} else if (state == SHELL_RUNNING && !r->is_input && r->command.n) {
		answer_refused(s, r);
	} else if (state == SHELL_DONE && (r->is_input || r->command.n == 0)) {
		answer_finished(s, r);
	} else {
		if (state == SHELL_DONE)
			take_leftover(s, r);
		state = shell_state(s->shell);
		if (state == SHELL_GONE)
			shell_start(s->shell);
		else if (state != SHELL_STARTING)
			execute(s, r);
	}
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

static void shell_ready(void *arg, int err, const char *why)
{
	struct session *s = arg;
	session_ready_fn *ready = s->ready;

	s->ready = NULL;
	if (ready)
		ready(s->ready_arg, err, why);
	if (!s->current)
		return;
	if (err < 0) {
		observe_errorf(s->current->act,
			"ERROR: No shell could be started: %s (%s).", why, err_text(err));
		answer(s, s->current);
		return;
	}
	execute(s, s->current);
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

	if (s->current && has_left(s->current->act))
		dismiss(s, s->current);
	else if (s->current)
		answer_finished(s, s->current);
}

static enum request_kind kind_of(struct str command, bool is_input)
{
	if (command.n == 0)
		return REQUEST_POLL;
	if (run_key(command))
		return REQUEST_KEY;
	return is_input ? REQUEST_INPUT : REQUEST_COMMAND;
}

static size_t queue_length(const struct session *s)
{
	size_t n = 0;

	for (const struct run *r = s->queue; r; r = r->next)
		n++;
	return n;
}

static void enqueue(struct session *s, struct run *r)
{
	struct run **at = &s->queue;

	while (*at)
		at = &(*at)->next;
	*at = r;
}

static int start(struct act *a)
{
	struct session *s = a->box->session;
	struct str command;
	struct run *r;

	if (arg_str(a, "command", str_make(NULL, 0), &command) < 0) {
		observe_error(a,
			STR("The run action needs the argument \"command\", a string."));
		return ACT_DONE;
	}
	if (str_find_byte(command, '\0') < command.n) {
		observe_error(
			a, STR("The command holds a NUL byte, which no shell can take."));
		return ACT_DONE;
	}
	command = str_trim(command, " \t\r\n\v\f");
	if (arg_bool(a, "is_static", false))
		return run_static_start(a, command);
	r = arena_alloc(a->arena, sizeof(*r));
	if (!r)
		return -ENOMEM;
	if (queue_length(s) >= RUN_QUEUE_MAX) {
		observe_error(a, STR("Too many commands are waiting for this shell."));
		return ACT_DONE;
	}
	r->act = a;
	r->command = command;
	r->is_input = arg_bool(a, "is_input", false);
	r->blocking = arg_bool(a, "blocking", false);
	r->kind = kind_of(r->command, r->is_input);
	buf_init(&r->before, RUN_OUTPUT_MAX);
	a->state = r;
	/* Who has hung up must not keep others from the shell until its deadline. */
	while (s->current && shell_state(s->shell) == SHELL_RUNNING &&
		has_left(s->current->act))
		dismiss(s, s->current);
	if (s->current || s->queue) {
		enqueue(s, r);
		arm_turn(s);
	} else {
		begin(s, r);
	}
	return ACT_WAIT;
}

/* The command goes on; who asks next gets its output. */
static void abandon(struct act *a)
{
	struct session *s = a->box->session;
	struct run *r = a->state;
	struct run **at = &s->queue;

	if (!r)
		return;
	run_timers_off(s, r);
	buf_free(&r->before);
	if (s->current == r) {
		s->current = NULL;
		if (s->queue)
			arm_turn(s);
		return;
	}
	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
}

const struct action action_run = {.name = "run", .start = start, .abandon = abandon};

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

void session_cut(struct session *s)
{
	while (s->current) {
		struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

		buf_puts(&suffix, "\n[The sandbox is shutting down.]");
		answer_running(s, s->current, &suffix, false);
		on_turn(&s->turn);
	}
}

struct str session_cwd(const struct session *s)
{
	return shell_cwd(s->shell);
}
