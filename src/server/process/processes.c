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
		request_fail(rq, 404, STR("There is no process of that id."));
	return p;
}

static void reply_process(struct request *rq, unsigned status, struct process *p)
{
	struct jw w;

	jw_init(&w, request_out(rq));
	process_write(&w, p);
	process_set_seen(p);
	request_reply(rq, status, API_JSON);
}

/* --- Requests that wait for a process -------------------------------------- */

/* In the request's arena. */
struct waiter {
	struct asked asked;
	struct process_follower follower;
	struct timer timer;
	struct loop *loop;
	struct request *rq;
	struct process *process;
	/* Whether the request can be answered. */
	bool (*is_ready)(const struct process *p);
	void (*answer)(struct waiter *w);
};

static void waiter_leave(struct waiter *w)
{
	timer_cancel(w->loop, &w->timer);
	w->rq->user = NULL;
	process_unfollow(&w->follower);
}

static void waiter_gone(struct request *rq)
{
	waiter_leave(rq->user);
}

/* The process stays allocated until the present batch of events is over. */
static void waiter_answer(struct waiter *w)
{
	waiter_leave(w);
	w->answer(w);
}

static void waiter_told(struct process_follower *f)
{
	struct waiter *w = container_of(f, struct waiter, follower);

	if (w->is_ready(w->process) || process_is_removed(w->process))
		waiter_answer(w);
}

static void waiter_late(struct timer *t)
{
	waiter_answer(container_of(t, struct waiter, timer));
}

/*
 * Answers when the process is ready, or after ms (0: without a limit). False: out of
 * memory, and the request is answered.
 */
static bool waiter_begin(struct api *api, const struct waiter *wanted, uint64_t ms)
{
	struct request *rq = wanted->rq;
	struct waiter *w = arena_alloc(&rq->arena, sizeof(*w));

	if (!w) {
		api_no_memory(rq);
		return false;
	}
	*w = *wanted;
	w->asked.gone = waiter_gone;
	w->follower.fn = waiter_told;
	w->loop = api->box->loop;
	rq->user = w;
	process_follow(w->process, &w->follower);
	if (w->is_ready(w->process) ||
		(ms && timer_set(w->loop, &w->timer, ms, waiter_late) < 0))
		waiter_answer(w);
	return true;
}

static bool has_started(const struct process *p)
{
	return process_state(p) != PROCESS_STARTING;
}

static bool has_exited(const struct process *p)
{
	return process_state(p) == PROCESS_EXITED;
}

/* --- Start ----------------------------------------------------------------- */

static void reply_failure(struct request *rq, unsigned status, enum process_reason reason,
	const char *detail)
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

static void answer_start(struct waiter *w, unsigned status)
{
	const char *detail;
	enum process_reason reason;

	if (process_state(w->process) == PROCESS_FAILED) {
		reason = process_failure(w->process, &detail);
		reply_failure(w->rq, 422, reason, detail);
	} else if (process_state(w->process) == PROCESS_STARTING) {
		request_fail(w->rq, 503, STR("The server stops."));
	} else {
		reply_process(w->rq, status, w->process);
	}
}

static void answer_new(struct waiter *w)
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
	answer_start(w, 201);
}

static void answer_again(struct waiter *w)
{
	request_add_field(w->rq, STR("idempotent-replayed"), STR("true"));
	answer_start(w, 200);
}

static void refuse_start(struct request *rq, int err, const char *why)
{
	char text[160];

	if (err == ERR_LIMIT) {
		snprintf(text, sizeof(text),
			"%d processes run already. Wait for the end of some, or end "
			"them.",
			PROCESSES_MAX);
		request_fail(rq, 429, str_c(text));
		return;
	}
	if (err == ERR_REFUSED) {
		reply_failure(rq, 422, PROCESS_NO_RIGHTS, PROCESS_USER_FIXED);
		return;
	}
	snprintf(text, sizeof(text), "The process cannot be started now: %s: %s.", why,
		err_text(err));
	/* Memory, processes and descriptors may be free again later. */
	reply_failure(rq,
		err == -ENOMEM || err == -EAGAIN || err == -EMFILE || err == -ENFILE ||
				err == ERR_CLOSED
			? 503
			: 422,
		PROCESS_START_FAILED, text);
}

static void start(struct api *api, struct request *rq, const struct process_spec *spec)
{
	struct waiter w = {.rq = rq, .is_ready = has_started, .answer = answer_new};
	const char *why;
	int r = process_start(api->processes, spec, &w.process, &why);

	if (r < 0)
		refuse_start(rq, r, why);
	else if (!process_own_by(rq, w.process))
		api_no_memory(rq);
	else if (waiter_begin(api, &w, 0))
		return;
	/* If the client receives an error, the process is killed. */
	if (r == 0)
		process_kill(w.process);
}

/* True: the key is known, and the request is answered. */
static bool is_replayed(struct api *api, struct request *rq, struct process_spec *spec)
{
	struct waiter w = {.rq = rq, .is_ready = has_started, .answer = answer_again};

	sha256_of(rq->body, spec->request);
	switch (process_key_find(api->processes, spec->key, spec->request, &w.process)) {
	case PROCESS_KEY_NEW:
		return false;
	case PROCESS_KEY_KNOWN:
		if (process_own_by(rq, w.process))
			(void)waiter_begin(api, &w, 0);
		else
			api_no_memory(rq);
		return true;
	case PROCESS_KEY_OTHER:
		request_fail(rq, 409,
			STR("This Idempotency-Key was used with another request."));
		return true;
	case PROCESS_KEY_GONE:
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
		r = params_wrong(&p, "Idempotency-Key", "it is given twice");
	if (r) {
		api_refuse(rq, (unsigned)r, p.wrong);
		return;
	}
	spec.key = key;
	if (!key.n || !is_replayed(api, rq, &spec))
		start(api, rq, &spec);
}

/* --- List and state -------------------------------------------------------- */

void processes_list(struct api *api, struct request *rq, struct str name)
{
	static const struct param table = {.name = "tag", .type = PARAM_TEXT};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct process_info i;
	struct str tag = {0};
	struct jw w;
	int r = params_take(&p, &table, 1, &tag);

	(void)name;
	if (r) {
		api_refuse(rq, (unsigned)r, p.wrong);
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

static void answer_state(struct waiter *w)
{
	reply_process(w->rq, 200, w->process);
}

void processes_get(struct api *api, struct request *rq, struct str id)
{
	static const struct param table = {"wait", PARAM_NUMBER, .max = ONCE_WAIT_MAX_S};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct waiter w = {.rq = rq, .is_ready = has_exited, .answer = answer_state};
	uint64_t wait_s = 0;
	int r = params_take(&p, &table, 1, &wait_s);

	if (r) {
		api_refuse(rq, (unsigned)r, p.wrong);
		return;
	}
	w.process = processes_find(api, rq, id);
	if (!w.process)
		return;
	rq->needs_peer = wait_s;
	if (wait_s)
		(void)waiter_begin(api, &w, wait_s * 1000);
	else
		reply_process(rq, 200, w.process);
}

/* --- Removal, signals, size ------------------------------------------------ */

static void answer_delete(struct waiter *w)
{
	struct process *p = w->process;

	if (!has_exited(p)) {
		request_fail(w->rq, 409,
			STR("The process was killed and does not end. Try again later."));
		return;
	}
	process_remove(p);
	reply_process(w->rq, 200, p);
}

void processes_delete(struct api *api, struct request *rq, struct str id)
{
	struct waiter w = {.rq = rq, .is_ready = has_exited, .answer = answer_delete};

	w.process = processes_find(api, rq, id);
	if (!w.process)
		return;
	process_kill(w.process);
	(void)waiter_begin(api, &w, DELETE_MS);
}

/* Parses the body. False: it is malformed, and the request is answered. */
static bool read_body(struct request *rq, struct params *p)
{
	int r = params_body(p, rq->body);

	if (r)
		api_refuse(rq, (unsigned)r, p->wrong);
	return r == 0;
}

/* Answers with the result r of an operation: 0 or -errno. */
static void reply_done(struct request *rq, struct process *p, int r)
{
	char text[128];

	if (r == 0) {
		reply_process(rq, 200, p);
		return;
	}
	if (r == -ESRCH)
		snprintf(text, sizeof(text), "The process does not run any more.");
	else if (r == -ENOTTY)
		snprintf(text, sizeof(text), "The process has no pty.");
	else
		snprintf(text, sizeof(text), "The process cannot be reached: %s.",
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

	if (!at || !read_body(rq, &p))
		return;
	signo = process_signal_read(json_get(p.body, "signal"));
	r = params_take(&p, &to, 1, &target);
	if (r == 0 && !signo)
		r = params_wrong(
			&p, "signal", "it must be the name or number of a signal");
	if (r)
		api_refuse(rq, (unsigned)r, p.wrong);
	else
		reply_done(
			rq, at, process_signal(at, signo, (enum process_target)target));
}

void processes_resize(struct api *api, struct request *rq, struct str id)
{
	struct params p = {.arena = &rq->arena};
	struct process *at = processes_find(api, rq, id);
	uint16_t rows, columns;
	int r;

	if (!at || !read_body(rq, &p))
		return;
	r = process_size_read(&p, &rows, &columns);
	if (r)
		api_refuse(rq, (unsigned)r, p.wrong);
	else
		reply_done(rq, at, process_resize(at, rows, columns));
}
