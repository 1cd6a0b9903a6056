/* A new file of what still counts. */
#include "event/ledger_private.h"

#include "base/fd.h"
#include "base/swap.h"
#include "limits.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The new file, and the ring of its events. */
struct made {
	struct journal journal;
	uint64_t *events;
};

/* Where what belongs to an entry lies in the new file. */
struct place {
	uint64_t answer, request;
};

/* The request is of no use any more when it has ended. */
static int copy_accept(struct ledger *to, const struct ledger *from,
	const struct ledger_entry *e, uint64_t *at)
{
	struct buf request = BUF_INIT(JOURNAL_RECORD_MAX);
	struct ledger_entry copy = *e;
	int r;

	if (!e->ask_n)
		return ledger_add_accept(to, e);
	r = ledger_request(from, e, &request);
	if (!r)
		r = ledger_add_queue(to, &copy, buf_view(&request));
	*at = copy.ask_at;
	buf_free(&request);
	return r;
}

static int copy_entry(struct ledger *to, const struct ledger *from,
	const struct ledger_entry *e, struct place *at)
{
	struct buf answer = BUF_INIT(JOURNAL_RECORD_MAX);
	int r = copy_accept(to, from, e, &at->request);

	if (!r && e->state != LEDGER_ACCEPTED && e->state != LEDGER_CANCELLED)
		r = ledger_add_start(to, e);
	if (!r && e->cancel)
		r = ledger_add_cancel(to, e);
	if (!r && e->out_n)
		r = ledger_add_output(to, e);
	if (!r && !ledger_is_open(e)) {
		r = ledger_answer(from, e, &answer);
		if (!r)
			r = ledger_add_end(to, e, e->state, e->status, buf_view(&answer),
				&at->answer);
	}
	if (!r && e->acked)
		r = ledger_add_ack(to, e);
	buf_free(&answer);
	return r;
}

static int copy_gone(struct ledger *to, const struct ledger *from)
{
	size_t first = from->gone_n < LEDGER_GONE_MAX ? 0 : from->gone_at;
	int r = 0;

	for (size_t i = 0; i < from->gone_n && !r; i++)
		r = ledger_add_gone(to, from->gone[(first + i) % LEDGER_GONE_MAX]);
	return r;
}

static int no_entry(void *ctx, const struct journal_entry *j)
{
	(void)ctx;
	(void)j;
	return 0;
}

/* Into a ring of their own, for the old one is as it was until all is well. */
static int copy_events(struct ledger *to, const struct ledger *from)
{
	uint64_t first = ledger_first_event(from), at;
	int r = 0;

	to->events = NULL;
	to->events_n = 0;
	to->event = first - 1;
	for (uint64_t seq = first; seq <= from->event && !r; seq++) {
		struct ledger_event e;

		r = ledger_read_event(from, seq, &e);
		if (!r)
			r = ledger_add_event(to, &e, &at);
		if (!r)
			r = ledger_note_event(to, seq, at);
	}
	return r;
}

/* Writes all that counts to fd; places: where each entry's parts lie there. */
static int copy_all(
	const struct ledger *l, int fd, struct made *made, struct place *places)
{
	struct ledger to = *l;
	uint64_t torn;
	size_t i = 0;
	int r = journal_begin(&to.journal, fd, no_entry, NULL, &torn);

	to.sync = false;
	if (!r)
		r = ledger_add_box(&to);
	if (!r)
		r = copy_gone(&to, l);
	for (const struct ledger_entry *e = l->oldest; e && !r; e = e->newer)
		r = copy_entry(&to, l, e, &places[i++]);
	to.events = NULL;
	if (!r && to.lease)
		r = ledger_add_lease(&to);
	if (!r)
		r = copy_events(&to, l);
	if (!r && l->sync && fdatasync(fd) < 0)
		r = -errno;
	if (r)
		free(to.events);
	*made = (struct made){to.journal, r ? NULL : to.events};
	return r;
}

/* The file under our name, where that is; a new one of nobody's elsewhere. */
static int replace_file(struct ledger *l, struct place *places, struct made *made)
{
	static const struct swap_attr ours = {0600, (uid_t)-1, (gid_t)-1};
	struct swap s;
	int r;

	if (l->dir < 0) {
		int fd = fd_memory("od-ledger", 0);

		r = fd < 0 ? fd : copy_all(l, fd, made, places);
		if (r && fd >= 0)
			fd_close(&fd);
		return r;
	}
	r = swap_begin(&s, l->dir);
	if (r)
		return r;
	r = copy_all(l, s.fd, made, places);
	/* Before it takes the name: whoever has that must be written to. */
	made->journal.fd = r ? -1 : fd_dup(s.fd, 0);
	if (!r && made->journal.fd < 0)
		r = made->journal.fd;
	if (!r)
		r = swap_commit(&s, l->name, &ours, NULL);
	if (r) {
		fd_close(&made->journal.fd);
		free(made->events);
		made->events = NULL;
	}
	swap_end(&s);
	return r;
}

static struct place *places_new(size_t n)
{
	return calloc(n, sizeof(struct place));
}

/* More than half of a large file counts no more. A failure is no loss: later, then. */
void ledger_shrink(struct ledger *l)
{
	uint64_t counts = l->answers + l->asks + l->entries * LEDGER_ENTRY_BYTES +
		l->gone_n * LEDGER_GONE_BYTES + l->events_n * LEDGER_EVENT_BYTES;
	struct made made;
	struct place *places;
	size_t i = 0;

	if (l->journal.size < LEDGER_SHRINK_MIN || l->journal.size / 2 < counts)
		return;
	places = places_new(l->entries + 1);
	if (places && replace_file(l, places, &made) == 0) {
		fd_close(&l->journal.fd);
		l->journal = made.journal;
		free(l->events);
		l->events = made.events;
		for (struct ledger_entry *e = l->oldest; e; e = e->newer) {
			e->at = places[i].answer;
			e->ask_at = places[i++].request;
		}
		l->moved = true;
	}
	free(places);
}
