/*
 * Inside the ledger, which is one struct: the file and what memory holds of it. The
 * journal (journal.h) and an output (output.h) are objects with their own headers. The
 * files, from the bottom up, except that a removed entry is reported to ledger_shrink.c:
 *
 *   ledger_table.c   the entries in memory
 *   ledger_record.c  the layout of each record: adds it, and reads it again
 *   ledger_output.c  outputs of entries
 *   ledger_event.c   events, which follow the states of entries
 *   ledger_shrink.c  copies what is needed to a new file
 *   ledger.c         the functions of ledger.h
 */
#ifndef ACTION_LEDGER_LEDGER_PRIVATE_H
#define ACTION_LEDGER_LEDGER_PRIVATE_H

#include "action/ledger/ledger.h"

/* ledger_table.c: the entries in memory. */
void ledger_make_key(struct str id, uint8_t key[LEDGER_KEY]);
bool ledger_is_open(const struct ledger_entry *e);
/* The slot of a key, or the empty slot for it; NULL in an empty table. */
struct ledger_slot *ledger_find_slot(
	const struct ledger *l, const uint8_t key[LEDGER_KEY]);
void ledger_drop_slot(struct ledger *l, const uint8_t key[LEDGER_KEY]);
/* Makes an entry in state accepted, which becomes the newest: 0 or -ENOMEM. */
int ledger_entry_new(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	uint64_t seq, struct ledger_entry **made) MUST_USE;
void ledger_set_state(struct ledger *l, struct ledger_entry *e, enum ledger_state to);
/* Removes an entry from the list; its slot stays. */
void ledger_unlink(struct ledger *l, struct ledger_entry *e);
/* Records a used id without an entry, in the place of the oldest: 0 or -ENOMEM. */
int ledger_insert_evicted(struct ledger *l, const uint8_t key[LEDGER_KEY]) MUST_USE;

/* ledger_record.c: adds records, 0 or as of journal_add; and reads each of them again. */
int ledger_add_box(struct ledger *l) MUST_USE;
int ledger_add_accept(struct ledger *l, const struct ledger_entry *e) MUST_USE;
/* With the request, whose offset is stored in e. */
int ledger_add_queue(
	struct ledger *l, struct ledger_entry *e, struct str request) MUST_USE;
int ledger_add_start(struct ledger *l, const struct ledger_entry *e) MUST_USE;
/* *at: the offset of the answer. */
int ledger_add_end(struct ledger *l, const struct ledger_entry *e, enum ledger_state how,
	unsigned status, struct str answer, uint64_t *at) MUST_USE;
/* Records that the output is complete. */
int ledger_add_output(struct ledger *l, const struct ledger_entry *e) MUST_USE;
int ledger_add_cancel(struct ledger *l, const struct ledger_entry *e) MUST_USE;
int ledger_add_event(
	struct ledger *l, const struct ledger_event *e, uint64_t *at) MUST_USE;
int ledger_add_lease(struct ledger *l) MUST_USE;
int ledger_add_ack(struct ledger *l, const struct ledger_entry *e) MUST_USE;
int ledger_add_evicted(struct ledger *l, const uint8_t key[LEDGER_KEY]) MUST_USE;
/* Records that all records before this one have their events. */
int ledger_add_posted(struct ledger *l) MUST_USE;
int ledger_read_record(void *ctx, const struct journal_entry *j) MUST_USE;

/*
 * ledger_output.c: to be called before an end, and when the output is not needed any
 * more.
 */
void ledger_close_output(struct ledger *l, struct ledger_entry *e);
void ledger_drop_output(struct ledger *l, struct ledger_entry *e);

/* ledger_event.c: adds the event that an entry has reached its state. */
void ledger_post_state(struct ledger *l, struct ledger_entry *e);
/* Notes the offset of the next event's record, whose number was read. */
int ledger_index_event(struct ledger *l, uint64_t seq, uint64_t at) MUST_USE;
/* Removes the last events, so that seq is the number of the last one. */
void ledger_undo_events(struct ledger *l, uint64_t seq);
struct ledger_event ledger_parse_event(struct str record);

/*
 * ledger.c: locks the file against other processes that would write to it: 0; -EBUSY:
 * another one has the lock at the deadline. Copies of the descriptor share the lock.
 */
int ledger_lock_file(int fd, uint64_t deadline) MUST_USE;

/* ledger_shrink.c: an entry is removed; the new file is given up. */
void ledger_shrink_skip_entry(struct ledger *l, const struct ledger_entry *e);
void ledger_shrink_stop(struct ledger *l);

#endif
