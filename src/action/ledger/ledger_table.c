#include "action/ledger/ledger_private.h"

#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { SLOTS_FIRST = 64 };

void ledger_make_key(struct str id, uint8_t key[LEDGER_KEY])
{
	uint8_t digest[SHA256_LEN];

	sha256_compute(id, digest);
	memcpy(key, digest, LEDGER_KEY);
}

bool ledger_is_id(struct str id)
{
	if (id.n < 1 || id.n > LEDGER_ID_MAX)
		return false;
	for (size_t i = 0; i < id.n; i++) {
		char c = id.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
			!(c >= '0' && c <= '9') && c != '-' && c != '_')
			return false;
	}
	return true;
}

bool ledger_is_open(const struct ledger_entry *e)
{
	return e->state == LEDGER_ACCEPTED || e->state == LEDGER_STARTED;
}

/* --- The table ---------------------------------------------------------------- */

/* The slot of a key, or the empty slot for it. The table always has an empty slot. */
static size_t ledger_find_slot_index(
	const struct ledger *l, const uint8_t key[LEDGER_KEY])
{
	size_t at;

	memcpy(&at, key, sizeof(at));
	at &= l->slots_n - 1;
	while (l->slots[at].what != LEDGER_ABSENT &&
		memcmp(l->slots[at].key, key, LEDGER_KEY) != 0)
		at = (at + 1) & (l->slots_n - 1);
	return at;
}

struct ledger_slot *ledger_find_slot(
	const struct ledger *l, const uint8_t key[LEDGER_KEY])
{
	return l->slots_n ? &l->slots[ledger_find_slot_index(l, key)] : NULL;
}

static struct ledger_slot *ledger_slots_new(size_t n)
{
	return calloc(n, sizeof(struct ledger_slot));
}

static int ledger_grow_slots(struct ledger *l)
{
	struct ledger_slot *old = l->slots;
	size_t old_n = l->slots_n;

	if (old && (l->used + 1) * 4 <= old_n * 3)
		return 0;
	l->slots_n = old_n ? 2 * old_n : SLOTS_FIRST;
	l->slots = ledger_slots_new(l->slots_n);
	if (!l->slots) {
		l->slots = old;
		l->slots_n = old_n;
		return -ENOMEM;
	}
	for (size_t i = 0; old && i < old_n; i++)
		if (old[i].what != LEDGER_ABSENT)
			l->slots[ledger_find_slot_index(l, old[i].key)] = old[i];
	free(old);
	return 0;
}

/* Moves up the slots behind the removed one, so that a search meets no gap. */
void ledger_drop_slot(struct ledger *l, const uint8_t key[LEDGER_KEY])
{
	size_t hole = ledger_find_slot_index(l, key), mask = l->slots_n - 1;

	if (l->slots[hole].what == LEDGER_ABSENT)
		return;
	l->used--;
	for (size_t at = (hole + 1) & mask; l->slots[at].what != LEDGER_ABSENT;
		at = (at + 1) & mask) {
		size_t home;

		memcpy(&home, l->slots[at].key, sizeof(home));
		home &= mask;
		/*
		 * Only a slot whose home is not between the hole and here may be moved.
		 */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			l->slots[hole] = l->slots[at];
			hole = at;
		}
	}
	l->slots[hole] = (struct ledger_slot){0};
}

static int ledger_put_slot(struct ledger *l, const uint8_t key[LEDGER_KEY],
	enum ledger_find what, struct ledger_entry *e)
{
	struct ledger_slot made = {.what = what, .entry = e};

	memcpy(made.key, key, LEDGER_KEY);
	if (!l->slots || l->slots[ledger_find_slot_index(l, key)].what == LEDGER_ABSENT) {
		if (ledger_grow_slots(l) < 0)
			return -ENOMEM;
		l->used++;
	}
	l->slots[ledger_find_slot_index(l, key)] = made;
	return 0;
}

enum ledger_find ledger_find(
	const struct ledger *l, struct str id, struct ledger_entry **e)
{
	uint8_t key[LEDGER_KEY];
	const struct ledger_slot *slot;

	ledger_make_key(id, key);
	slot = ledger_find_slot(l, key);
	*e = slot ? slot->entry : NULL;
	return slot ? slot->what : LEDGER_ABSENT;
}

/* --- Entries ------------------------------------------------------------------ */

static void ledger_link_newest(struct ledger *l, struct ledger_entry *e)
{
	e->older = l->newest;
	if (l->newest)
		l->newest->newer = e;
	else
		l->oldest = e;
	l->newest = e;
	l->entries++;
	l->open++;
}

void ledger_unlink(struct ledger *l, struct ledger_entry *e)
{
	ledger_shrink_skip_entry(l, e);
	*(e->older ? &e->older->newer : &l->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &l->newest) = e->older;
	l->entries--;
	l->open -= ledger_is_open(e);
	l->answers -= e->n;
	l->request_bytes -= e->request_n;
	if (l->unposted == e)
		l->unposted = NULL;
}

void ledger_set_state(struct ledger *l, struct ledger_entry *e, enum ledger_state to)
{
	static const bool legal[LEDGER_STATES][LEDGER_STATES] = {
		[LEDGER_ACCEPTED] = {[LEDGER_STARTED] = true,
			[LEDGER_DONE] = true,
			[LEDGER_CANCELLED] = true},
		[LEDGER_STARTED] = {[LEDGER_DONE] = true, [LEDGER_INTERRUPTED] = true},
	};

	assert(legal[e->state][to]);
	e->state = to;
	if (ledger_is_open(e))
		return;
	l->open--;
	l->request_bytes -= e->request_n;
	e->request_n = 0;
}

static void *ledger_evicted_new(void)
{
	return calloc(LEDGER_GONE_MAX, LEDGER_KEY);
}

int ledger_insert_evicted(struct ledger *l, const uint8_t key[LEDGER_KEY])
{
	uint8_t(*at)[LEDGER_KEY];

	if (!l->evicted)
		l->evicted = ledger_evicted_new();
	if (!l->evicted || ledger_put_slot(l, key, LEDGER_EVICTED, NULL) < 0)
		return -ENOMEM;
	at = &l->evicted[l->evicted_total++ % LEDGER_GONE_MAX];
	if (l->evicted_n == LEDGER_GONE_MAX)
		ledger_drop_slot(l, *at);
	else
		l->evicted_n++;
	memcpy(*at, key, LEDGER_KEY);
	return 0;
}

int ledger_entry_new(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	uint64_t seq, struct ledger_entry **made)
{
	struct ledger_entry *e = calloc(1, sizeof(*e));
	uint8_t key[LEDGER_KEY];

	ledger_make_key(id, key);
	if (!e || ledger_put_slot(l, key, LEDGER_PRESENT, e) < 0) {
		free(e);
		return -ENOMEM;
	}
	memcpy(e->id, id.p, id.n);
	memcpy(e->body, body, SHA256_LEN);
	e->seq = seq;
	e->boot = l->boot;
	ledger_link_newest(l, e);
	*made = e;
	return 0;
}
