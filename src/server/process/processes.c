#include "server/process/processes.h"

#include "server/process/process_attach.h"
#include "server/process/process_spec.h"
#include "shell/shell.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

enum {
	DELETE_MS = 5000, /* longer than a kill, which takes TREE_KILL_MS */
};

struct process *processes_find(struct api *api, struct request *rq, struct str id)
{
	struct process *p = process_find(api->processes, id);

	if (!p)
		request_fail(rq, 404, STR("No process has this id."));
	return p;
}

static void processes_reply_object(struct request *rq, unsigned status, struct process *p)
{
	struct jw w;

	jw_init(&w, request_out(rq));
	process_write(&w, p);
	process_set_seen(p);
	request_reply(rq, status, API_JSON);
}

/* --- Requests that wait for a process -------------------------------------- */

/* In the request's arena. */
struct process_waiter {
	struct process_follower follower;
	struct timer timer;
	struct loop *loop;
	struct request *rq;
	struct process *process;
	/* Whether the request can be answered. */
	bool (*is_ready)(const struct process *p);
	void (*answer)(struct process_waiter *w);
};

static void process_waiter_end(struct process_waiter *w)
{
	timer_cancel(w->loop, &w->timer);
	w->rq->user = NULL;
	process_unfollow(&w->follower);
}

static void process_waiter_on_close(struct request *rq)
{
	process_waiter_end(rq->user);
}

/* The process stays allocated until the present batch of events is over. */
static void process_waiter_answer(struct process_waiter *w)
{
	process_waiter_end(w);
	w->answer(w);
}

static void process_waiter_on_change(struct waiter *f)
{
	struct process_waiter *w =
		container_of(f, struct process_waiter, follower.waiter);

	if (w->is_ready(w->process) || process_is_removed(w->process))
		process_waiter_answer(w);
}

static void process_waiter_on_timeout(struct timer *t)
{
	process_waiter_answer(container_of(t, struct process_waiter, timer));
}

/*
 * Answers when the process is ready, or after ms (0: without a limit). False: out of
 * memory, and the request is answered.
 */
static bool process_waiter_begin(
	struct api *api, const struct process_waiter *wanted, uint64_t ms)
{
	static const struct request_ops ops = {.on_close = process_waiter_on_close};
	struct request *rq = wanted->rq;
	struct process_waiter *w = arena_alloc(&rq->arena, sizeof(*w));

	if (!w) {
		api_reply_nomem(rq);
		return false;
	}
	*w = *wanted;
	w->follower.waiter.fn = process_waiter_on_change;
	w->loop = api->box->loop;
	rq->ops = &ops;
	rq->user = w;
	process_follow(w->process, &w->follower);
	if (w->is_ready(w->process))
		process_waiter_answer(w);
	else if (ms)
		timer_set(w->loop, &w->timer, ms, process_waiter_on_timeout);
	return true;
}

static bool processes_has_started(const struct process *p)
{
	return process_state(p) != PROCESS_STARTING;
}

static bool processes_has_exited(const struct process *p)
{
	return process_state(p) == PROCESS_EXITED;
}

/* --- Start ----------------------------------------------------------------- */

static void processes_reply_failure(struct request *rq, unsigned status,
	enum process_reason reason, const char *detail)
{
	struct jw w;

	if (status == 503)
		request_add_field(rq, STR("retry-after"), STR("1"));
	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "detail");
	jw_cstr(&w, detail);
	jw_key(&w, "reason");
	jw_cstr(&w, process_reason_names[reason]);
	jw_end(&w);
	request_reply(rq, status, API_JSON);
}

static void processes_answer_start(struct process_waiter *w, unsigned status)
{
	const char *detail;
	enum process_reason reason;

	if (process_state(w->process) == PROCESS_FAILED) {
		reason = process_failure(w->process, &detail);
		processes_reply_failure(w->rq, 422, reason, detail);
	} else if (process_state(w->process) == PROCESS_STARTING) {
		request_fail(w->rq, 503, STR("The server is stopping."));
	} else {
		processes_reply_object(w->rq, status, w->process);
	}
}

static void processes_answer_created(struct process_waiter *w)
{
	static const char folder[] = "/v1/processes/";
	struct buf place = BUF_INIT(sizeof(folder) + PROCESS_ID_MAX);
	struct process_info i;

	process_info(w->process, &i);
	buf_puts(&place, folder);
	buf_puts(&place, i.id);
	if (process_state(w->process) != PROCESS_FAILED)
		request_add_field(w->rq, STR("location"), buf_view(&place));
	buf_free(&place);
	processes_answer_start(w, 201);
}

static void processes_answer_replay(struct process_waiter *w)
{
	request_add_field(w->rq, STR("idempotent-replayed"), STR("true"));
	processes_answer_start(w, 200);
}

static void processes_refuse_start(struct request *rq, int err, const char *why)
{
	char text[160];

	if (err == ERR_LIMIT) {
		snprintf(text, sizeof(text),
			"%d processes are running already, which is the maximum. Wait "
			"until some have ended, or end them.",
			PROCESSES_MAX);
		request_fail(rq, 429, str_c(text));
		return;
	}
	if (err == ERR_REFUSED) {
		processes_reply_failure(rq, 422, PROCESS_NO_RIGHTS, PROCESS_USER_FIXED);
		return;
	}
	snprintf(text, sizeof(text), "The process cannot be started now: %s: %s.", why,
		err_text(err));
	/* Memory, processes and descriptors may be free again later. */
	processes_reply_failure(rq,
		err == -ENOMEM || err == -EAGAIN || err == -EMFILE || err == -ENFILE ||
				err == ERR_CLOSED
			? 503
			: 422,
		PROCESS_START_FAILED, text);
}

static void processes_start_new(
	struct api *api, struct request *rq, const struct process_spec *spec)
{
	struct process_waiter w = {.rq = rq,
		.is_ready = processes_has_started,
		.answer = processes_answer_created};
	const char *why;
	int r = process_start(api->processes, spec, &w.process, &why);

	if (r < 0)
		processes_refuse_start(rq, r, why);
	else if (!process_own_request(rq, w.process))
		api_reply_nomem(rq);
	else if (process_waiter_begin(api, &w, 0))
		return;
	/* If the client receives an error, the process is killed. */
	if (r == 0)
		process_kill(w.process);
}

/* True: the key is known, and the request is answered. */
static bool processes_replay_start(
	struct api *api, struct request *rq, struct process_spec *spec)
{
	struct process_waiter w = {.rq = rq,
		.is_ready = processes_has_started,
		.answer = processes_answer_replay};

	sha256_compute(rq->body, spec->request);
	switch (process_key_find(api->processes, spec->key, spec->request, &w.process)) {
	case PROCESS_KEY_NEW:
		return false;
	case PROCESS_KEY_KNOWN:
		if (process_own_request(rq, w.process))
			(void)process_waiter_begin(api, &w, 0);
		else
			api_reply_nomem(rq);
		return true;
	case PROCESS_KEY_MISMATCH:
		request_fail(rq, 409,
			STR("This Idempotency-Key was used with another request."));
		return true;
	case PROCESS_KEY_REMOVED:
		request_fail(rq, 410,
			STR("The process of this Idempotency-Key has been removed."));
		return true;
	}
	return true;
}

void processes_start(struct api *api, struct request *rq, struct str name)
{
	struct params p = {.arena = &rq->arena};
	struct process_spec spec;
	struct str key = {0};
	int r = process_spec_parse(&p, rq->body);

	(void)name;
	if (r == 0)
		r = process_spec_read(&p, api->box->shell_setup->env, &spec);
	if (r == 0 && request_header(rq, STR("idempotency-key"), &key) == ERR_DUPLICATE)
		r = params_set_error(&p, "Idempotency-Key", "it is given twice");
	if (r) {
		api_refuse(rq, (unsigned)r, p.error);
		return;
	}
	spec.key = key;
	if (!key.n || !processes_replay_start(api, rq, &spec))
		processes_start_new(api, rq, &spec);
}

/* --- List and state -------------------------------------------------------- */

void processes_list(struct api *api, struct request *rq, struct str name)
{
	static const struct param table = {.name = "tag", .type = PARAM_TEXT};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct process_info i;
	struct str tag = {0};
	struct jw w;
	int r = params_read(&p, &table, 1, &tag);

	(void)name;
	if (r) {
		api_refuse(rq, (unsigned)r, p.error);
		return;
	}
	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "processes");
	jw_array(&w);
	for (struct process *at = process_first(api->processes); at;
		at = process_next(at)) {
		process_info(at, &i);
		if (!tag.p || str_eq(tag, str_c(i.tag)))
			process_write_row(&w, at);
	}
	jw_end(&w);
	jw_end(&w);
	request_reply(rq, 200, API_JSON);
}

static void processes_answer_state(struct process_waiter *w)
{
	processes_reply_object(w->rq, 200, w->process);
}

void processes_get(struct api *api, struct request *rq, struct str id)
{
	static const struct param table = {"wait", PARAM_NUMBER, .max = IDEM_WAIT_MAX_S};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct process_waiter w = {.rq = rq,
		.is_ready = processes_has_exited,
		.answer = processes_answer_state};
	uint64_t wait_s = 0;
	int r = params_read(&p, &table, 1, &wait_s);

	if (r) {
		api_refuse(rq, (unsigned)r, p.error);
		return;
	}
	w.process = processes_find(api, rq, id);
	if (!w.process)
		return;
	rq->needs_peer = wait_s;
	if (wait_s)
		(void)process_waiter_begin(api, &w, wait_s * 1000);
	else
		processes_reply_object(rq, 200, w.process);
}

/* --- Removal, signals, size ------------------------------------------------ */

static void processes_answer_delete(struct process_waiter *w)
{
	struct process *p = w->process;

	if (!processes_has_exited(p)) {
		request_fail(w->rq, 409,
			STR("The process was killed but has not ended yet. Try again "
			    "later."));
		return;
	}
	process_remove(p);
	processes_reply_object(w->rq, 200, p);
}

void processes_delete(struct api *api, struct request *rq, struct str id)
{
	struct process_waiter w = {.rq = rq,
		.is_ready = processes_has_exited,
		.answer = processes_answer_delete};

	w.process = processes_find(api, rq, id);
	if (!w.process)
		return;
	process_kill(w.process);
	(void)process_waiter_begin(api, &w, DELETE_MS);
}

/* Parses the body. False: it is malformed, and the request is answered. */
static bool processes_read_body(struct request *rq, struct params *p)
{
	int r = params_parse_body(p, rq->body);

	if (r)
		api_refuse(rq, (unsigned)r, p->error);
	return r == 0;
}

/* Answers with the result r of an operation: 0 or -errno. */
static void processes_reply_result(struct request *rq, struct process *p, int r)
{
	char text[128];

	if (r == 0) {
		processes_reply_object(rq, 200, p);
		return;
	}
	if (r == -ESRCH)
		snprintf(text, sizeof(text), "The process has ended.");
	else if (r == -ENOTTY)
		snprintf(text, sizeof(text), "The process has no pty.");
	else
		snprintf(text, sizeof(text), "The process does not accept it: %s.",
			err_text(r));
	request_fail(rq, 409, str_c(text));
}

const char *const process_targets[] = {
	[PROCESS_TREE] = "tree",
	[PROCESS_GROUP] = "group",
	[PROCESS_ALONE] = "process",
	NULL,
};

void processes_signal(struct api *api, struct request *rq, struct str id)
{
	static const struct param to = {"to", PARAM_CHOICE, .words = process_targets};
	struct params p = {.arena = &rq->arena};
	struct process *at = processes_find(api, rq, id);
	unsigned target = PROCESS_TREE;
	int r, signo;

	if (!at || !processes_read_body(rq, &p))
		return;
	signo = process_signal_read(json_get(p.body, "signal"));
	r = params_read(&p, &to, 1, &target);
	if (r == 0 && !signo)
		r = params_set_error(
			&p, "signal", "it must be the name or number of a signal");
	if (r)
		api_refuse(rq, (unsigned)r, p.error);
	else
		processes_reply_result(
			rq, at, process_signal(at, signo, (enum process_target)target));
}

void processes_resize(struct api *api, struct request *rq, struct str id)
{
	struct params p = {.arena = &rq->arena};
	struct process *at = processes_find(api, rq, id);
	uint16_t rows, columns;
	int r;

	if (!at || !processes_read_body(rq, &p))
		return;
	r = process_size_read(&p, &rows, &columns);
	if (r)
		api_refuse(rq, (unsigned)r, p.error);
	else
		processes_reply_result(rq, at, process_resize(at, rows, columns));
}
