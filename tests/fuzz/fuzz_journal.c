/* Any file as a journal of actions: it is read, told apart, or refused; never more. */
#include "base/fd.h"
#include "event/ledger.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t asked[SHA256_LEN];
	struct ledger_entry *e;
	struct ledger l;
	uint64_t torn;
	int fd = fd_memory("fuzz", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (ledger_open(&l, -1, "fuzz", fd, false, &torn) != 0)
		return 0;
	if (torn > size)
		abort();
	for (e = l.oldest; e; e = e->newer) {
		struct buf out = BUF_INIT(1 << 20);

		if (e->at + e->n > size || (e->n && ledger_answer(&l, e, &out) < 0))
			abort();
		buf_free(&out);
	}
	if (ledger_find(&l, STR("fuzz"), &e) == LEDGER_NEW &&
		(ledger_accept(&l, STR("fuzz"), asked, &e) < 0 ||
			ledger_start(&l, e) < 0 ||
			ledger_end(&l, e, LEDGER_DONE, 200, STR("x")) < 0))
		abort();
	ledger_close(&l);
	return 0;
}
