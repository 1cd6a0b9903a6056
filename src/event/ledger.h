/*
 * What is known of actions that have an id: which were accepted, which have started, how
 * they ended. By it an action that is asked for again is answered, and not done again.
 * Each step is in the journal before anybody is told of it.
 *
 * Entries end as they began, oldest first, when there are too many: whose answer was
 * acknowledged before the others, none that has not ended. What is left of them is that
 * the id was used, for LEDGER_GONE_MAX ids.
 */
#ifndef EVENT_LEDGER_H
#define EVENT_LEDGER_H

#include "base/buf.h"
#include "base/hash.h"
#include "event/journal.h"
#include "event/output.h"

enum { LEDGER_ID_MAX = 64, LEDGER_KEY = 16, LEDGER_CANCEL_MAX = 3 };

enum ledger_state {
	LEDGER_ACCEPTED,    /* it waits for its turn */
	LEDGER_STARTED,     /* it may have had an effect */
	LEDGER_DONE,        /* with an answer */
	LEDGER_CANCELLED,   /* it was never started */
	LEDGER_INTERRUPTED, /* how it ended was not seen */
	LEDGER_STATES
};

/* What a new file, which is being written, has of an entry. */
struct ledger_copy {
	uint64_t at, ask_at; /* as those of the entry, there */
	bool accepted, started, told, ended, acked;
	uint8_t cancel;
};

struct ledger_entry {
	char id[LEDGER_ID_MAX + 1];
	uint8_t body[SHA256_LEN]; /* digest of what was asked for */
	enum ledger_state state;
	bool acked;
	uint8_t cancel;  /* how its end was asked for; the caller's, 0: it was not */
	uint32_t boot;   /* in which it was accepted or, later, started */
	unsigned status; /* of the answer, as HTTP has it */
	uint64_t at, n;  /* the answer in the journal */
	uint64_t ask_at, ask_n; /* the request there, until it has ended; 0: not kept */
	uint8_t ask_how;        /* the caller's */
	struct output *output;  /* what it prints; NULL: nothing, or not kept */
	uint64_t out_n;         /* when it has ended: bytes of that... */
	uint8_t out_sha[SHA256_LEN]; /* ...and their digest, if there are any */
	uint64_t begun;              /* monotonic ms, in boot */
	uint64_t seq;                /* the order of being accepted, from 1 */
	void *owner;                 /* who does it; the caller's */
	struct ledger_copy copy;
	struct ledger_entry *newer, *older;
};

/* What happens, in the order in which it does, for who follows it. */
enum ledger_kind {
	LEDGER_EVENT_BOOT = 1, /* a new start of the box; its number is the name */
	LEDGER_EVENT_ACTION,   /* an action is in this state now; its id is the name */
	LEDGER_EVENT_CANCEL,   /* its end was asked for */
	LEDGER_EVENT_SESSION,  /* a session is there, if state is not 0, or gone */
	LEDGER_EVENT_LEASE,    /* somebody has taken over; the lease is the name */
	LEDGER_EVENT_KINDS
};

struct ledger_event {
	uint64_t seq;  /* from 1, without gaps */
	uint64_t time; /* seconds since 1970 */
	enum ledger_kind kind;
	uint8_t state; /* enum ledger_state, or as above */
	char name[LEDGER_ID_MAX + 1];
};

enum ledger_find {
	LEDGER_NEW,  /* never heard of */
	LEDGER_HERE, /* with its entry */
	LEDGER_GONE, /* it was done; its answer is not kept any more */
};

/* Of a hash table, open addressing: an id by its digest. */
struct ledger_slot {
	uint8_t key[LEDGER_KEY];
	enum ledger_find what; /* LEDGER_NEW: empty */
	struct ledger_entry *entry;
};

struct ledger {
	struct journal journal;
	int dir;          /* of the journal, the caller's; -1: it is in memory */
	const char *name; /* in dir */
	bool sync;
	uint32_t boot; /* 1 at the first start of the box */
	char box[2 * LEDGER_KEY + 1];
	struct ledger_slot *slots; /* ids by their digests */
	size_t slots_n, used;
	struct ledger_entry *oldest, *newest;
	size_t entries, open; /* of these: that have not ended */
	uint64_t answers;     /* bytes of answers in entries */
	uint64_t asks;        /* bytes of requests in entries */
	uint64_t seq;
	uint8_t (*gone)[LEDGER_KEY]; /* a ring of used ids without entries */
	size_t gone_n;
	uint64_t gone_all; /* that were ever put there: the ring goes on with it */
	uint64_t *events;  /* a ring: where the records of the last ones lie */
	size_t events_n;   /* in it: EVENTS_MAX at most */
	uint64_t event;    /* number of the last one */
	struct ledger_entry *untold; /* its last record has no event yet */
	uint64_t lease;              /* the highest one that was shown */
	struct outputs *outputs;     /* the caller's; NULL: they are not kept */
	struct shrink *shrink;       /* a new file, which is being written; or NULL */
	uint64_t shrink_from;        /* size of the journal that one may be written at */
	bool moved; /* the journal is another file now; the caller clears it */
};

/*
 * Opens the ledger in the file name of the folder dir, or, with fd, which is taken over
 * in any case, the one that an earlier process of this boot has had open. dir -1, or a
 * file of that process that has no name: it lives in memory. In a new boot what had
 * started is interrupted. *torn: bytes at the end that were not whole and are kept
 * beside it as NAME.torn. 0, ERR_VERSION, -errno; -EBUSY: another box writes to it.
 */
int ledger_open(struct ledger *l, int dir, const char *name, int fd, bool sync,
	uint64_t *torn) MUST_USE;
void ledger_close(struct ledger *l);

/* 1 to LEDGER_ID_MAX of A-Z a-z 0-9 - and _. */
bool ledger_is_id(struct str id);
enum ledger_find ledger_find(
	const struct ledger *l, struct str id, struct ledger_entry **e);

/*
 * A new id, whose request has this digest: 0; ERR_LIMIT when too many have not ended;
 * -ENOMEM, or -errno of the journal, and it is not accepted.
 */
int ledger_accept(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	struct ledger_entry **e) MUST_USE;
/*
 * The same, and the request is kept with it until it ends, so that one that waits is
 * done after a crash, too. ERR_LIMIT also when these have too many bytes.
 */
int ledger_queue(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	uint8_t how, struct str request, struct ledger_entry **e) MUST_USE;
/* Appends that request to out: 0 or -errno, ERR_CLOSED. */
int ledger_request(
	const struct ledger *l, const struct ledger_entry *e, struct buf *out) MUST_USE;
/* Before anything of it is done: 0, or -errno, and it must not be. */
int ledger_start(struct ledger *l, struct ledger_entry *e) MUST_USE;
/* Both: 0, or as of ledger_accept, and the id stays as new as it was. */
int ledger_begin(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	struct ledger_entry **e) MUST_USE;
/* Its end was asked for, in this way, 1 to LEDGER_CANCEL_MAX. 0, or as of journal_add. */
int ledger_cancel(struct ledger *l, struct ledger_entry *e, uint8_t how) MUST_USE;
/*
 * It has ended so, with this answer: 0; -errno or ERR_LIMIT when the answer cannot be
 * kept: then it has ended without one, and its status is 0.
 */
int ledger_end(struct ledger *l, struct ledger_entry *e, enum ledger_state how,
	unsigned status, struct str answer) MUST_USE;
/*
 * Outputs of an earlier process, or none: those of its entries are kept and continued,
 * others let go.
 */
void ledger_set_outputs(struct ledger *l, struct outputs *o);
/* One that has not ended has printed bytes; see output_add. */
void ledger_printed(
	struct ledger *l, struct ledger_entry *e, struct str bytes, uint64_t source);
/* One more event; what cannot be recorded is not told. name is cut to fit. */
void ledger_tell(struct ledger *l, enum ledger_kind kind, uint8_t state, struct str name);
/* The first event that is kept; one more than the last where there is none. */
uint64_t ledger_first_event(const struct ledger *l);
/* One of those: 0, or as of journal_read. */
int ledger_read_event(
	const struct ledger *l, uint64_t seq, struct ledger_event *e) MUST_USE;
/* Somebody shows a lease: 0; ERR_RANGE: a higher one was shown before; -errno. */
int ledger_show_lease(struct ledger *l, uint64_t lease) MUST_USE;
/* The one who asked has the answer, and what was printed. */
int ledger_ack(struct ledger *l, struct ledger_entry *e) MUST_USE;
/* Whether the file is large, and more than half of it does not count any more. */
bool ledger_is_large(const struct ledger *l);
/*
 * One step of writing such a file anew, or none. True: there is one more, which the
 * caller takes soon, and may do what he likes in between. A failure is no loss.
 */
bool ledger_shrink(struct ledger *l) MUST_USE;
/* Appends the answer to out: 0 or -errno, ERR_CLOSED. */
int ledger_answer(
	const struct ledger *l, const struct ledger_entry *e, struct buf *out) MUST_USE;
/* The same for n bytes of it, from an offset on; it has those. */
int ledger_answer_part(const struct ledger *l, const struct ledger_entry *e, uint64_t at,
	size_t n, struct buf *out) MUST_USE;

#endif
