/*
 * Those who read what grows: answered when there is more, or when their patience is
 * over, or with events for as long as they stay.
 */
#ifndef SRV_ONCE_READER_H
#define SRV_ONCE_READER_H

#include "srv/once.h"

struct reader;

/* What is read. */
struct reader_ops {
	/*
	 * Appends the next event: 0; 1: there is none yet, or there will be no more than
	 * what was appended for now; an error. *over: it is the last.
	 */
	int (*next)(struct reader *r, struct buf *out, bool *over);
	/* Replies with what there is. */
	void (*answer)(struct reader *r);
	/* Whether there is something that one who waits has not read. */
	bool (*has_more)(const struct reader *r);
};

enum reader_state {
	READER_WAITS,
	READER_STREAMS, /* events, as they come */
	READER_FULL,    /* the same, and more is queued than the peer has taken */
};

/* In the request's arena. */
struct reader {
	struct asked asked;
	const struct reader_ops *ops;
	enum reader_state state;
	struct once *once;
	struct request *rq;
	struct reader *next;
	struct timer timer; /* patience, or the next sign of life */
	uint64_t at, max;   /* the ops', as all that follows */
	bool flag;
	char id[LEDGER_ID_MAX + 1];
};

/* NULL, and answered: out of memory. */
struct reader *once_reader_new(
	struct once *o, struct request *rq, const struct reader_ops *ops);
/*
 * Streams if that is what the request accepts; else answers, at once without wait_s or
 * if there is more already.
 */
void once_reader_begin(struct reader *r, uint64_t wait_s);
/* Of the field Last-Event-ID; 0 without it. */
uint64_t once_last_event_id(const struct request *rq);
/* An event, whose data are the object that is written in between. */
void once_put_event(struct buf *out, struct jw *w, uint64_t id, const char *name);
void once_put_event_end(struct buf *out, struct jw *w);

#endif
