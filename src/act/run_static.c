/*
 * A static run: a shell of its own, which shares nothing with the session and
 * ends with the command. Nobody can come back to it, so a timeout kills it.
 */
#include "act/observe.h"
#include "act/run_answer.h"
#include "act/run_text.h"
#include "act/session.h"
#include "act/table.h"

#include "base/log.h"
#include "limits.h"

#include <errno.h>
#include <stdlib.h>

struct static_run {
	struct act *act; /* NULL: answered, waits to be freed */
	struct loop *loop;
	struct shell *shell;
	struct str command;
	bool blocking;
	struct timer no_change;
	struct timer hard;
	struct timer look; /* whether the one who asked is still there */
	struct later later;
	char cwd[SHELL_CWD_MAX];
};

static unsigned running;

/* Its shell never outlives this process, so there is nothing for init to keep. */
static struct store no_store = {.sock = -1};

static void reap(struct later *l)
{
	struct static_run *r = container_of(l, struct static_run, later);

	shell_del(r->shell);
	free(r);
}

/* From here on callbacks of the shell find nobody to answer. */
static struct act *detach(struct static_run *r)
{
	struct act *a = r->act;

	if (!a)
		return NULL;
	timer_cancel(r->loop, &r->no_change);
	timer_cancel(r->loop, &r->hard);
	timer_cancel(r->loop, &r->look);
	running--;
	r->act = NULL;
	a->state = NULL;
	loop_free_later(r->loop, &r->later, reap);
	return a;
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

static void finish(struct static_run *r)
{
	struct act *a = detach(r);

	a->done(a);
}

static void answer_killed(struct static_run *r, struct buf *suffix)
{
	struct run_answer answer = answer_of(r);

	buf_puts(suffix,
		"\n[It was a static run, which nobody can come back to: its shell and "
		"that shell's session were killed.]");
	run_answer_running(&answer, false, buf_view(suffix));
	buf_free(suffix);
	finish(r);
}

static void on_no_change(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, no_change);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_no_change(&suffix, r->act->box->config->no_change_s);
	answer_killed(r, &suffix);
}

static void on_hard(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, hard);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);

	run_suffix_timed_out(&suffix, r->act->timeout);
	answer_killed(r, &suffix);
}

static void fail(struct static_run *r, int err, const char *why)
{
	struct act *a = detach(r);

	observe_errorf(a, "ERROR: The static command could not be started: %s (%s).", why,
		err_text(err));
	a->done(a);
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

	if (!r->act)
		return;
	if (err == 0) {
		why = "it cannot be handed to the shell";
		err = shell_submit(r->shell, r->command);
	}
	if (err < 0)
		fail(r, err, why);
}

static void shell_output(void *arg)
{
	struct static_run *r = arg;

	if (r->act)
		arm_no_change(r);
}

static void shell_done(void *arg)
{
	struct static_run *r = arg;
	struct run_answer answer;

	if (!r->act)
		return;
	answer = answer_of(r);
	run_answer_finished(&answer);
	finish(r);
}

static int make_shell(struct static_run *r, struct box *box)
{
	static const struct shell_ops ops = {
		.ready = shell_ready,
		.output = shell_output,
		.done = shell_done,
	};
	struct shell_setup setup = *box->shell_setup;
	int err;

	setup.name = "static";
	if (r->cwd[0])
		setup.cwd = r->cwd;
	r->shell = shell_new(box->loop, &no_store, &setup, &ops, r, &err);
	return r->shell ? 0 : err;
}

static void on_look(struct timer *t)
{
	struct static_run *r = container_of(t, struct static_run, look);

	/* Nobody else can have its answer. */
	if (r->act->left && r->act->left(r->act)) {
		answer_killed(r, &(struct buf)BUF_INIT(RUN_WORDS_MAX));
		return;
	}
	if (timer_set(r->loop, &r->look, STATIC_LOOK_MS, on_look) < 0)
		log_warn("static run: out of memory for a deadline");
}

/* False, and an error observed, if it is no directory's name. */
static bool get_cwd(struct act *a, struct str *cwd)
{
	if (arg_str(a, "cwd", STR(""), cwd) == 0 && cwd->n < SHELL_CWD_MAX &&
		str_find_byte(*cwd, '\0') == cwd->n)
		return true;
	observe_error(
		a, STR("The argument \"cwd\" must be a path of at most 4095 bytes."));
	return false;
}

static struct static_run *static_run_new(
	struct act *a, struct str command, struct str cwd)
{
	struct static_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
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
	return r;
}

static void abandon(struct act *a)
{
	if (a->state)
		detach(a->state);
}

/* What a run turns into when it is static. */
static const struct action action_run_static = {.name = "run", .abandon = abandon};

int run_static_start(struct act *a, struct str command)
{
	struct static_run *r;
	struct str cwd;
	double ms = a->timeout * 1000.0;

	if (running >= STATIC_RUNS_MAX) {
		observe_error(a, STR("Too many static commands are running."));
		return ACT_DONE;
	}
	if (!get_cwd(a, &cwd))
		return ACT_DONE;
	r = static_run_new(a, command, cwd);
	if (!r)
		return -ENOMEM;
	running++;
	a->action = &action_run_static;
	a->state = r;
	arm_no_change(r);
	if (ms > 0 &&
		timer_set(r->loop, &r->hard,
			ms < TIMEOUT_MAX ? (uint64_t)ms : TIMEOUT_MAX, on_hard) < 0)
		log_warn("static run: out of memory for a deadline");
	if (timer_set(r->loop, &r->look, STATIC_LOOK_MS, on_look) < 0)
		log_warn("static run: out of memory for a deadline");
	shell_start(r->shell);
	return ACT_WAIT;
}
