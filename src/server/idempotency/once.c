#include "server/idempotency/once_private.h"

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

/* --- The ledger --------------------------------------------------------------- */

/* Puts the ledger's descriptor into init's fd store, where it survives a crash. */
static void keep(struct once *o)
{
	int r = store_put(o->box->store, KEPT_LEDGER, o->ledger.journal.fd, 0);

	if (r < 0)
		log_warn("init does not keep the ledger of actions: %s", err_text(r));
	o->ledger.moved = false;
}

/* Compacts the ledger in steps. Other events are handled between them. */
static void on_tidy(struct timer *t)
{
	struct once *o = container_of(t, struct once, tidy);
	bool more = ledger_shrink(&o->ledger);

	/* init must have the new file before anything is recorded in it. */
	if (o->ledger.moved)
		keep(o);
	if (more && timer_set(o->box->loop, &o->tidy, LEDGER_STEP_MS, on_tidy) < 0)
		log_warn("out of memory to write the ledger of actions anew");
}

void once_tidy(struct once *o)
{
	if (!o->tidy.slot && ledger_is_large(&o->ledger) &&
		timer_set(o->box->loop, &o->tidy, 0, on_tidy) < 0)
		log_warn("out of memory to write the ledger of actions anew");
}

/* Without outputs, actions are still recorded. */
static void open_outputs(struct once *o)
{
	int fd = o->outputs_fd;
	bool known = fd >= 0;
	uint32_t max = o->dir < 0 ? OUTPUT_BLOCKS_MEMORY : OUTPUT_BLOCKS;
	int r;

	o->outputs_fd = -1;
	if (fd < 0 && o->dir < 0)
		fd = fd_memory("od-outputs", 0);
	else if (fd < 0)
		fd = fd_openat(
			o->dir, "actions.out", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	r = fd < 0 ? fd : store_put(o->box->store, KEPT_OUTPUTS, fd, 0);
	if (r < 0)
		log_warn("init does not keep what actions print: %s", err_text(r));
	if (fd >= 0)
		r = outputs_open(&o->outputs, fd, max, known);
	if (fd < 0 || r < 0)
		log_warn("what actions print is not kept: %s", err_text(r));
	else
		ledger_set_outputs(&o->ledger, &o->outputs);
}

static int open_ledger(struct once *o, int fd)
{
	uint64_t torn = 0;
	bool sync = o->box->config->state_sync && o->dir >= 0;
	int r = ledger_open(&o->ledger, o->dir, "actions", fd, sync, &torn);

	/* An unreadable ledger is not overwritten, and the sandbox starts without it. */
	if (r < 0 && o->dir >= 0) {
		log_warn("the ledger of actions cannot be used: %s; this one lives in "
			 "memory",
			r == -EBUSY ? "another sandbox writes to it" : err_text(r));
		fd_close(&o->dir);
		r = ledger_open(&o->ledger, -1, "actions", -1, false, &torn);
	}
	if (r < 0)
		return r;
	if (o->ledger.dir < 0)
		fd_close(&o->dir);
	if (torn)
		log_warn("the last %llu bytes of the ledger of actions were not whole",
			(unsigned long long)torn);
	o->open = true;
	open_outputs(o);
	keep(o);
	once_attach(o);
	once_tidy(o);
	return 0;
}

struct once *once_new(struct box *box, const char *state, int ledger, int outputs)
{
	struct once *o = calloc(1, sizeof(*o));
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
			log_warn("%s: %s; actions are remembered in memory", state,
				err_text(r ? r : o->dir));
	}
	/*
	 * The ledger may hold accepted actions, which are started without a further
	 * request.
	 */
	if (ledger >= 0 || o->dir >= 0) {
		r = open_ledger(o, ledger);
		if (r < 0)
			log_warn("actions of the last process are forgotten: %s",
				err_text(r));
	}
	return o;
}

/* --- Requests ----------------------------------------------------------------- */

/* A request that submits an action. */
struct question {
	struct str id;
	uint8_t digest[SHA256_LEN]; /* of the body */
	bool plain;
	bool wrapped;      /* the action is a member of the body */
	unsigned leaves;   /* the action is cancelled when no request waits for it... */
	uint64_t grace_ms; /* ...for so long */
	bool quiet;        /* the caller has no id */
	uint64_t wait_ms;
};

/* The status and the message for the error r of recording an action. */
static unsigned refusal(int r, const char **words)
{
	if (r == ERR_LIMIT) {
		*words = "Too many actions have not ended.";
		return 429;
	}
	if (r == -ENOMEM) {
		*words = "Out of memory.";
		return 503;
	}
	*words = "The action cannot be recorded, and was not started: there is no room.";
	return 507;
}

void once_refuse(struct request *rq, int r)
{
	const char *words;
	unsigned status = refusal(r, &words);

	if (status == 503) {
		api_no_memory(rq);
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
static int record(struct once *o, struct doing *d, struct str body,
	const struct question *q, uint8_t how, struct ledger_entry **e)
{
	bool late = !d->unread && act_is_late(&d->act);

	if (*e)
		return late ? 0 : ledger_start(&o->ledger, *e);
	if (late)
		return ledger_queue(&o->ledger, q->id, q->digest, how, body, e);
	return ledger_begin(&o->ledger, q->id, q->digest, e);
}

/*
 * Records an action, new or accepted before, and does not begin it. Returns 0; the status
 * to refuse it with, and a message in p->wrong; or the error of recording it.
 */
static int admit(struct once *o, const struct question *q, struct str body, uint8_t how,
	struct ledger_entry *e, struct params *p, struct doing **out)
{
	struct doing *d = once_doing_new(o, body);
	int r;

	if (!d)
		return -ENOMEM;
	p->arena = &d->arena;
	r = once_read(d, how, p);
	if (!r)
		r = record(o, d, body, q, how, &e);
	if (r) {
		once_free(d);
		return r;
	}
	once_own(d, e);
	once_wake(o);
	*out = d;
	return 0;
}

/*
 * Records the action and begins it. Returns 0: the request is or will be answered; or the
 * error of recording it: nothing was done.
 */
static int begin(struct api *api, struct request *rq, const struct question *q,
	struct ledger_entry *e)
{
	struct once *o = api->once;
	struct doing *d;
	uint8_t how = (q->wrapped ? ASKED_WRAPPED : 0) | (q->quiet ? ASKED_QUIET : 0) |
		(q->leaves ? ASKED_LEAVES : 0);
	struct params p = {0};
	int r = admit(o, q, rq->body, how, e, &p, &d);

	if (r > 0)
		api_refuse(rq, (unsigned)r, p.wrong);
	if (r)
		return r < 0 ? r : 0;
	e = d->entry;
	d->leaves = q->leaves;
	d->grace_ms = q->grace_ms;
	api->last_action = clock_ms();
	if (q->plain || q->wait_ms) {
		once_wait(d, rq, q->plain, q->wait_ms);
		once_start(d);
	} else {
		once_start(d);
		once_reply_state(o, rq, e, once_has_ended(e) ? 200 : 202, false);
	}
	return 0;
}

static const char gone_words[] =
	"An action of this id was done; its answer is not kept any more.";
static const char other_words[] = "This id was used for another action.";
static const char id_words[] = "an id is 1 to 64 letters, digits, - or _";

/* Whether a recorded action has not begun, and no pending action belongs to it. */
static bool waits(const struct ledger_entry *e)
{
	return e->state == LEDGER_ACCEPTED && !e->owner;
}

/* The id is known already. Returns as begin. */
static int again(struct api *api, struct request *rq, const struct question *q,
	struct ledger_entry *e)
{
	struct once *o = api->once;

	if (!hash_equal(e->body, q->digest, sizeof(e->body))) {
		request_fail(rq, 409, STR(other_words));
		return 0;
	}
	if (waits(e))
		return begin(api, rq, q, e);
	if (!once_has_ended(e) && (q->plain || q->wait_ms))
		once_wait(e->owner, rq, q->plain, q->wait_ms);
	else if (q->plain)
		once_reply(o, rq, e, true);
	else
		once_reply_state(o, rq, e, once_has_ended(e) ? 200 : 202, true);
	return 0;
}

int once_make_ready(struct once *o)
{
	return o->open ? 0 : open_ledger(o, -1);
}

/* Returns as begin. */
static int ask(struct api *api, struct request *rq, const struct question *q)
{
	struct ledger_entry *e;
	int r;

	if (!ledger_is_id(q->id)) {
		api_invalid(rq, id_words);
		return 0;
	}
	r = once_make_ready(api->once);
	if (r)
		return r;
	switch (ledger_find(&api->once->ledger, q->id, &e)) {
	case LEDGER_NEW:
		return begin(api, rq, q, NULL);
	case LEDGER_HERE:
		return again(api, rq, q, e);
	case LEDGER_GONE:
		request_fail(rq, 410, STR(gone_words));
		break;
	}
	return 0;
}

static int no(struct once_refusal *why, unsigned status, const char *words)
{
	why->status = status;
	snprintf(why->words, sizeof(why->words), "%s", words);
	return ERR_CLOSED;
}

/* Refuses an action with the error r of recording it. */
static int no_record(struct once_refusal *why, int r)
{
	const char *words;
	unsigned status = refusal(r, &words);

	return no(why, status, words);
}

/* As once_submit, for an action that is new or has not begun. */
static int begin_submitted(struct once *o, const struct question *q, struct str body,
	struct ledger_entry **e, struct once_refusal *why)
{
	struct params p = {0};
	struct doing *d;
	int r = admit(o, q, body, 0, *e, &p, &d);

	if (r > 0)
		return no(why, (unsigned)r, p.wrong);
	if (r)
		return no_record(why, r);
	*e = d->entry;
	once_start(d);
	return 0;
}

int once_submit(struct once *o, struct str id, struct str body, bool had,
	struct ledger_entry **e, bool *known, struct once_refusal *why)
{
	struct question q = {.id = id};
	int r;

	if (!ledger_is_id(id))
		return no(why, 422, id_words);
	r = once_make_ready(o);
	if (r)
		return no_record(why, r);
	*known = true;
	sha256_of(body, q.digest);
	switch (ledger_find(&o->ledger, id, e)) {
	case LEDGER_GONE:
		return no(why, 410, gone_words);
	case LEDGER_NEW:
		*e = NULL;
		if (!body.n || had)
			return no(why, 404, "There is no action of this id.");
		break;
	case LEDGER_HERE:
		if (body.n && !hash_equal((*e)->body, q.digest, sizeof(q.digest)))
			return no(why, 409, other_words);
		if (!body.n || !waits(*e))
			return 0;
		break;
	}
	*known = *e != NULL;
	return begin_submitted(o, &q, body, e, why);
}

/* The text of a string of structured fields (RFC 8941), or the bare word. */
static struct str unquoted(struct str s)
{
	s = str_trim(s, " \t");
	return s.n > 1 && s.p[0] == '"' && s.p[s.n - 1] == '"'
		? str_make(s.p + 1, s.n - 2)
		: s;
}

void once_execute(struct api *api, struct request *rq, struct str key)
{
	struct question q = {.id = unquoted(key), .plain = true, .wrapped = true};
	int r;

	sha256_of(rq->body, q.digest);
	r = ask(api, rq, &q);
	if (r)
		once_refuse(rq, r);
}

bool once_execute_event(struct api *api, struct request *rq, struct json_val event)
{
	char id[LEDGER_ID_MAX + 1], digest_hex[SHA256_HEX + 1];
	struct question q = {.plain = true, .wrapped = true, .quiet = true};
	int64_t number;

	if (json_i64(json_get(event, "id"), &number) < 0 || number < 0 ||
		json_type(json_get(event, "timestamp")) != JSON_STRING)
		return false;
	sha256_of(rq->body, q.digest);
	hex_encode(q.digest, sizeof(q.digest), digest_hex);
	snprintf(id, sizeof(id), "event-%" PRId64 "-%.32s", number, digest_hex);
	q.id = str_c(id);
	return ask(api, rq, &q) == 0;
}

/* False: the request is answered. */
static bool read_wait(struct request *rq, uint64_t *ms)
{
	static const struct param wait = {"wait", PARAM_NUMBER, .max = ONCE_WAIT_MAX_S};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	uint64_t s = 0;
	int r = params_take(&p, &wait, 1, &s);

	if (r)
		api_refuse(rq, (unsigned)r, p.wrong);
	*ms = s * 1000;
	return r == 0;
}

void once_put(struct api *api, struct request *rq, struct str id)
{
	static const char *const words[] = {"continue", "cancel", NULL};
	static const struct param params[] = {
		{"wait", PARAM_NUMBER, .at = offsetof(struct question, wait_ms),
			.max = ONCE_WAIT_MAX_S},
		{"on_disconnect", PARAM_CHOICE, .at = offsetof(struct question, leaves),
			.words = words},
		{"grace_ms", PARAM_NUMBER, .at = offsetof(struct question, grace_ms),
			.max = ONCE_WAIT_MAX_S * 1000},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct question q = {.id = id, .grace_ms = ONCE_GRACE_MS};
	int r = params_take(&p, params, ARRAY_LEN(params), &q);

	if (r) {
		api_refuse(rq, (unsigned)r, p.wrong);
		return;
	}
	q.wait_ms *= 1000;
	sha256_of(rq->body, q.digest);
	r = ask(api, rq, &q);
	if (r)
		once_refuse(rq, r);
}

struct ledger_entry *once_find(struct once *o, struct request *rq, struct str id)
{
	struct ledger_entry *e;
	int r = once_make_ready(o);

	if (r) {
		once_refuse(rq, r);
		return NULL;
	}
	switch (ledger_find(&o->ledger, id, &e)) {
	case LEDGER_NEW:
		request_fail(rq, 404, STR("There is no action of this id."));
		return NULL;
	case LEDGER_GONE:
		request_fail(rq, 410, STR(gone_words));
		return NULL;
	default:
		return e;
	}
}

void once_get(struct api *api, struct request *rq, struct str id)
{
	struct ledger_entry *e;
	uint64_t ms;

	if (!read_wait(rq, &ms))
		return;
	e = once_find(api->once, rq, id);
	if (!e)
		return;
	if (ms && !once_has_ended(e) && e->owner)
		once_wait(e->owner, rq, false, ms);
	else
		once_reply_state(api->once, rq, e, once_has_ended(e) ? 200 : 202, true);
}

void once_ack(struct api *api, struct request *rq, struct str id)
{
	struct ledger_entry *e = once_find(api->once, rq, id);
	int r;

	if (!e)
		return;
	if (!once_has_ended(e)) {
		request_fail(rq, 409, STR("This action has not ended."));
		return;
	}
	r = ledger_ack(&api->once->ledger, e);
	if (r < 0)
		once_refuse(rq, r);
	else
		once_reply_state(api->once, rq, e, 200, true);
}

/* --- The end ------------------------------------------------------------------ */

void once_cut(struct once *o)
{
	for (struct doing *d = o->doings; d; d = d->next)
		while (d->askers)
			once_answer(d->askers);
	once_cut_readers(o);
}

void once_del(struct once *o)
{
	if (!o)
		return;
	while (o->doings)
		once_free(o->doings);
	timer_cancel(o->box->loop, &o->wake);
	timer_cancel(o->box->loop, &o->tidy);
	if (o->open)
		ledger_close(&o->ledger);
	outputs_close(&o->outputs);
	fd_close(&o->outputs_fd);
	fd_close(&o->dir);
	free(o);
}
