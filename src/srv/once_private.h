/* What the files of once share. */
#ifndef SRV_ONCE_PRIVATE_H
#define SRV_ONCE_PRIVATE_H

#include "srv/once.h"
#include "srv/params.h"

/* Somebody who waits for the end of an action; in the request's arena. */
struct asker {
	struct asked asked;
	struct request *rq;
	struct doing *doing;
	struct asker *next;
	struct timer patience;
	bool plain; /* the answer itself is wanted, not what is known of the action */
};

/* An action on its way. */
struct doing {
	struct doing *next;
	struct once *once;
	struct ledger_entry *entry;
	struct act act;
	struct arena arena;
	struct buf body, out;
	struct asker *askers;
	struct timer end;
	struct timer harder; /* it has been told to end, and has not */
	struct timer leave;  /* nobody waits for it, and it is to end then */
	uint64_t grace_ms;   /* before that */
	bool leaves;
	unsigned unkept; /* status of an answer that the ledger has no room for; or 0 */
	int unread;      /* why the request is no action, as of act_start; or 0 */
	const char *why;
	bool attended; /* somebody has waited for the answer itself */
};

/* once.c: something has ended in the ledger, which may be too large by now. */
void once_tidy(struct once *o);

/* once.c: the entry of an id; NULL, and answered, when there is none. */
struct ledger_entry *once_find(struct once *o, struct request *rq, struct str id);
/* once.c: 0, or what keeps the ledger from being opened. */
int once_make_ready(struct once *o) MUST_USE;
/* once.c: answers why something cannot be recorded. */
void once_refuse(struct request *rq, int r);

/* once_reader.c: there may be more to read. */
void once_wake(struct once *o);
/* No more will be read. */
void once_cut_readers(struct once *o);

/* once_events.c: the members of an event, in an object that is open. */
void once_put_members(struct jw *w, const struct ledger_event *e);
/* One of a kind that is not known here was written by another version: ERR_SYNTAX. */
int once_read_event(const struct once *o, uint64_t seq, struct ledger_event *e) MUST_USE;

/* once_out.c: the bytes there are; of one that has ended there will be no more. */
uint64_t once_output_end(const struct ledger_entry *e);
/* How it has ended, and what its output is all in all: members of an open object. */
void once_put_end(struct jw *w, const struct ledger_entry *e);
/* As of output_read. */
int once_read_output(const struct once *o, const struct ledger_entry *e, uint64_t at,
	uint64_t max, struct buf *out, struct output_part *part) MUST_USE;

/* once_resume.c: what was started goes on, or was interrupted. */
void once_attach(struct once *o);

/* once_cancel.c */
/* How an action can be cancelled, by enum act_stop less one; NULL at the end. */
extern const char *const once_modes[];
/* Those who wait have left: it is cancelled, unless somebody comes in time. */
void once_leave(struct doing *d);
/* As POST .../cancel: 0, or what keeps it from being recorded; nothing is done then. */
int once_tell_to_end(struct once *o, struct ledger_entry *e, enum act_stop how) MUST_USE;
/* Tells it once more to end, in the way that is recorded. */
void once_stop(struct doing *d);

/* once_doing.c */
bool once_has_ended(const struct ledger_entry *e);
/* A state in a word; "" for one that is none. */
const char *once_state_word(unsigned state);
const char *once_word(const struct ledger_entry *e);
/* Answers as the action was answered first. */
void once_reply(const struct once *o, struct request *rq, const struct ledger_entry *e,
	bool again);
/*
 * Up to max bytes of the answer from an offset on: 0 with *all, how many there are;
 * negative when it cannot be read.
 */
int once_read_answer(const struct once *o, const struct ledger_entry *e, uint64_t at,
	size_t max, struct buf *out, uint64_t *all) MUST_USE;
/* Answers what is known of it. */
void once_reply_state(const struct once *o, struct request *rq,
	const struct ledger_entry *e, unsigned status, bool again);
/* Answers when it ends, or after ms; 0: as long as it takes. plain: as once_reply. */
void once_wait(struct doing *d, struct request *rq, bool plain, uint64_t ms);
/* Answers one of those who wait now, with what is known. */
void once_answer(struct asker *a);
/* How a request was made: bits of an entry's ask_how. */
enum {
	ASKED_WRAPPED = 1, /* the action is a member of the body */
	ASKED_LEAVES = 8,  /* it ends with those who wait for it */
	ASKED_QUIET = 4,   /* nobody knows its id: what it prints is not kept */
};
/* One that is not begun, with a copy of what was asked for; NULL out of memory. */
struct doing *once_doing_new(struct once *o, struct str body);
/* Reads that: 0; the status to refuse it with, and words for it in *p. */
int once_read(struct doing *d, uint8_t how, struct params *p) MUST_USE;
/* It is that of the entry. */
void once_own(struct doing *d, struct ledger_entry *e);
/* Begins it; its end follows, perhaps before this returns. */
void once_start(struct doing *d);
/* It has ended so, without an answer of its own. */
void once_end(struct doing *d, enum ledger_state how);
/* Goes on with what an earlier process has begun: 0 or ERR_CLOSED. */
int once_go_on(struct doing *d) MUST_USE;
void once_free(struct doing *d);

#endif
