/* Events: records of the journal like others; the last EVENTS_MAX are kept. */
#include "action/ledger/ledger_private.h"

#include "base/clock.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORD_MAX = 128 };

static uint64_t *ledger_get_event_slot(const struct ledger *l, uint64_t seq)
{
	return &l->events[seq % EVENTS_MAX];
}

static uint64_t *ledger_events_new(void)
{
	return calloc(EVENTS_MAX, sizeof(uint64_t));
}

int ledger_index_event(struct ledger *l, uint64_t seq, uint64_t at)
{
	if (!l->events)
		l->events = ledger_events_new();
	if (!l->events)
		return -ENOMEM;
	/* If numbers are missing before seq, the earlier events are dropped. */
	l->events_n = seq == l->event + 1 ? l->events_n + 1 : 1;
	if (l->events_n > EVENTS_MAX)
		l->events_n = EVENTS_MAX;
	l->event = seq;
	*ledger_get_event_slot(l, seq) = at;
	return 0;
}

void ledger_undo_events(struct ledger *l, uint64_t seq)
{
	uint64_t n = l->event - seq;

	l->events_n -= l->events_n < n ? l->events_n : (size_t)n;
	l->event = seq;
}

void ledger_post_event(
	struct ledger *l, enum ledger_kind kind, uint8_t state, struct str name)
{
	struct ledger_event e = {
		.seq = l->event + 1,
		.time = (uint64_t)clock_unix_s(),
		.kind = kind,
		.state = state,
	};
	uint64_t at;

	memcpy(e.name, name.p, name.n < LEDGER_ID_MAX ? name.n : LEDGER_ID_MAX);
	if (ledger_add_event(l, &e, &at) < 0 || ledger_index_event(l, e.seq, at) < 0)
		return;
}

void ledger_post_state(struct ledger *l, struct ledger_entry *e)
{
	ledger_post_event(l, LEDGER_EVENT_ACTION, (uint8_t)e->state, str_c(e->id));
	l->unposted = NULL;
}

uint64_t ledger_first_event(const struct ledger *l)
{
	return l->event - l->events_n + 1;
}

int ledger_read_event(const struct ledger *l, uint64_t seq, struct ledger_event *e)
{
	char record[RECORD_MAX];
	uint64_t at = *ledger_get_event_slot(l, seq), left = l->journal.size - at;
	size_t n = left < RECORD_MAX ? (size_t)left : RECORD_MAX;
	int r = journal_read(&l->journal, at, record, n);

	if (!r)
		*e = ledger_parse_event(str_make(record, n));
	return r;
}

int ledger_set_lease(struct ledger *l, uint64_t lease)
{
	uint64_t before = l->lease;
	char name[24];
	int r;

	if (lease <= before)
		return lease < before ? ERR_RANGE : 0;
	l->lease = lease;
	r = ledger_add_lease(l);
	if (r) {
		l->lease = before;
		return r;
	}
	snprintf(name, sizeof(name), "%llu", (unsigned long long)lease);
	ledger_post_event(l, LEDGER_EVENT_LEASE, 1, str_c(name));
	return 0;
}
