#include "fs/watch_queue.h"

#include "limits.h"

#include <sys/inotify.h>

enum { WATCH_QUEUE_MAX = 8 << 20 }; /* bytes: what the kernel queues, and as much again */

void watch_queue_init(struct watch_queue *q)
{
	buf_init(&q->part, sizeof(struct inotify_event) + WATCH_NAME_ROOM + WATCH_READ);
	buf_init(&q->records, WATCH_QUEUE_MAX);
}

void watch_queue_free(struct watch_queue *q)
{
	buf_free(&q->part);
	buf_free(&q->records);
}

static int watch_queue_put(struct watch_queue *q, const struct inotify_event *e,
	const char *name, uint64_t now)
{
	static const char zeros[_Alignof(struct watch_record)];
	struct watch_record r = {
		.at = now, .wd = e->wd, .mask = e->mask, .cookie = e->cookie};
	size_t n = e->len ? strnlen(name, e->len) : 0;

	if (e->len && n == e->len)
		return ERR_SYNTAX;
	/* The length includes the NUL at its end. */
	r.n = n ? (uint32_t)((n / sizeof(zeros) + 1) * sizeof(zeros)) : 0;
	buf_put(&q->records, &r, sizeof(r));
	buf_put(&q->records, name, n);
	buf_put(&q->records, zeros, r.n - n);
	return q->records.err;
}

int watch_queue_feed(struct watch_queue *q, struct str bytes, uint64_t now)
{
	struct str rest;
	int r = 0;

	buf_str(&q->part, bytes);
	if (q->part.err)
		return q->part.err;
	rest = buf_view(&q->part);
	while (!r && rest.n >= sizeof(struct inotify_event)) {
		struct inotify_event e;

		memcpy(&e, rest.p, sizeof(e));
		if (e.len > WATCH_NAME_ROOM)
			return ERR_SYNTAX;
		if (rest.n < sizeof(e) + e.len)
			break;
		r = watch_queue_put(q, &e, rest.p + sizeof(e), now);
		rest = str_skip(rest, sizeof(e) + e.len);
	}
	buf_consume(&q->part, q->part.n - rest.n);
	return r;
}

bool watch_queue_has_space(const struct watch_queue *q)
{
	/* A queued record takes at most twice the bytes of the kernel's record. */
	return q->records.n <= WATCH_QUEUE_MAX / 2 - 2 * WATCH_READ - WATCH_NAME_ROOM;
}

static struct watch_record *watch_queue_record_at(const struct watch_queue *q, size_t at)
{
	return at < q->records.n ? (struct watch_record *)(void *)(q->records.p + at)
				 : NULL;
}

struct watch_record *watch_queue_first(const struct watch_queue *q)
{
	return watch_queue_record_at(q, q->at);
}

struct watch_record *watch_queue_next(
	const struct watch_queue *q, const struct watch_record *r)
{
	return watch_queue_record_at(
		q, (size_t)((const char *)r - q->records.p) + sizeof(*r) + r->n);
}

void watch_queue_copy_record(union watch_record_copy *h, const struct watch_record *r)
{
	memcpy(h->bytes, r, sizeof(*r) + r->n);
}

void watch_queue_drop(struct watch_queue *q, const union watch_record_copy *h)
{
	q->at += sizeof(h->r) + h->r.n;
}

bool watch_queue_is_compact_due(const struct watch_queue *q)
{
	return q->at >= WATCH_QUEUE_MAX / 4;
}

void watch_queue_compact(struct watch_queue *q)
{
	buf_consume(&q->records, q->at);
	q->at = 0;
}

bool watch_record_has_name(const struct watch_record *r, int wd, const char *name)
{
	const uint32_t either = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

	return r->mask & either && r->wd == wd && r->n && !strcmp(r->name, name);
}
