/* Requests that read the ledger: outputs of actions, and events. */
#ifndef SERVER_IDEMPOTENCY_IDEM_READER_H
#define SERVER_IDEMPOTENCY_IDEM_READER_H

#include "server/idempotency/idem.h"
#include "server/reader.h"

struct idem_reader {
	struct list node;
	struct reader reader;
	struct idem *idem;
	char id[LEDGER_ID_MAX + 1]; /* of an action, when its output is read */
};

/* NULL: out of memory, and the request is answered. */
struct idem_reader *idem_reader_new(
	struct idem *o, struct request *rq, const struct reader_ops *ops);
/* The operation "left" of all readers of the ledger. */
void idem_reader_on_end(struct reader *r);
/* The once of a reader. */
struct idem *idem_reader_get_idem(const struct reader *r);

#endif
