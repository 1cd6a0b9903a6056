/*
 * Any file as a journal of actions: it is read, told apart, or refused; never more. The
 * first byte chooses between the bytes as they are, and records that are made of them,
 * whole and about few ids, so that they meet.
 */
#include "action/ledger/ledger_private.h"
#include "base/fd.h"
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { IDS = 6, FIXED_MAX = 64, TYPE_ACCEPT = 2, TYPE_QUEUE = 11, TYPES = 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name(char id[4], uint8_t which)
{
	snprintf(id, 4, "f%d", which % IDS);
}

static int no_entry(void *ctx, const struct journal_entry *j)
{
	(void)ctx;
	(void)j;
	return 0;
}

static struct str take(struct str *s, size_t n)
{
	struct str part = str_make(s->p, n < s->n ? n : s->n);

	*s = str_skip(*s, part.n);
	return part;
}

/* A type, an id, a length, and so many bytes. */
static void add_record(struct journal *j, struct str *in)
{
	struct str head = take(in, 3),
		   rest = take(in, head.n == 3 ? (uint8_t)head.p[2] : 0);
	uint8_t type, key[LEDGER_KEY], fixed[FIXED_MAX] = {0};
	struct str parts[3] = {{0}};
	uint64_t at;
	char id[4];

	if (head.n < 3)
		return;
	type = (uint8_t)head.p[0] % TYPES;
	name(id, (uint8_t)head.p[1]);
	ledger_make_key(str_c(id), key);
	if (type == TYPE_ACCEPT || type == TYPE_QUEUE) {
		fixed[0] = (uint8_t)head.p[1];
		fixed[8 + SHA256_LEN + 1] = (uint8_t)(head.p[1] & 0x80 ? 9 : strlen(id));
		parts[0] = str_make(
			(char *)fixed, 8 + SHA256_LEN + (type == TYPE_QUEUE ? 2 : 0));
		parts[1] = str_c(id);
		parts[2] = type == TYPE_QUEUE ? rest : STR("");
	} else {
		parts[0] = str_make((char *)key, head.p[1] & 0x40 ? 0 : LEDGER_KEY);
		parts[1] = rest;
	}
	if (journal_add(j, type, parts, ARRAY_LEN(parts), false, &at) < 0)
		abort();
}

/* What is counted is what is there. */
static void look(const struct ledger *l)
{
	struct buf out = BUF_INIT(1 << 20);
	size_t entries = 0, open = 0;
	uint64_t answers = 0, request_bytes = 0;

	for (const struct ledger_entry *e = l->oldest; e; e = e->newer) {
		struct ledger_entry *found;

		entries++;
		open += ledger_is_open(e);
		answers += e->n;
		request_bytes += e->request_n;
		if (ledger_find(l, str_c(e->id), &found) != LEDGER_PRESENT || found != e)
			abort();
		if ((e->n && ledger_read_answer(l, e, &out)) ||
			(e->request_n && ledger_read_request(l, e, &out)))
			abort();
	}
	if (entries != l->entries || open != l->open || answers != l->answers ||
		request_bytes != l->request_bytes || l->events_n > l->event + 1)
		abort();
	for (uint64_t n = 0; n < l->events_n && n < 100; n++) {
		struct ledger_event e;

		if (ledger_read_event(l, ledger_first_event(l) + n, &e))
			abort();
	}
	buf_free(&out);
}

/* All that can happen, to each id. */
static void use(struct ledger *l)
{
	static const uint8_t asked[SHA256_LEN];
	struct ledger_entry *e;
	char id[4];

	for (uint8_t i = 0; i < IDS; i++) {
		name(id, i);
		switch (ledger_find(l, str_c(id), &e)) {
		case LEDGER_EVICTED:
			continue;
		case LEDGER_ABSENT:
			if (ledger_queue(l, str_c(id), asked, 1, STR("request"), &e))
				abort();
			break;
		case LEDGER_PRESENT:
			break;
		}
		if (ledger_is_open(e) && ledger_cancel(l, e, LEDGER_CANCEL_MAX))
			abort();
		if (e->state == LEDGER_ACCEPTED && ledger_start(l, e))
			abort();
		if (e->state == LEDGER_STARTED && i % 2 &&
			ledger_end(l, e, LEDGER_DONE, 200, STR("x")))
			abort();
		if (!ledger_is_open(e) && ledger_ack(l, e))
			abort();
	}
}

/* Another process, or another start, finds what there was. */
static void again(struct ledger *l)
{
	int fd = fd_dup(l->journal.fd, 0);
	size_t entries = l->entries, open = l->open;
	uint64_t event = l->event, torn;

	ledger_close(l);
	if (fd < 0 || ledger_open(l, -1, "fuzz", fd, false, &torn) || torn)
		abort();
	if (l->entries != entries || l->open != open || l->event != event)
		abort();
	look(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = str_make((const char *)data, size);
	struct journal j;
	struct ledger l;
	uint64_t torn;
	int fd = fd_create_memory("fuzz", 0);

	if (fd < 0)
		abort();
	if (size && data[0] & 1) {
		if (journal_begin(&j, fd, no_entry, NULL, &torn))
			abort();
		for (in = str_skip(in, 1); in.n;)
			add_record(&j, &in);
	} else if (write(fd, data, size) != (ssize_t)size) {
		abort();
	}
	if (ledger_open(&l, -1, "fuzz", fd, false, &torn) != 0)
		return 0;
	if (torn > size)
		abort();
	look(&l);
	use(&l);
	look(&l);
	again(&l);
	/* As if it were large; without a box nobody has ever begun it. */
	if (!l.box[0]) {
		ledger_close(&l);
		return 0;
	}
	l.journal.size += LEDGER_SHRINK_MIN;
	if (!ledger_shrink(&l))
		abort();
	l.journal.size -= LEDGER_SHRINK_MIN;
	while (ledger_shrink(&l))
		if (l.oldest && ledger_is_open(l.oldest) && size % 2 &&
			ledger_end(&l, l.oldest, LEDGER_DONE, 200, STR("meanwhile")))
			abort();
	if (!l.moved)
		abort();
	again(&l);
	ledger_close(&l);
	return 0;
}
