/* Requests that read the ledger: outputs of actions, and events. */
#ifndef SERVER_IDEMPOTENCY_ONCE_READER_H
#define SERVER_IDEMPOTENCY_ONCE_READER_H

#include "server/idempotency/once.h"
#include "server/reader.h"

struct once_reader {
	struct reader reader;
	struct once *once;
	struct once_reader *next;
	char id[LEDGER_ID_MAX + 1]; /* of an action, when its output is read */
};

/* NULL: out of memory, and the request is answered. */
struct once_reader *once_reader_new(
	struct once *o, struct request *rq, const struct reader_ops *ops);
/* The operation "left" of all readers of the ledger. */
void once_reader_left(struct reader *r);
/* The once of a reader. */
struct once *once_of(const struct reader *r);

#endif
