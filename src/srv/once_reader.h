/* Readers of the ledger: of what actions print, and of events. */
#ifndef SRV_ONCE_READER_H
#define SRV_ONCE_READER_H

#include "srv/once.h"
#include "srv/reader.h"

struct once_reader {
	struct reader reader;
	struct once *once;
	struct once_reader *next;
	char id[LEDGER_ID_MAX + 1]; /* of an action */
};

/* NULL, and answered: out of memory. */
struct once_reader *once_reader_new(
	struct once *o, struct request *rq, const struct reader_ops *ops);
/* The op left of all of them. */
void once_reader_left(struct reader *r);
/* The ledger of a reader. */
struct once *once_of(const struct reader *r);

#endif
