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

/* Between two checks whether the client is still connected. */
enum { STATIC_LOOK_MS = 1000 };

enum static_state {
	STATIC_RUN,
	STATIC_ENDING, /* its processes are being ended */
	STATIC_ENDED,  /* waits to be freed; callbacks of the shell find act NULL */
};

struct static_run {
	struct list node;
	enum static_state state;
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

static struct list runs;

/* The shell never outlives this process, so init keeps nothing for it. */
static struct store no_store = {.sock = -1};

static void run_static_free(struct later *l)
{
	struct static_run *r = container_of(l, struct static_run, later);

	shell_del(r->shell);
	buf_free(&r->why);
	free(r);
}

static void run_static_set_state(struct static_run *r, enum static_state to)
{
	assert(to > r->state);
	r->state = to;
	timer_cancel(r->loop, &r->no_change);
	timer_cancel(r->loop, &r->hard);
	timer_cancel(r->loop, &r->look);
	if (to != STATIC_ENDED)
		return;
	list_remove(&r->node);
	loop_defer_free(r->loop, &r->later, run_static_free);
}

/* The observation is written, or the client has disconnected. */
static void run_static_finish(struct static_run *r)
{
	struct act *a = r->act;

	run_static_set_state(r, STATIC_ENDED);
	if (!a)
		return;
	r->act = NULL;
	a->state = NULL;
	a->done(a);
}

static struct run_answer run_static_make_answer(const struct static_run *r)
{
	return (struct run_answer){
		.act = r->act,
		.shell = r->shell,
		.command = r->command,
		.hidden = r->act->hidden,
		.is_static = true,
	};
}

static void run_static_answer_end(struct static_run *r)
{
	struct run_answer answer;

	if (r->act) {
		answer = run_static_make_answer(r);
		run_answer_running(&answer, false, buf_view(&r->why));
	}
	run_static_finish(r);
}

static void run_static_on_ended(void *arg, const struct tree *report)
{
	struct static_run *r = arg;

	run_suffix_killed(&r->why, report);
	run_static_answer_end(r);
}

/* Ends the run; the text in r->why begins the suffix. */
static void run_static_end(struct static_run *r)
{
	run_static_set_state(r, STATIC_ENDING);
	if (shell_end(r->shell, NULL, run_static_on_ended, r) == 0)
		return;
	/* The shell, and all processes started from it, are killed when it is freed. */
	log_warn("static run: out of memory: the command is killed");
	run_static_answer_end(r);
}

static void run_static_on_no_change(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, no_change);

	run_suffix_no_change(&r->why, r->act->box->config->no_change_s);
	run_static_end(r);
}

static void run_static_on_timeout(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, hard);

	run_suffix_timed_out(&r->why, r->act->timeout);
	run_static_end(r);
}

static void run_static_fail(struct static_run *r, int err, const char *why)
{
	observe_errorf(r->act, "ERROR: The static command could not be started: %s (%s).",
		why, err_text(err));
	run_static_finish(r);
}

static void run_static_arm_no_change(struct static_run *r)
{
	uint64_t ms = r->act->box->config->no_change_s * 1000ull;

	if (!r->blocking)
		timer_set(r->loop, &r->no_change, ms, run_static_on_no_change);
}

static void run_static_on_ready(void *arg, int err, const char *why)
{
	struct static_run *r = arg;

	if (r->state != STATIC_RUN)
		return;
	if (err == 0) {
		why = "the command cannot be passed to the shell";
		err = shell_submit(
			r->shell, r->command.n ? r->command : STR(":"), STR(""));
	}
	if (err < 0)
		run_static_fail(r, err, why);
}

static void run_static_on_bytes(void *arg, struct str bytes, uint64_t to)
{
	struct static_run *r = arg;

	if (r->state == STATIC_RUN && r->act && r->act->printed)
		r->act->printed(r->act, bytes, to);
}

static void run_static_on_output(void *arg)
{
	struct static_run *r = arg;

	if (r->state == STATIC_RUN)
		run_static_arm_no_change(r);
}

static void run_static_on_done(void *arg)
{
	struct static_run *r = arg;
	struct run_answer answer;

	if (r->state != STATIC_RUN)
		return;
	answer = run_static_make_answer(r);
	run_answer_finished(&answer);
	run_static_finish(r);
}

static int run_static_make_shell(struct static_run *r, struct box *box)
{
	static const struct shell_ops ops = {
		.printed = run_static_on_bytes,
		.ready = run_static_on_ready,
		.output = run_static_on_output,
		.done = run_static_on_done,
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

static void run_static_on_check(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, look);

	/* No later request can fetch the answer. */
	if (r->act->is_disconnected && r->act->is_disconnected(r->act)) {
		run_static_end(r);
		return;
	}
	timer_set(r->loop, &r->look, STATIC_LOOK_MS, run_static_on_check);
}

/* False, and an error observed, if the argument is not the name of a directory. */
static bool run_static_read_cwd(struct act *a, struct str *cwd)
{
	if (act_arg_str(a, "cwd", STR(""), cwd) == 0 && cwd->n < SHELL_CWD_MAX &&
		(cwd->n == 0 || cwd->p[0] == '/') && str_find_byte(*cwd, '\0') == cwd->n)
		return true;
	observe_error(a,
		STR("The argument \"cwd\" must be an absolute path of at most "
		    "4095 bytes."));
	return false;
}

static struct static_run *run_static_new(
	struct act *a, struct str command, struct str cwd)
{
	struct static_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	buf_init(&r->why, RUN_WORDS_MAX);
	r->loop = a->box->loop;
	r->command = command;
	r->blocking = act_arg_bool(a, "blocking", false);
	if (cwd.n)
		memcpy(r->cwd, cwd.p, cwd.n);
	if (run_static_make_shell(r, a->box) < 0) {
		free(r);
		return NULL;
	}
	r->act = a;
	list_prepend(&runs, &r->node);
	return r;
}

static void run_static_abandon(struct act *a)
{
	struct static_run *r = a->state;

	if (!r)
		return;
	r->act = NULL;
	if (r->state == STATIC_RUN)
		run_static_end(r);
}

static int run_static_stop(struct act *a, enum act_stop how)
{
	struct static_run *r = a->state;

	if (!r || r->state != STATIC_RUN)
		return ERR_CLOSED;
	if (how == ACT_STOP_INT && shell_state(r->shell) == SHELL_RUNNING)
		return shell_key(r->shell, 'c');
	buf_puts(&r->why, "\n[The command was cancelled.]");
	run_static_end(r);
	return 0;
}

/* The action that a->action is set to when a run is static. */
static const struct action action_run_static = {
	.name = "run",
	.abandon = run_static_abandon,
	.stop = run_static_stop,
};

int run_static_start(struct act *a, struct str command)
{
	struct static_run *r;
	struct str cwd;
	uint64_t ms = act_timeout_ms(a);

	if (list_count(&runs) >= STATIC_RUNS_MAX) {
		observe_error(a,
			STR("Too many static commands are running. Wait until one has "
			    "ended."));
		return ACT_DONE;
	}
	if (!run_static_read_cwd(a, &cwd))
		return ACT_DONE;
	r = run_static_new(a, command, cwd);
	if (!r)
		return -ENOMEM;
	a->action = &action_run_static;
	a->state = r;
	run_static_arm_no_change(r);
	if (ms)
		timer_set(r->loop, &r->hard, ms, run_static_on_timeout);
	timer_set(r->loop, &r->look, STATIC_LOOK_MS, run_static_on_check);
	shell_start(r->shell);
	return ACT_WAIT;
}

void run_static_end_all(void)
{
	struct static_run *r;

	while ((r = LIST_FIRST(&runs, struct static_run, node))) {
		buf_puts(&r->why, "\n[The sandbox is shutting down.]");
		run_static_answer_end(r);
	}
}
