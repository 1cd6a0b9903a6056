/* What the files of the ledger share. */
#ifndef EVENT_LEDGER_PRIVATE_H
#define EVENT_LEDGER_PRIVATE_H

#include "event/ledger.h"

/* ledger_table.c: what is in memory. */
void ledger_key(struct str id, uint8_t key[LEDGER_KEY]);
bool ledger_is_open(const struct ledger_entry *e);
/* The slot of a key, or the empty one where it belongs; NULL in an empty table. */
struct ledger_slot *ledger_look(const struct ledger *l, const uint8_t key[LEDGER_KEY]);
void ledger_drop_slot(struct ledger *l, const uint8_t key[LEDGER_KEY]);
/* A new one, accepted, which is the newest: 0 or -ENOMEM. */
int ledger_entry_new(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	uint64_t seq, struct ledger_entry **made) MUST_USE;
void ledger_enter(struct ledger *l, struct ledger_entry *e, enum ledger_state to);
/* It counts no more; its slot stays. */
void ledger_unlink(struct ledger *l, struct ledger_entry *e);
/* A used id without an entry, in the place of the oldest: 0 or -ENOMEM. */
int ledger_remember_gone(struct ledger *l, const uint8_t key[LEDGER_KEY]) MUST_USE;

/* ledger_record.c: the records, 0 or as of journal_add; and each of them read again. */
int ledger_add_box(struct ledger *l) MUST_USE;
int ledger_add_accept(struct ledger *l, const struct ledger_entry *e) MUST_USE;
/* With the request, whose place is noted. */
int ledger_add_queue(
	struct ledger *l, struct ledger_entry *e, struct str request) MUST_USE;
int ledger_add_start(struct ledger *l, const struct ledger_entry *e) MUST_USE;
/* *at: the place of the answer. */
int ledger_add_end(struct ledger *l, const struct ledger_entry *e, enum ledger_state how,
	unsigned status, struct str answer, uint64_t *at) MUST_USE;
/* What it has printed is complete. */
int ledger_add_output(struct ledger *l, const struct ledger_entry *e) MUST_USE;
int ledger_add_cancel(struct ledger *l, const struct ledger_entry *e) MUST_USE;
int ledger_add_event(
	struct ledger *l, const struct ledger_event *e, uint64_t *at) MUST_USE;
int ledger_add_lease(struct ledger *l) MUST_USE;
int ledger_add_ack(struct ledger *l, const struct ledger_entry *e) MUST_USE;
int ledger_add_gone(struct ledger *l, const uint8_t key[LEDGER_KEY]) MUST_USE;
/* All that stands before has its events. */
int ledger_add_told(struct ledger *l) MUST_USE;
int ledger_read_record(void *ctx, const struct journal_entry *j) MUST_USE;

/* ledger_output.c: before an end, and when its bytes are of no use any more. */
void ledger_close_output(struct ledger *l, struct ledger_entry *e);
void ledger_drop_output(struct ledger *l, struct ledger_entry *e);

/* ledger_event.c: an entry has reached its state. */
void ledger_tell_entry(struct ledger *l, struct ledger_entry *e);
/* The record of the next event lies there; its number was read. */
int ledger_note_event(struct ledger *l, uint64_t seq, uint64_t at) MUST_USE;
/* Takes back the last ones, so that this is the last. */
void ledger_untell(struct ledger *l, uint64_t seq);
struct ledger_event ledger_event_of(struct str record);

/*
 * ledger.c: no other process may write to that file while it is open: 0; -EBUSY: one
 * does at the deadline. Copies of the descriptor hold the lock as well.
 */
int ledger_claim(int fd, uint64_t deadline) MUST_USE;

/* ledger_shrink.c: an entry is there no more; nor is the new file wanted. */
void ledger_shrink_pass(struct ledger *l, const struct ledger_entry *e);
void ledger_shrink_stop(struct ledger *l);

#endif
