/*
 * A static run: a command in a shell of its own, which shares nothing with the session.
 * The shell and all processes started from it end with the command. No later request can
 * continue a static run, so a timeout or a disconnected client ends it.
 */
#include "action/observe.h"
#include "action/run_answer.h"
#include "action/run_text.h"
#include "action/session.h"
#include "action/table.h"

#include "base/log.h"
#include "limits.h"
#include "shell/shell_end.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum static_state {
	STATIC_RUN,
	STATIC_ENDING, /* its processes are being ended */
	STATIC_OVER,   /* waits to be freed; callbacks of the shell find act NULL */
};

struct static_run {
	enum static_state state;
	struct static_run *next;
	struct act *act; /* NULL: the client has disconnected */
	struct loop *loop;
	struct shell *shell;
	struct str command;
	struct buf why; /* the reason why the run is ended: the suffix so far */
	bool blocking;
	struct timer no_change;
	struct timer hard;
	struct timer look; /* checks whether the client is still connected */
	struct later later;
	char cwd[SHELL_CWD_MAX];
};

static struct static_run *runs;

/* The shell never outlives this process, so init keeps nothing for it. */
static struct store no_store = {.sock = -1};

static void reap(struct later *l)
{
	struct static_run *r = container_of(l, struct static_run, later);

	shell_del(r->shell);
	buf_free(&r->why);
	free(r);
}

static void unlink_run(struct static_run *r)
{
	struct static_run **at = &runs;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
}

static void enter(struct static_run *r, enum static_state to)
{
	assert(to > r->state);
	r->state = to;
	timer_cancel(r->loop, &r->no_change);
	timer_cancel(r->loop, &r->hard);
	timer_cancel(r->loop, &r->look);
	if (to != STATIC_OVER)
		return;
	unlink_run(r);
	loop_free_later(r->loop, &r->later, reap);
}

/* The observation is written, or the client has disconnected. */
static void finish(struct static_run *r)
{
	struct act *a = r->act;

	enter(r, STATIC_OVER);
	if (!a)
		return;
	r->act = NULL;
	a->state = NULL;
	a->done(a);
}

static struct run_answer answer_of(const struct static_run *r)
{
	return (struct run_answer){
		.act = r->act,
		.shell = r->shell,
		.command = r->command,
		.hidden = r->act->hidden,
		.once = true,
	};
}

static void answer_ended(struct static_run *r)
{
	struct run_answer answer;

	if (r->act) {
		answer = answer_of(r);
		run_answer_running(&answer, false, buf_view(&r->why));
	}
	finish(r);
}

static void ended(void *arg, const struct tree *report)
{
	struct static_run *r = arg;

	run_suffix_killed(&r->why, report);
	answer_ended(r);
}

/* Ends the run; the text in r->why begins the suffix. */
static void end(struct static_run *r)
{
	enter(r, STATIC_ENDING);
	if (shell_end(r->shell, NULL, ended, r) == 0)
		return;
	/* The shell, and all processes started from it, are killed when it is freed. */
	log_warn("static run: out of memory, it is killed at once");
	answer_ended(r);
}

static void on_no_change(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, no_change);

	run_suffix_no_change(&r->why, r->act->box->config->no_change_s);
	end(r);
}

static void on_hard(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, hard);

	run_suffix_timed_out(&r->why, r->act->timeout);
	end(r);
}

static void fail(struct static_run *r, int err, const char *why)
{
	observe_errorf(r->act, "ERROR: The static command could not be started: %s (%s).",
		why, err_text(err));
	finish(r);
}

static void arm_no_change(struct static_run *r)
{
	uint64_t ms = r->act->box->config->no_change_s * 1000ull;

	if (!r->blocking && timer_set(r->loop, &r->no_change, ms, on_no_change) < 0)
		log_warn("static run: out of memory for a deadline");
}

static void shell_ready(void *arg, int err, const char *why)
{
	struct static_run *r = arg;

	if (r->state != STATIC_RUN)
		return;
	if (err == 0) {
		why = "it cannot be handed to the shell";
		err = shell_submit(
			r->shell, r->command.n ? r->command : STR(":"), STR(""));
	}
	if (err < 0)
		fail(r, err, why);
}

static void shell_printed(void *arg, struct str bytes, uint64_t to)
{
	struct static_run *r = arg;

	if (r->state == STATIC_RUN && r->act && r->act->printed)
		r->act->printed(r->act, bytes, to);
}

static void shell_output(void *arg)
{
	struct static_run *r = arg;

	if (r->state == STATIC_RUN)
		arm_no_change(r);
}

static void shell_done(void *arg)
{
	struct static_run *r = arg;
	struct run_answer answer;

	if (r->state != STATIC_RUN)
		return;
	answer = answer_of(r);
	run_answer_finished(&answer);
	finish(r);
}

static int make_shell(struct static_run *r, struct box *box)
{
	static const struct shell_ops ops = {
		.printed = shell_printed,
		.ready = shell_ready,
		.output = shell_output,
		.done = shell_done,
	};
	struct shell_setup setup = *box->shell_setup;
	int err;

	setup.name = "static";
	if (r->cwd[0]) {
		setup.cwd = r->cwd;
		setup.cwd_needed = true;
	}
	r->shell = shell_new(box->loop, &no_store, &setup, &ops, r, &err);
	return r->shell ? 0 : err;
}

static void on_look(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, look);

	/* No later request can fetch the answer. */
	if (r->act->left && r->act->left(r->act)) {
		end(r);
		return;
	}
	if (timer_set(r->loop, &r->look, STATIC_LOOK_MS, on_look) < 0)
		log_warn("static run: out of memory for a deadline");
}

/* False, and an error observed, if the argument is not the name of a directory. */
static bool get_cwd(struct act *a, struct str *cwd)
{
	if (arg_str(a, "cwd", STR(""), cwd) == 0 && cwd->n < SHELL_CWD_MAX &&
		(cwd->n == 0 || cwd->p[0] == '/') && str_find_byte(*cwd, '\0') == cwd->n)
		return true;
	observe_error(a,
		STR("The argument \"cwd\" must be an absolute path of at most "
		    "4095 bytes."));
	return false;
}

static struct static_run *static_run_new(
	struct act *a, struct str command, struct str cwd)
{
	struct static_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	buf_init(&r->why, RUN_WORDS_MAX);
	r->loop = a->box->loop;
	r->command = command;
	r->blocking = arg_bool(a, "blocking", false);
	if (cwd.n)
		memcpy(r->cwd, cwd.p, cwd.n);
	if (make_shell(r, a->box) < 0) {
		free(r);
		return NULL;
	}
	r->act = a;
	r->next = runs;
	runs = r;
	return r;
}

static void abandon(struct act *a)
{
	struct static_run *r = a->state;

	if (!r)
		return;
	r->act = NULL;
	if (r->state == STATIC_RUN)
		end(r);
}

static int stop(struct act *a, enum act_stop how)
{
	struct static_run *r = a->state;

	if (!r || r->state != STATIC_RUN)
		return ERR_CLOSED;
	if (how == ACT_STOP_INT && shell_state(r->shell) == SHELL_RUNNING)
		return shell_key(r->shell, 'c');
	buf_puts(&r->why, "\n[The command was cancelled.]");
	end(r);
	return 0;
}

/* The action that a->action is set to when a run is static. */
static const struct action action_run_static = {
	.name = "run",
	.abandon = abandon,
	.stop = stop,
};

static size_t running(void)
{
	size_t n = 0;

	for (const struct static_run *r = runs; r; r = r->next)
		n++;
	return n;
}

int run_static_start(struct act *a, struct str command)
{
	struct static_run *r;
	struct str cwd;
	uint64_t ms = act_timeout_ms(a);

	if (running() >= STATIC_RUNS_MAX) {
		observe_error(a, STR("Too many static commands are running."));
		return ACT_DONE;
	}
	if (!get_cwd(a, &cwd))
		return ACT_DONE;
	r = static_run_new(a, command, cwd);
	if (!r)
		return -ENOMEM;
	a->action = &action_run_static;
	a->state = r;
	arm_no_change(r);
	if (ms && timer_set(r->loop, &r->hard, ms, on_hard) < 0)
		log_warn("static run: out of memory for a deadline");
	if (timer_set(r->loop, &r->look, STATIC_LOOK_MS, on_look) < 0)
		log_warn("static run: out of memory for a deadline");
	shell_start(r->shell);
	return ACT_WAIT;
}

void run_static_cut(void)
{
	while (runs) {
		buf_puts(&runs->why, "\n[The sandbox is shutting down.]");
		answer_ended(runs);
	}
}
