/*
 * Record of the actions that have an id: which were accepted, which have started, how
 * they ended. If a client repeats a request, the ledger has the answer, and the action is
 * not repeated. Each step is in the journal before any client is informed of it.
 *
 * When there are too many entries, ended ones are removed, oldest first, those with an
 * acknowledged answer before the others; entries that have not ended stay. For a removed
 * entry the ledger still records that the id was used, for LEDGER_GONE_MAX ids.
 */
#ifndef ACTION_LEDGER_LEDGER_H
#define ACTION_LEDGER_LEDGER_H

#include "action/ledger/journal.h"
#include "action/ledger/output.h"
#include "base/buf.h"
#include "base/hash.h"

enum { LEDGER_ID_MAX = 64, LEDGER_KEY = 16, LEDGER_CANCEL_MAX = 3 };

enum ledger_state {
	LEDGER_ACCEPTED,    /* waits for its turn */
	LEDGER_STARTED,     /* it may have had an effect */
	LEDGER_DONE,        /* has an answer */
	LEDGER_CANCELLED,   /* it was never started */
	LEDGER_INTERRUPTED, /* its result was lost */
	LEDGER_STATES
};

/* The members of an entry that a new file, which is being written, already has. */
struct ledger_copy {
	uint64_t at, request_at; /* as those of the entry, in the new file */
	bool accepted, started, has_output, ended, acked;
	uint8_t cancel;
};

struct ledger_entry {
	char id[LEDGER_ID_MAX + 1];
	uint8_t body[SHA256_LEN]; /* digest of the request */
	enum ledger_state state;
	bool acked;
	/*
	 * the way in which its end was requested, defined by the caller; 0: not requested
	 */
	uint8_t cancel;
	uint32_t boot;   /* boot in which it was accepted or, later, started */
	unsigned status; /* of the answer, as HTTP has it */
	uint64_t at, n;  /* the answer in the journal */
	uint64_t request_at,
		request_n;     /* the request there, until it has ended; 0: not kept */
	uint8_t request_kind;  /* defined by the caller */
	struct output *output; /* its output; NULL: none, or not kept */
	uint64_t out_n;        /* when it has ended: bytes of the output... */
	uint8_t out_sha[SHA256_LEN]; /* ...and their digest, if there are any */
	uint64_t begun;              /* monotonic ms, in boot */
	uint64_t seq;                /* the order of being accepted, from 1 */
	void *owner;                 /* its executor; defined by the caller */
	struct ledger_copy copy;
	struct ledger_entry *newer, *older;
};

/* Events, in the order in which they happen, for clients that follow them. */
enum ledger_kind {
	LEDGER_EVENT_BOOT = 1, /* a new start of the sandbox; its number is the name */
	LEDGER_EVENT_ACTION,   /* an action is in this state now; its id is the name */
	LEDGER_EVENT_CANCEL,   /* the end of the action was requested */
	LEDGER_EVENT_SESSION,  /* a session was made, if state is not 0, or deleted */
	LEDGER_EVENT_LEASE,    /* a client has taken over; the lease is the name */
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
	LEDGER_ABSENT,  /* not in the ledger */
	LEDGER_PRESENT, /* has an entry */
	LEDGER_EVICTED, /* was used; its answer is not kept any more */
};

/* An entry of a hash table with open addressing: an id by its digest. */
struct ledger_slot {
	uint8_t key[LEDGER_KEY];
	enum ledger_find what; /* LEDGER_ABSENT: empty */
	struct ledger_entry *entry;
};

struct ledger {
	struct journal journal;
	int dir;          /* of the journal, the caller's; -1: it is in memory */
	const char *name; /* in dir */
	bool sync;
	uint32_t boot; /* 1 at the first start of the sandbox */
	char box[2 * LEDGER_KEY + 1];
	struct ledger_slot *slots; /* ids by their digests */
	size_t slots_n, used;
	struct ledger_entry *oldest, *newest;
	size_t entries, open;   /* of entries: those that have not ended */
	uint64_t answers;       /* bytes of answers in entries */
	uint64_t request_bytes; /* bytes of requests in entries */
	uint64_t seq;
	uint8_t (*evicted)[LEDGER_KEY]; /* a ring of used ids without entries */
	size_t evicted_n;
	uint64_t evicted_total; /* ids put there so far; the ring continues here */
	uint64_t *events;       /* a ring: where the records of the last events lie */
	size_t events_n;        /* events in the ring: EVENTS_MAX at most */
	uint64_t event;         /* number of the last event */
	struct ledger_entry *unposted; /* its last record has no event yet */
	uint64_t lease;                /* the highest lease that a client has shown */
	struct outputs *outputs;       /* the caller's; NULL: they are not kept */
	struct shrink *shrink;         /* a new file, which is being written; or NULL */
	/* size of the journal at which a new file may be written */
	uint64_t shrink_from;
	bool moved; /* the journal is another file now; the caller clears this */
};

/*
 * Opens the ledger in the file name of the folder dir, or, with fd, which is taken over
 * in any case, the file that an earlier process of this boot had open. If dir is -1, or
 * if that file has no name, the ledger is in memory. In a new boot, started actions are
 * marked as interrupted. *torn: the number of bytes at the end that were no whole record;
 * they are saved beside the file as NAME.torn. 0, ERR_VERSION, -errno; -EBUSY: another
 * sandbox writes to the file.
 */
int ledger_open(struct ledger *l, int dir, const char *name, int fd, bool sync,
	uint64_t *torn) MUST_USE;
void ledger_close(struct ledger *l);

/* 1 to LEDGER_ID_MAX of A-Z a-z 0-9 - and _. */
bool ledger_is_id(struct str id);
enum ledger_find ledger_find(
	const struct ledger *l, struct str id, struct ledger_entry **e);

/*
 * Accepts a new id, whose request has this digest: 0; ERR_LIMIT when too many actions
 * have not ended; -ENOMEM, or -errno of the journal, and the id is not accepted.
 */
int ledger_accept(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	struct ledger_entry **e) MUST_USE;
/*
 * As ledger_accept; the request is kept until the action ends, so that a waiting action
 * is executed after a crash, too. ERR_LIMIT also when these requests have too many bytes.
 */
int ledger_queue(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	uint8_t how, struct str request, struct ledger_entry **e) MUST_USE;
/* Appends that request to out: 0 or -errno, ERR_CLOSED. */
int ledger_read_request(
	const struct ledger *l, const struct ledger_entry *e, struct buf *out) MUST_USE;
/* To be called before the action has an effect: 0; -errno: it must not have any. */
int ledger_start(struct ledger *l, struct ledger_entry *e) MUST_USE;
/* ledger_accept and ledger_start: 0, or as of ledger_accept, and the id is still new. */
int ledger_begin(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	struct ledger_entry **e) MUST_USE;
/*
 * Records that the end was requested, in this way, 1 to LEDGER_CANCEL_MAX. 0, or as of
 * journal_add.
 */
int ledger_cancel(struct ledger *l, struct ledger_entry *e, uint8_t how) MUST_USE;
/*
 * Ends an action in this state, with this answer: 0; -errno or ERR_LIMIT when the answer
 * cannot be kept: then the action has ended without an answer, and its status is 0.
 */
int ledger_end(struct ledger *l, struct ledger_entry *e, enum ledger_state how,
	unsigned status, struct str answer) MUST_USE;
/*
 * Outputs of an earlier process, or none. Outputs of existing entries are kept and
 * continued, the others are deleted.
 */
void ledger_set_outputs(struct ledger *l, struct outputs *o);
/* An action that has not ended has printed bytes; see output_add. */
void ledger_append_output(
	struct ledger *l, struct ledger_entry *e, struct str bytes, uint64_t source);
/* Adds an event. An event that cannot be recorded is dropped. name is cut to fit. */
void ledger_post_event(
	struct ledger *l, enum ledger_kind kind, uint8_t state, struct str name);
/* The number of the first event that is kept; last + 1 if none is kept. */
uint64_t ledger_first_event(const struct ledger *l);
/* Reads a kept event: 0, or as of journal_read. */
int ledger_read_event(
	const struct ledger *l, uint64_t seq, struct ledger_event *e) MUST_USE;
/* A client shows a lease: 0; ERR_RANGE: a higher one was shown before; -errno. */
int ledger_set_lease(struct ledger *l, uint64_t lease) MUST_USE;
/* The client has received the answer, and the output. */
int ledger_ack(struct ledger *l, struct ledger_entry *e) MUST_USE;
/* Whether the file is large, and more than half of it is obsolete. */
bool ledger_is_large(const struct ledger *l);
/*
 * Does the next step of rewriting a large file, if any. True: another step follows, which
 * the caller takes soon; other calls are legal in between. A failure loses no data.
 */
bool ledger_shrink(struct ledger *l) MUST_USE;
/* Appends the answer to out: 0 or -errno, ERR_CLOSED. */
int ledger_read_answer(
	const struct ledger *l, const struct ledger_entry *e, struct buf *out) MUST_USE;
/* As ledger_read_answer, for n bytes from an offset on, which must exist. */
int ledger_read_answer_part(const struct ledger *l, const struct ledger_entry *e,
	uint64_t at, size_t n, struct buf *out) MUST_USE;

#endif
