#include "action/ledger/ledger_private.h"

#include "limits.h"

#include <stdlib.h>

enum record {
	RECORD_BOX = 1, /* key of the sandbox, boot u32 */
	RECORD_ACCEPT,  /* seq u64, digest of the request, id */
	RECORD_START,   /* key of the id, boot u32, monotonic ms u64 */
	RECORD_END,     /* key, state u8, status u16, answer */
	RECORD_ACK,     /* key */
	RECORD_EVICT,   /* key */
	RECORD_CANCEL,  /* key, how u8 */
	RECORD_EVENT, /* number u64, time u64, kind u8, state u8, n u8, name of n bytes */
	RECORD_LEASE, /* u64 */
	RECORD_OUTPUT, /* key, bytes u64, their digest */
	RECORD_QUEUE,  /* seq u64, digest, how u8, n u8, id of n bytes, request */
	/* key of the sandbox: the records before this one have their events */
	RECORD_POSTED,
};

enum {
	BOX_LEN = LEDGER_KEY + 4,
	ACCEPT_LEN = 8 + SHA256_LEN,
	START_LEAST = LEDGER_KEY + 4, /* without a time, as in earlier versions */
	START_LEN = START_LEAST + 8,
	END_LEN = LEDGER_KEY + 3,
	QUEUE_LEN = ACCEPT_LEN + 2,
	EVENT_LEN = 19,
	OUTPUT_LEN = LEDGER_KEY + 8 + SHA256_LEN,
};

static void ledger_put_number(uint8_t *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t ledger_get_number(const char *p, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)(uint8_t)p[i] << (8 * i);
	return v;
}

/* --- Records ------------------------------------------------------------------ */

static int ledger_add_record(struct ledger *l, enum record type, const void *fixed,
	size_t n, struct str rest, bool sync, uint64_t *at)
{
	const struct str parts[] = {str_make(fixed, n), rest};

	return journal_add(
		&l->journal, (uint8_t)type, parts, ARRAY_LEN(parts), sync && l->sync, at);
}

int ledger_add_box(struct ledger *l)
{
	uint8_t fixed[BOX_LEN];
	uint64_t at;
	int r = hex_decode(str_c(l->box), fixed, LEDGER_KEY);

	ledger_put_number(fixed + LEDGER_KEY, l->boot, 4);
	return r ? r
		 : ledger_add_record(l, RECORD_BOX, fixed, sizeof(fixed), (struct str){0},
			   false, &at);
}

int ledger_add_accept(struct ledger *l, const struct ledger_entry *e)
{
	uint8_t fixed[ACCEPT_LEN];
	uint64_t at;

	ledger_put_number(fixed, e->seq, 8);
	memcpy(fixed + 8, e->body, SHA256_LEN);
	return ledger_add_record(
		l, RECORD_ACCEPT, fixed, sizeof(fixed), str_c(e->id), true, &at);
}

int ledger_add_queue(struct ledger *l, struct ledger_entry *e, struct str request)
{
	struct str id = str_c(e->id);
	uint8_t fixed[QUEUE_LEN];
	const struct str parts[] = {str_make((char *)fixed, QUEUE_LEN), id, request};
	uint64_t at;
	int r;

	ledger_put_number(fixed, e->seq, 8);
	memcpy(fixed + 8, e->body, SHA256_LEN);
	fixed[ACCEPT_LEN] = e->request_kind;
	fixed[ACCEPT_LEN + 1] = (uint8_t)id.n;
	r = journal_add(&l->journal, RECORD_QUEUE, parts, ARRAY_LEN(parts), l->sync, &at);
	if (!r) {
		e->request_at = at + QUEUE_LEN + id.n;
		e->request_n = request.n;
	}
	return r;
}

int ledger_add_start(struct ledger *l, const struct ledger_entry *e)
{
	uint8_t fixed[START_LEN];
	uint64_t at;

	ledger_make_key(str_c(e->id), fixed);
	ledger_put_number(fixed + LEDGER_KEY, e->boot, 4);
	ledger_put_number(fixed + START_LEAST, e->begun, 8);
	return ledger_add_record(
		l, RECORD_START, fixed, sizeof(fixed), (struct str){0}, false, &at);
}

int ledger_add_end(struct ledger *l, const struct ledger_entry *e, enum ledger_state how,
	unsigned status, struct str answer, uint64_t *at)
{
	uint8_t fixed[END_LEN];
	int r;

	ledger_make_key(str_c(e->id), fixed);
	fixed[LEDGER_KEY] = (uint8_t)how;
	ledger_put_number(fixed + LEDGER_KEY + 1, status, 2);
	r = ledger_add_record(l, RECORD_END, fixed, sizeof(fixed), answer, true, at);
	if (!r)
		*at += END_LEN;
	return r;
}

int ledger_add_cancel(struct ledger *l, const struct ledger_entry *e)
{
	uint8_t fixed[LEDGER_KEY + 1];
	uint64_t at;

	ledger_make_key(str_c(e->id), fixed);
	fixed[LEDGER_KEY] = e->cancel;
	return ledger_add_record(
		l, RECORD_CANCEL, fixed, sizeof(fixed), (struct str){0}, true, &at);
}

int ledger_add_event(struct ledger *l, const struct ledger_event *e, uint64_t *at)
{
	uint8_t fixed[EVENT_LEN];

	ledger_put_number(fixed, e->seq, 8);
	ledger_put_number(fixed + 8, e->time, 8);
	fixed[16] = (uint8_t)e->kind;
	fixed[17] = e->state;
	fixed[18] = (uint8_t)strlen(e->name);
	return ledger_add_record(
		l, RECORD_EVENT, fixed, sizeof(fixed), str_c(e->name), false, at);
}

struct ledger_event ledger_parse_event(struct str record)
{
	struct ledger_event e = {0};
	struct str name;

	if (record.n < EVENT_LEN)
		return e;
	name = str_skip(record, EVENT_LEN);
	e.seq = ledger_get_number(record.p, 8);
	e.time = ledger_get_number(record.p + 8, 8);
	e.kind = (uint8_t)record.p[16];
	e.state = (uint8_t)record.p[17];
	if (name.n > (uint8_t)record.p[18])
		name.n = (uint8_t)record.p[18];
	memcpy(e.name, name.p, name.n < LEDGER_ID_MAX ? name.n : LEDGER_ID_MAX);
	return e;
}

int ledger_add_lease(struct ledger *l)
{
	uint8_t fixed[8];
	uint64_t at;

	ledger_put_number(fixed, l->lease, 8);
	return ledger_add_record(
		l, RECORD_LEASE, fixed, sizeof(fixed), (struct str){0}, true, &at);
}

int ledger_add_output(struct ledger *l, const struct ledger_entry *e)
{
	uint8_t fixed[OUTPUT_LEN];
	uint64_t at;

	ledger_make_key(str_c(e->id), fixed);
	ledger_put_number(fixed + LEDGER_KEY, e->out_n, 8);
	memcpy(fixed + LEDGER_KEY + 8, e->out_sha, SHA256_LEN);
	return ledger_add_record(
		l, RECORD_OUTPUT, fixed, sizeof(fixed), (struct str){0}, false, &at);
}

int ledger_add_evicted(struct ledger *l, const uint8_t key[LEDGER_KEY])
{
	uint64_t at;

	return ledger_add_record(
		l, RECORD_EVICT, key, LEDGER_KEY, (struct str){0}, false, &at);
}

int ledger_add_posted(struct ledger *l)
{
	uint8_t key[LEDGER_KEY];
	uint64_t at;
	int r = hex_decode(str_c(l->box), key, LEDGER_KEY);

	return r ? r
		 : ledger_add_record(l, RECORD_POSTED, key, sizeof(key), (struct str){0},
			   false, &at);
}

int ledger_add_ack(struct ledger *l, const struct ledger_entry *e)
{
	uint8_t key[LEDGER_KEY];
	uint64_t at;

	ledger_make_key(str_c(e->id), key);
	return ledger_add_record(
		l, RECORD_ACK, key, sizeof(key), (struct str){0}, false, &at);
}

/* --- Reading the records -------------------------------------------------------- */

static struct ledger_entry *ledger_find_entry(const struct ledger *l, const char *key)
{
	const struct ledger_slot *slot = ledger_find_slot(l, (const uint8_t *)key);

	return slot ? slot->entry : NULL;
}

static int ledger_load_accept(struct ledger *l, struct str s)
{
	struct str id = str_skip(s, ACCEPT_LEN);
	uint64_t seq = ledger_get_number(s.p, 8);
	struct ledger_entry *e;
	int r;

	if (!ledger_is_id(id) || ledger_find(l, id, &e) == LEDGER_PRESENT)
		return 0;
	r = ledger_entry_new(l, id, (const uint8_t *)s.p + 8, seq, &e);
	if (r)
		return r;
	l->unposted = e;
	if (seq > l->seq)
		l->seq = seq;
	return 0;
}

static int ledger_load_queue(struct ledger *l, const struct journal_entry *j)
{
	const uint8_t *fixed = (const uint8_t *)j->peek.p;
	size_t id_n = fixed[ACCEPT_LEN + 1];
	struct str id = str_skip(j->peek, QUEUE_LEN);
	struct ledger_entry *e;
	uint64_t seq = ledger_get_number(j->peek.p, 8);
	int r;

	if (id.n < id_n)
		return 0;
	id.n = id_n;
	if (!ledger_is_id(id) || ledger_find(l, id, &e) == LEDGER_PRESENT)
		return 0;
	r = ledger_entry_new(l, id, fixed + 8, seq, &e);
	if (r)
		return r;
	e->request_kind = fixed[ACCEPT_LEN];
	e->request_at = j->at + QUEUE_LEN + id_n;
	e->request_n = j->n - QUEUE_LEN - id_n;
	l->request_bytes += e->request_n;
	l->unposted = e;
	if (seq > l->seq)
		l->seq = seq;
	return 0;
}

static void ledger_load_end(struct ledger *l, const struct journal_entry *j)
{
	struct ledger_entry *e = ledger_find_entry(l, j->peek.p);
	unsigned how = (uint8_t)j->peek.p[LEDGER_KEY];

	if (!e || !ledger_is_open(e) || how < LEDGER_DONE || how >= LEDGER_STATES)
		return;
	/* An action that ended before it started was refused or cancelled. */
	if (e->state == LEDGER_ACCEPTED && how == LEDGER_INTERRUPTED)
		return;
	if (e->state == LEDGER_STARTED && how == LEDGER_CANCELLED)
		return;
	ledger_set_state(l, e, how);
	l->unposted = e;
	e->status = (unsigned)ledger_get_number(j->peek.p + LEDGER_KEY + 1, 2);
	e->at = j->at + END_LEN;
	e->n = j->n - END_LEN;
	l->answers += e->n;
}

static int ledger_load_evicted(struct ledger *l, struct str s)
{
	struct ledger_entry *e = ledger_find_entry(l, s.p);

	if (e) {
		ledger_unlink(l, e);
		free(e);
	}
	return ledger_insert_evicted(l, (const uint8_t *)s.p);
}

static int ledger_load_event(struct ledger *l, const struct journal_entry *j)
{
	struct ledger_event e = ledger_parse_event(j->peek);

	/* An event number without a successor was not written by this program. */
	if (e.seq == 0 || e.seq >= INT64_MAX)
		return 0;
	if (e.kind == LEDGER_EVENT_ACTION)
		l->unposted = NULL;
	return ledger_index_event(l, e.seq, j->at);
}

/* Records of an unknown kind, or that are too short, come from another version. */
int ledger_read_record(void *ctx, const struct journal_entry *j)
{
	static const size_t least[] = {
		[RECORD_BOX] = BOX_LEN,
		[RECORD_ACCEPT] = ACCEPT_LEN + 1,
		[RECORD_START] = START_LEAST,
		[RECORD_END] = END_LEN,
		[RECORD_ACK] = LEDGER_KEY,
		[RECORD_EVICT] = LEDGER_KEY,
		[RECORD_QUEUE] = QUEUE_LEN + 1,
		[RECORD_OUTPUT] = OUTPUT_LEN,
		[RECORD_EVENT] = EVENT_LEN,
		[RECORD_LEASE] = 8,
		[RECORD_CANCEL] = LEDGER_KEY + 1,
		[RECORD_POSTED] = LEDGER_KEY,
	};
	struct ledger *l = ctx;
	struct ledger_entry *e;

	if (j->type >= ARRAY_LEN(least) || !least[j->type] || j->peek.n < least[j->type])
		return 0;
	switch (j->type) {
	case RECORD_BOX:
		hex_encode((const uint8_t *)j->peek.p, LEDGER_KEY, l->box);
		l->boot = (uint32_t)ledger_get_number(j->peek.p + LEDGER_KEY, 4);
		return 0;
	case RECORD_ACCEPT:
		return ledger_load_accept(l, j->peek);
	case RECORD_QUEUE:
		return ledger_load_queue(l, j);
	case RECORD_END:
		ledger_load_end(l, j);
		return 0;
	case RECORD_EVICT:
		return ledger_load_evicted(l, j->peek);
	case RECORD_EVENT:
		return ledger_load_event(l, j);
	case RECORD_POSTED:
		l->unposted = NULL;
		return 0;
	case RECORD_LEASE:
		l->lease = ledger_get_number(j->peek.p, 8);
		return 0;
	default:
		e = ledger_find_entry(l, j->peek.p);
	}
	if (e && j->type == RECORD_ACK) {
		e->acked = true;
	} else if (e && j->type == RECORD_CANCEL) {
		if ((uint8_t)j->peek.p[LEDGER_KEY] <= LEDGER_CANCEL_MAX)
			e->cancel = (uint8_t)j->peek.p[LEDGER_KEY];
	} else if (e && j->type == RECORD_OUTPUT) {
		e->out_n = ledger_get_number(j->peek.p + LEDGER_KEY, 8);
		memcpy(e->out_sha, j->peek.p + LEDGER_KEY + 8, SHA256_LEN);
	} else if (e && e->state == LEDGER_ACCEPTED) {
		ledger_set_state(l, e, LEDGER_STARTED);
		l->unposted = e;
		e->boot = (uint32_t)ledger_get_number(j->peek.p + LEDGER_KEY, 4);
		if (j->peek.n >= START_LEN)
			e->begun = ledger_get_number(j->peek.p + START_LEAST, 8);
	}
	return 0;
}
