#include "action/session.h"

#include "action/observe.h"
#include "action/run_handle.h"

#include "base/log.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct session {
	struct box *box;
	struct session *next; /* of the box */
	char name[SESSION_NAME_MAX + 1];
	struct shell *shell;
	struct run *current; /* has the shell */
	struct list queue;   /* requests that wait for it, oldest first */
	struct timer turn;   /* of the queue's first */
	session_ready_fn *ready;
	void *ready_arg;
	session_ended_fn *ended; /* NULL: no callback */
	void *ended_arg;
};

static const char note_ended[] = "The session was ended on request.";
static const char note_cancelled[] =
	"The command was cancelled and its shell was ended. The next command gets a new "
	"one in the same directory.";

static void session_on_turn(struct timer *t);

/*
 * The next queued request is started from the loop rather than from here, because it may
 * be finished at once, too.
 */
static void session_arm_turn(struct session *s)
{
	if (!list_is_empty(&s->queue))
		timer_set(s->box->loop, &s->turn, 0, session_on_turn);
}

static void session_send_answer(struct run *r)
{
	struct act *a = r->act;

	run_release(r);
	a->state = NULL;
	a->done(a);
}

/* The answer is written: the next request has its turn. */
static void session_on_answered(struct run *r)
{
	struct session *s = r->session;

	s->current = NULL;
	session_arm_turn(s);
	session_send_answer(r);
}

static void session_bind_run(struct session *s, struct run *r)
{
	r->session = s;
	r->shell = s->shell;
	r->answered = session_on_answered;
}

static void session_begin_run(struct session *s, struct run *r)
{
	/* A client that sends a new request has the last answer or does not need it. */
	shell_confirm(s->shell);
	s->current = r;
	run_handle(r);
}

/* No request gets the shell while this is true. */
static bool session_is_blocked(const struct session *s)
{
	return session_is_ending(s) || shell_is_restoring(s->shell);
}

/* Removes and returns the oldest request of the queue; NULL: it is empty. */
static struct run *session_pop_run(struct session *s)
{
	struct run *r = LIST_FIRST(&s->queue, struct run, node);

	if (r)
		list_remove(&r->node);
	return r;
}

static void session_run_queue(struct session *s)
{
	struct run *r;

	while (!session_is_blocked(s) && !s->current && (r = session_pop_run(s)))
		session_begin_run(s, r);
}

static void session_on_turn(struct timer *t)
{
	session_run_queue(container_of(t, struct session, turn));
}

int session_run(struct session *s, struct run *r)
{
	if (list_count(&s->queue) >= RUN_QUEUE_MAX)
		return ERR_LIMIT;
	session_bind_run(s, r);
	/* A client that has disconnected must not hold the shell until its deadline. */
	while (s->current && shell_state(s->shell) == SHELL_RUNNING &&
		run_handle_absence(s->current))
		;
	if (s->current || !list_is_empty(&s->queue) || session_is_blocked(s)) {
		list_append(&s->queue, &r->node);
		session_arm_turn(s);
	} else {
		session_begin_run(s, r);
	}
	return 0;
}

/* Reports the output of the command that was not reported before the crash. */
static void session_replay_output(struct session *s, struct act *a)
{
	uint64_t at = a->printed_before ? a->source : shell_get_command_start(s->shell);
	struct buf bytes = BUF_INIT(SESSION_PART_MAX);
	struct shell_part part;

	while (a->printed &&
		shell_raw(s->shell, at, SESSION_PART_MAX, &bytes, &part) == 0 &&
		part.next > at) {
		a->printed(a, buf_view(&bytes), part.next);
		buf_reset(&bytes);
		at = part.next;
	}
	buf_free(&bytes);
}

int session_resume(struct session *s, struct run *r)
{
	if (s->current || !shell_claim(s->shell, r->act->id))
		return ERR_CLOSED;
	session_bind_run(s, r);
	/* Its command was submitted already. */
	r->kind = RUN_POLL;
	s->current = r;
	session_replay_output(s, r->act);
	if (!shell_is_restoring(s->shell))
		run_handle(r);
	return 0;
}

void session_abandon(struct run *r)
{
	struct session *s = r->session;

	run_release(r);
	if (s->current == r) {
		s->current = NULL;
		session_arm_turn(s);
		return;
	}
	list_remove(&r->node);
}

void session_cancel(struct run *r)
{
	struct session *s = r->session;

	if (s->current == r && shell_state(s->shell) == SHELL_RUNNING &&
		shell_key(s->shell, 'c') < 0)
		log_info("session: the interrupt key cannot be sent to a cancelled "
			 "command");
	session_abandon(r);
}

/* The next request gets a fresh shell. */
static void session_on_stopped(void *arg, const struct tree *report)
{
	(void)report;
	session_arm_turn(arg);
}

int session_stop(struct run *r, enum act_stop how)
{
	struct session *s = r->session;
	int err;

	if (s->current != r || shell_state(s->shell) != SHELL_RUNNING)
		return ERR_CLOSED;
	if (how == ACT_STOP_KILL) {
		err = shell_end(s->shell, note_cancelled, session_on_stopped, s);
		return err == -EALREADY ? 0 : err;
	}
	/* A shell that receives the interrupt does not run the commands that follow. */
	err = shell_interrupt(s->shell);
	if (how == ACT_STOP_TERM && shell_signal(s->shell, SIGTERM) == 0)
		err = 0;
	return err;
}

/* Refuses all queued requests; they do not get their turn. */
static void session_refuse_queue(struct session *s, const char *why)
{
	struct run *r;

	while ((r = session_pop_run(s))) {
		observe_errorf(r->act, "ERROR: The command was not run: %s.", why);
		session_send_answer(r);
	}
}

void session_shut_down(struct session *s)
{
	session_refuse_queue(s, "the sandbox is shutting down");
	/* If a request waits, output printed before a crash belongs to its answer. */
	if (s->current)
		shell_restore_now(s->shell);
	if (s->current)
		run_handle_shutdown(s->current);
}

/* --- End of all processes in the session --------------------------------------- */

/* No process, no request and no queue is left. The default session is never deleted. */
static bool session_is_unused(const struct session *s)
{
	return s != s->box->session && !s->current && list_is_empty(&s->queue) &&
		shell_pid(s->shell) == 0;
}

/* The session is deleted before the callback, so that the callback does not find it. */
static void session_on_ended(void *arg, const struct tree *report)
{
	struct session *s = arg;
	session_ended_fn *ended = s->ended;
	void *ended_arg = s->ended_arg;
	struct tree copy = *report;

	s->ended = NULL;
	if (session_is_unused(s))
		session_del(s);
	else
		session_arm_turn(s);
	if (ended)
		ended(ended_arg, &copy);
}

int session_end(struct session *s, session_ended_fn *ended, void *arg)
{
	int r = shell_end(s->shell, note_ended, session_on_ended, s);

	if (r < 0)
		return r;
	s->ended = ended;
	s->ended_arg = arg;
	/* A request queued before the end does not want a fresh shell. */
	session_refuse_queue(s, "the session was ended before the command could start");
	return 0;
}

void session_end_abandon(struct session *s)
{
	s->ended = NULL;
}

bool session_is_ending(const struct session *s)
{
	return shell_is_ending(s->shell);
}

/* --- Events of the shell -------------------------------------------------------- */

static void session_notify_ready(struct session *s, int err, const char *why)
{
	session_ready_fn *ready = s->ready;

	s->ready = NULL;
	if (ready)
		ready(s->ready_arg, err, why);
}

static void session_on_ready(void *arg, int err, const char *why)
{
	struct session *s = arg;
	bool waits = s->current;

	/* A request that arrives during the callback is handled already. */
	session_notify_ready(s, err, why);
	if (!waits) {
		session_arm_turn(s);
		return;
	}
	if (err == 0)
		run_handle(s->current);
	else
		run_handle_failure(s->current, err, why);
}

static void session_on_bytes(void *arg, struct str bytes, uint64_t to)
{
	struct session *s = arg;
	struct act *a = s->current ? s->current->act : NULL;

	if (a && a->printed)
		a->printed(a, bytes, to);
}

static void session_on_output(void *arg)
{
	struct session *s = arg;

	if (s->current)
		run_handle_output(s->current);
}

static void session_on_done(void *arg)
{
	struct session *s = arg;

	if (s->current)
		run_handle_end(s->current);
}

/* --- The sessions of a sandbox --------------------------------------------------- */

bool session_is_name(struct str name)
{
	static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789._-";

	for (size_t i = 0; i < name.n; i++)
		if (!memchr(legal, name.p[i], sizeof(legal) - 1))
			return false;
	/* "." and ".." have a meaning in a path, "static" is the name of static runs. */
	return name.n > 0 && name.n <= SESSION_NAME_MAX && !str_eq(name, STR(".")) &&
		!str_eq(name, STR("..")) && !str_eq(name, STR("static"));
}

struct session *session_find(const struct box *box, struct str name)
{
	struct session *s = box->session;

	while (s && !str_eq(name, str_c(s->name)))
		s = s->next;
	return s;
}

int session_get(struct box *box, struct str name, struct session **out)
{
	struct session *s = session_find(box, name);
	size_t n = 0;
	int err = 0;

	for (const struct session *at = box->session; at; at = at->next)
		n++;
	if (!s && n >= SESSIONS_MAX)
		return ERR_LIMIT;
	if (!s)
		s = session_new(box, name, &err);
	if (s)
		*out = s;
	return err;
}

static void session_notify_box(const struct session *s, bool there)
{
	if (s->box->on_session)
		s->box->on_session(s->box->on_session_arg, s->name, there);
}

struct session *session_new(struct box *box, struct str name, int *err)
{
	static const struct shell_ops ops = {
		.printed = session_on_bytes,
		.ready = session_on_ready,
		.output = session_on_output,
		.done = session_on_done,
	};
	struct shell_setup setup = *box->shell_setup;
	struct session *s = calloc(1, sizeof(*s));
	struct session **end = &box->session;

	*err = -ENOMEM;
	if (!s)
		return NULL;
	assert(session_is_name(name));
	memcpy(s->name, name.p, name.n);
	setup.name = s->name;
	s->box = box;
	s->shell = shell_new(box->loop, box->store, &setup, &ops, s, err);
	if (!s->shell) {
		free(s);
		return NULL;
	}
	while (*end)
		end = &(*end)->next;
	*end = s;
	session_notify_box(s, true);
	*err = 0;
	return s;
}

void session_del(struct session *s)
{
	struct session **at = &s->box->session;

	assert(!s->current && list_is_empty(&s->queue));
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	session_notify_box(s, false);
	timer_cancel(s->box->loop, &s->turn);
	shell_del(s->shell);
	free(s);
}

void session_start(struct session *s, session_ready_fn *ready, void *arg)
{
	s->ready = ready;
	s->ready_arg = arg;
	if (shell_state(s->shell) == SHELL_NONE)
		shell_start(s->shell);
	else
		session_notify_ready(s, 0, NULL);
}

struct session *session_next(const struct session *s)
{
	return s->next;
}

const char *session_name(const struct session *s)
{
	return s->name;
}

struct shell *session_shell(struct session *s)
{
	return s->shell;
}

bool session_parse_arg(struct act *a, struct str *name)
{
	struct str given;

	if (act_arg_str(a, "session", STR(""), &given) < 0)
		given = STR(".");
	if (given.n == 0)
		given = STR(SESSION_DEFAULT);
	if (!session_is_name(given)) {
		observe_errorf(a,
			"The argument \"session\" must be a name of 1 to %d letters, "
			"digits, "
			"\".\", \"_\" and \"-\"; \".\", \"..\" and \"static\" are none.",
			SESSION_NAME_MAX);
		return false;
	}
	*name = given;
	return true;
}

bool session_parse_cwd(struct act *a, struct str path, struct str *cwd)
{
	const struct session *s;
	struct str name;

	if (!session_parse_arg(a, &name))
		return false;
	s = session_find(a->box, name);
	if (!s && !str_starts(path, STR("/"))) {
		observe_errorf(a,
			"There is no session \"%.*s\" whose directory the path could be "
			"relative to: a session begins with its first run. Give an "
			"absolute path, or run something in that session first.",
			STR_ARG(name));
		return false;
	}
	*cwd = s ? session_cwd(s) : act_box_cwd(a->box);
	return true;
}

struct str session_cwd(const struct session *s)
{
	return shell_cwd(s->shell);
}
