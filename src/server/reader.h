/*
 * Requests that read growing data. They are answered when there is more data or when
 * their wait is over; or the reply is a stream of pieces.
 */
#ifndef SERVER_READER_H
#define SERVER_READER_H

#include "server/api.h"

struct reader;

/* Operations of the data that is read. */
struct reader_ops {
	/*
	 * Appends the next piece (an event, or octets). Returns 0; 1: there is no further
	 * piece yet; or an error. *over: this piece is the last.
	 */
	int (*next)(struct reader *r, struct buf *out, bool *over);
	/* Replies with the data that is there. */
	void (*answer)(struct reader *r);
	/* Whether there is data that a waiting request has not read. */
	bool (*has_more)(const struct reader *r);
	/* The reader has ended and must not be woken any more. */
	void (*on_end)(struct reader *r);
	/* Called when all that was written has been sent; may be NULL. */
	void (*on_sent)(struct reader *r);
};

enum reader_mode {
	READER_SINGLE, /* once, with the reply */
	READER_EVENTS,
	READER_OCTETS,
};

enum reader_state {
	READER_WAITING,
	READER_STREAMING, /* a stream of pieces */
	READER_FULL,      /* a stream; more is queued than the peer has taken */
};

/* Embedded in the request's arena. */
struct reader {
	const struct reader_ops *ops;
	enum reader_state state;
	enum reader_mode mode;
	struct loop *loop;
	struct request *rq;
	struct timer timer; /* the end of the wait, or the next heartbeat */
	uint64_t at, max;   /* for the operations, as all that follows */
	bool flag;
};

/* r is zeroed. From now on, the caller calls reader_wake when there may be more data. */
void reader_init(struct reader *r, struct loop *loop, struct request *rq,
	const struct reader_ops *ops);
/*
 * Streams in any mode but READER_SINGLE. In that mode it replies: at once without wait_s
 * or if there is more data already; otherwise when there is, or after wait_s. r may be
 * invalid afterwards.
 */
void reader_begin(struct reader *r, uint64_t wait_s);
/* Called from the event loop when there may be more data. r may be invalid afterwards. */
void reader_wake(struct reader *r);
/* Ends the reader: answers, or ends the stream. */
void reader_end(struct reader *r);
/* The mode that the request asks for by its field Accept. */
enum reader_mode reader_get_mode(const struct request *rq);

/* The value of the field Last-Event-ID; 0 without it. */
uint64_t reader_last_event_id(const struct request *rq);
/* Begin and end an event. The caller writes the members of its data in between. */
void reader_put_event(struct buf *out, struct jw *w, uint64_t id, const char *name);
void reader_put_event_end(struct buf *out, struct jw *w);

#endif
