#include "server/idempotency/idem_private.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "limits.h"
#include "server/params.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { LEDGER_STEP_MS = 1 }; /* before the next step: other work has its turn */

/* --- The ledger --------------------------------------------------------------- */

/* Puts the ledger's descriptor into init's fd store, where it survives a crash. */
static void idem_store_ledger(struct idem *o)
{
	int r = store_put(o->box->store, RESTORED_LEDGER, o->ledger.journal.fd, 0);

	if (r < 0)
		log_warn("the ledger of actions cannot be stored in init, so a crash of "
			 "the server may lose it: %s",
			err_text(r));
	o->ledger.moved = false;
}

/* Compacts the ledger in steps. Other events are handled between them. */
static void idem_on_compact(struct timer *t)
{
	struct idem *o = container_of(t, struct idem, tidy);
	bool more = ledger_shrink(&o->ledger);

	/* init must have the new file before anything is recorded in it. */
	if (o->ledger.moved)
		idem_store_ledger(o);
	if (more)
		timer_set(o->box->loop, &o->tidy, LEDGER_STEP_MS, idem_on_compact);
}

void idem_compact(struct idem *o)
{
	if (!timer_is_armed(&o->tidy) && ledger_is_large(&o->ledger))
		timer_set(o->box->loop, &o->tidy, 0, idem_on_compact);
}

/* Without outputs, actions are still recorded. */
static void idem_open_outputs(struct idem *o)
{
	int fd = o->outputs_fd;
	bool known = fd >= 0;
	uint32_t max = o->dir < 0 ? OUTPUT_BLOCKS_MEMORY : OUTPUT_BLOCKS;
	int r;

	o->outputs_fd = -1;
	if (fd < 0 && o->dir < 0)
		fd = fd_create_memory("od-outputs", 0);
	else if (fd < 0)
		fd = fd_openat(
			o->dir, "actions.out", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	r = fd < 0 ? fd : store_put(o->box->store, RESTORED_OUTPUTS, fd, 0);
	if (r < 0)
		log_warn("the output of actions cannot be stored in init, so a crash of "
			 "the server may lose it: %s",
			err_text(r));
	if (fd >= 0)
		r = outputs_open(&o->outputs, fd, max, known);
	if (fd < 0 || r < 0)
		log_warn("the output of actions cannot be stored: %s", err_text(r));
	else
		ledger_set_outputs(&o->ledger, &o->outputs);
}

static int idem_open_ledger(struct idem *o, int fd)
{
	uint64_t torn = 0;
	bool sync = o->box->config->state_sync && o->dir >= 0;
	int r = ledger_open(&o->ledger, o->dir, "actions", fd, sync, &torn);

	/* An unreadable ledger is not overwritten, and the sandbox starts without it. */
	if (r < 0 && o->dir >= 0) {
		log_warn("the ledger of actions in --state-dir cannot be used: %s; a new "
			 "ledger is kept in memory",
			r == -EBUSY ? "another sandbox uses the folder" : err_text(r));
		fd_close(&o->dir);
		r = ledger_open(&o->ledger, -1, "actions", -1, false, &torn);
	}
	if (r < 0)
		return r;
	if (o->ledger.dir < 0)
		fd_close(&o->dir);
	if (torn)
		log_warn("the last record of the ledger of actions was incomplete; %llu "
			 "bytes were dropped",
			(unsigned long long)torn);
	o->open = true;
	idem_open_outputs(o);
	idem_store_ledger(o);
	idem_resume_started(o);
	idem_compact(o);
	return 0;
}

struct idem *idem_new(struct box *box, const char *state, int ledger, int outputs)
{
	struct idem *o = calloc(1, sizeof(*o));
	int r = 0;

	if (!o) {
		fd_close(&ledger);
		fd_close(&outputs);
		return NULL;
	}
	o->box = box;
	o->dir = -1;
	o->outputs.fd = -1;
	o->outputs_fd = outputs;
	if (state) {
		if (mkdir(state, 0700) < 0 && errno != EEXIST)
			r = -errno;
		else
			o->dir = fd_open(state, O_PATH | O_DIRECTORY, 0);
		if (r || o->dir < 0)
			log_warn("--state-dir %s: %s; the ledger of actions is kept in "
				 "memory",
				state, err_text(r ? r : o->dir));
	}
	/*
	 * The ledger may hold accepted actions, which are started without a further
	 * request.
	 */
	if (ledger >= 0 || o->dir >= 0) {
		r = idem_open_ledger(o, ledger);
		if (r < 0)
			log_warn("the ledger of actions was lost in the crash of the "
				 "server: %s",
				err_text(r));
	}
	return o;
}

/* --- Requests ----------------------------------------------------------------- */

/* A request that submits an action. */
struct idem_request {
	struct str id;
	uint8_t digest[SHA256_LEN]; /* of the body */
	bool plain;
	bool wrapped;               /* the action is a member of the body */
	unsigned cancel_unattended; /* cancelled when no request waits... */
	uint64_t grace_ms;          /* ...for so long */
	bool quiet;                 /* the caller has no id */
	uint64_t wait_ms;
};

/* The status and the message for the error r of recording an action. */
static unsigned idem_map_error(int r, const char **words)
{
	if (r == ERR_LIMIT) {
		*words = "Too many actions are running or waiting. Try again when one "
			 "has ended.";
		return 429;
	}
	if (r == -ENOMEM) {
		*words = "Out of memory.";
		return 503;
	}
	*words = "The action cannot be recorded and was not started: the disk of the "
		 "ledger is full.";
	return 507;
}

void idem_refuse(struct request *rq, int r)
{
	const char *words;
	unsigned status = idem_map_error(r, &words);

	if (status == 503) {
		api_reply_nomem(rq);
		return;
	}
	if (status == 429)
		request_add_field(rq, STR("retry-after"), STR("1"));
	request_fail(rq, status, str_c(words));
}

/*
 * Records the action: as queued if it cannot start at once, otherwise as begun. *e is its
 * entry if it was accepted before; NULL: the action is new.
 */
static int idem_record_action(struct idem *o, struct pending_action *d, struct str body,
	const struct idem_request *q, uint8_t how, struct ledger_entry **e)
{
	bool late = !d->read_error && act_is_late(&d->act);

	if (*e)
		return late ? 0 : ledger_start(&o->ledger, *e);
	if (late)
		return ledger_queue(&o->ledger, q->id, q->digest, how, body, e);
	return ledger_begin(&o->ledger, q->id, q->digest, e);
}

/*
 * Records an action, new or accepted before, and does not begin it. Returns 0; the status
 * to refuse it with, and a message in p->error; or the error of recording it.
 */
static int idem_admit_action(struct idem *o, const struct idem_request *q,
	struct str body, uint8_t how, struct ledger_entry *e, struct params *p,
	struct pending_action **out)
{
	struct pending_action *d = pending_action_new(o, body);
	int r;

	if (!d)
		return -ENOMEM;
	p->arena = &d->arena;
	r = pending_action_read(d, how, p);
	if (!r)
		r = idem_record_action(o, d, body, q, how, &e);
	if (r) {
		pending_action_free(d);
		return r;
	}
	pending_action_bind(d, e);
	idem_wake(o);
	*out = d;
	return 0;
}

/*
 * Records the action and begins it. Returns 0: the request is or will be answered; or the
 * error of recording it: nothing was done.
 */
static int idem_begin_request(struct api *api, struct request *rq,
	const struct idem_request *q, struct ledger_entry *e)
{
	struct idem *o = api->idem;
	struct pending_action *d;
	uint8_t how = (q->wrapped ? IDEM_WRAPPED : 0) | (q->quiet ? IDEM_NO_ID : 0) |
		(q->cancel_unattended ? IDEM_CANCEL_UNATTENDED : 0);
	struct params p = {0};
	int r = idem_admit_action(o, q, rq->body, how, e, &p, &d);

	if (r > 0)
		api_refuse(rq, (unsigned)r, p.error);
	if (r)
		return r < 0 ? r : 0;
	e = d->entry;
	d->cancel_unattended = q->cancel_unattended;
	d->grace_ms = q->grace_ms;
	api->last_action = clock_ms();
	if (q->plain || q->wait_ms) {
		idem_wait(d, rq, q->plain, q->wait_ms);
		pending_action_start(d);
	} else {
		pending_action_start(d);
		idem_reply_state(o, rq, e, idem_has_ended(e) ? 200 : 202, false);
	}
	return 0;
}

static const char gone_words[] = "The action with this id has ended, and its answer is "
				 "no longer stored. Use a new id to repeat it.";
static const char other_words[] =
	"This id was already used for another action. Use a new id.";
static const char id_words[] = "an id is 1 to 64 letters, digits, - or _";

/* Whether a recorded action has not begun, and no pending action belongs to it. */
static bool idem_is_waiting(const struct ledger_entry *e)
{
	return e->state == LEDGER_ACCEPTED && !e->owner;
}

/* The id is known already. Returns as idem_begin_request. */
static int idem_repeat_request(struct api *api, struct request *rq,
	const struct idem_request *q, struct ledger_entry *e)
{
	struct idem *o = api->idem;

	if (!hash_equal(e->body, q->digest, sizeof(e->body))) {
		request_fail(rq, 409, STR(other_words));
		return 0;
	}
	if (idem_is_waiting(e))
		return idem_begin_request(api, rq, q, e);
	if (!idem_has_ended(e) && (q->plain || q->wait_ms))
		idem_wait(e->owner, rq, q->plain, q->wait_ms);
	else if (q->plain)
		idem_reply(o, rq, e, true);
	else
		idem_reply_state(o, rq, e, idem_has_ended(e) ? 200 : 202, true);
	return 0;
}

int idem_prepare(struct idem *o)
{
	return o->open ? 0 : idem_open_ledger(o, -1);
}

/* Returns as idem_begin_request. */
static int idem_handle_request(
	struct api *api, struct request *rq, const struct idem_request *q)
{
	struct ledger_entry *e;
	int r;

	if (!ledger_is_id(q->id)) {
		api_reply_invalid(rq, id_words);
		return 0;
	}
	r = idem_prepare(api->idem);
	if (r)
		return r;
	switch (ledger_find(&api->idem->ledger, q->id, &e)) {
	case LEDGER_ABSENT:
		return idem_begin_request(api, rq, q, NULL);
	case LEDGER_PRESENT:
		return idem_repeat_request(api, rq, q, e);
	case LEDGER_EVICTED:
		request_fail(rq, 410, STR(gone_words));
		break;
	}
	return 0;
}

static int idem_set_refusal(struct idem_refusal *why, unsigned status, const char *words)
{
	why->status = status;
	snprintf(why->message, sizeof(why->message), "%s", words);
	return ERR_CLOSED;
}

/* Refuses an action with the error r of recording it. */
static int idem_set_record_error(struct idem_refusal *why, int r)
{
	const char *words;
	unsigned status = idem_map_error(r, &words);

	return idem_set_refusal(why, status, words);
}

/* As idem_submit, for an action that is new or has not begun. */
static int idem_begin_action(struct idem *o, const struct idem_request *q,
	struct str body, struct ledger_entry **e, struct idem_refusal *why)
{
	struct params p = {0};
	struct pending_action *d;
	int r = idem_admit_action(o, q, body, 0, *e, &p, &d);

	if (r > 0)
		return idem_set_refusal(why, (unsigned)r, p.error);
	if (r)
		return idem_set_record_error(why, r);
	*e = d->entry;
	pending_action_start(d);
	return 0;
}

int idem_submit(struct idem *o, struct str id, struct str body, bool had,
	struct ledger_entry **e, bool *known, struct idem_refusal *why)
{
	struct idem_request q = {.id = id};
	int r;

	if (!ledger_is_id(id))
		return idem_set_refusal(why, 422, id_words);
	r = idem_prepare(o);
	if (r)
		return idem_set_record_error(why, r);
	*known = true;
	sha256_compute(body, q.digest);
	switch (ledger_find(&o->ledger, id, e)) {
	case LEDGER_EVICTED:
		return idem_set_refusal(why, 410, gone_words);
	case LEDGER_ABSENT:
		*e = NULL;
		if (!body.n || had)
			return idem_set_refusal(why, 404, "No action has this id.");
		break;
	case LEDGER_PRESENT:
		if (body.n && !hash_equal((*e)->body, q.digest, sizeof(q.digest)))
			return idem_set_refusal(why, 409, other_words);
		if (!body.n || !idem_is_waiting(*e))
			return 0;
		break;
	}
	*known = *e != NULL;
	return idem_begin_action(o, &q, body, e, why);
}

/* The text of a string of structured fields (RFC 8941), or the bare word. */
static struct str idem_strip_quotes(struct str s)
{
	s = str_trim(s, " \t");
	return s.n > 1 && s.p[0] == '"' && s.p[s.n - 1] == '"'
		? str_make(s.p + 1, s.n - 2)
		: s;
}

void idem_execute(struct api *api, struct request *rq, struct str key)
{
	struct idem_request q = {
		.id = idem_strip_quotes(key), .plain = true, .wrapped = true};
	int r;

	sha256_compute(rq->body, q.digest);
	r = idem_handle_request(api, rq, &q);
	if (r)
		idem_refuse(rq, r);
}

bool idem_execute_event(struct api *api, struct request *rq, struct json_val event)
{
	char id[LEDGER_ID_MAX + 1], digest_hex[SHA256_HEX + 1];
	struct idem_request q = {.plain = true, .wrapped = true, .quiet = true};
	int64_t number;

	if (json_i64(json_get(event, "id"), &number) < 0 || number < 0 ||
		json_type(json_get(event, "timestamp")) != JSON_STRING)
		return false;
	sha256_compute(rq->body, q.digest);
	hex_encode(q.digest, sizeof(q.digest), digest_hex);
	snprintf(id, sizeof(id), "event-%" PRId64 "-%.32s", number, digest_hex);
	q.id = str_c(id);
	return idem_handle_request(api, rq, &q) == 0;
}

/* False: the request is answered. */
static bool idem_read_wait(struct request *rq, uint64_t *ms)
{
	static const struct param wait = {"wait", PARAM_NUMBER, .max = IDEM_WAIT_MAX_S};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	uint64_t s = 0;
	int r = params_read(&p, &wait, 1, &s);

	if (r)
		api_refuse(rq, (unsigned)r, p.error);
	*ms = s * 1000;
	return r == 0;
}

void idem_put(struct api *api, struct request *rq, struct str id)
{
	static const char *const words[] = {"continue", "cancel", NULL};
	static const struct param params[] = {
		{"wait", PARAM_NUMBER, .at = offsetof(struct idem_request, wait_ms),
			.max = IDEM_WAIT_MAX_S},
		{"on_disconnect", PARAM_CHOICE,
			.at = offsetof(struct idem_request, cancel_unattended),
			.words = words},
		{"grace_ms", PARAM_NUMBER, .at = offsetof(struct idem_request, grace_ms),
			.max = IDEM_WAIT_MAX_S * 1000},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct idem_request q = {.id = id, .grace_ms = IDEM_GRACE_MS};
	int r = params_read(&p, params, ARRAY_LEN(params), &q);

	if (r) {
		api_refuse(rq, (unsigned)r, p.error);
		return;
	}
	q.wait_ms *= 1000;
	sha256_compute(rq->body, q.digest);
	r = idem_handle_request(api, rq, &q);
	if (r)
		idem_refuse(rq, r);
}

struct ledger_entry *idem_find(struct idem *o, struct request *rq, struct str id)
{
	struct ledger_entry *e;
	int r = idem_prepare(o);

	if (r) {
		idem_refuse(rq, r);
		return NULL;
	}
	switch (ledger_find(&o->ledger, id, &e)) {
	case LEDGER_ABSENT:
		request_fail(rq, 404, STR("No action has this id."));
		return NULL;
	case LEDGER_EVICTED:
		request_fail(rq, 410, STR(gone_words));
		return NULL;
	default:
		return e;
	}
}

void idem_get(struct api *api, struct request *rq, struct str id)
{
	struct ledger_entry *e;
	uint64_t ms;

	if (!idem_read_wait(rq, &ms))
		return;
	e = idem_find(api->idem, rq, id);
	if (!e)
		return;
	if (ms && !idem_has_ended(e) && e->owner)
		idem_wait(e->owner, rq, false, ms);
	else
		idem_reply_state(api->idem, rq, e, idem_has_ended(e) ? 200 : 202, true);
}

void idem_ack(struct api *api, struct request *rq, struct str id)
{
	struct ledger_entry *e = idem_find(api->idem, rq, id);
	int r;

	if (!e)
		return;
	if (!idem_has_ended(e)) {
		request_fail(rq, 409,
			STR("This action has not ended. Cancel it or wait for its end "
			    "first."));
		return;
	}
	r = ledger_ack(&api->idem->ledger, e);
	if (r < 0)
		idem_refuse(rq, r);
	else
		idem_reply_state(api->idem, rq, e, 200, true);
}

/* --- The end ------------------------------------------------------------------ */

void idem_answer_all(struct idem *o)
{
	LIST_EACH (struct pending_action, d, &o->pending, node)
		pending_action_answer_waiters(d);
	idem_end_readers(o);
}

void idem_del(struct idem *o)
{
	if (!o)
		return;
	LIST_EACH (struct pending_action, d, &o->pending, node)
		pending_action_free(d);
	timer_cancel(o->box->loop, &o->wake);
	timer_cancel(o->box->loop, &o->tidy);
	if (o->open)
		ledger_close(&o->ledger);
	outputs_close(&o->outputs);
	fd_close(&o->outputs_fd);
	fd_close(&o->dir);
	free(o);
}
