/*
 * Records of inotify(7), queued from reading until they are handled. The first one is
 * being handled while others arrive. For fs/watch.
 */
#ifndef FS_WATCH_QUEUE_H
#define FS_WATCH_QUEUE_H

#include "base/buf.h"

enum { WATCH_NAME_ROOM = 4096 }; /* no file system has longer names */

/* A record, followed by its name and NULs up to a multiple of its alignment. */
struct watch_record {
	uint64_t at; /* when it was fed, monotonic ms */
	int wd;
	uint32_t mask, cookie;
	uint32_t n; /* length of the name with its NULs; 0: about the folder itself */
	char name[];
};

/* A copy of a record: records of the queue may move when more are fed. */
union watch_record_copy {
	struct watch_record r;
	char bytes[WATCH_NAME_ROOM + 2 * sizeof(struct watch_record)];
};

struct watch_queue {
	struct buf part; /* bytes of an unfinished record */
	struct buf records;
	size_t at; /* offset in records of the first unhandled one */
};

/* q is zeroed. */
void watch_queue_init(struct watch_queue *q);
void watch_queue_free(struct watch_queue *q);

/*
 * Adds bytes as read, split anywhere, at now, monotonic ms. ERR_SYNTAX: no valid
 * records; ERR_LIMIT: no space for them, see watch_queue_has_space; -ENOMEM.
 */
int watch_queue_feed(struct watch_queue *q, struct str bytes, uint64_t now) MUST_USE;
/* Whether WATCH_READ more bytes can be fed. */
bool watch_queue_has_space(const struct watch_queue *q);

/* The first record, and the one after r; NULL: none. Valid until more are fed. */
struct watch_record *watch_queue_first(const struct watch_queue *q);
struct watch_record *watch_queue_next(
	const struct watch_queue *q, const struct watch_record *r);

void watch_queue_copy_record(union watch_record_copy *h, const struct watch_record *r);
/* Removes the first record, of which h is the copy. */
void watch_queue_drop(struct watch_queue *q, const union watch_record_copy *h);
/* Frees the space of removed records; is_compact_due: whether that is due. */
void watch_queue_compact(struct watch_queue *q);
bool watch_queue_is_compact_due(const struct watch_queue *q);

/* Whether the record says that name has come to that folder or gone from it. */
bool watch_record_has_name(const struct watch_record *r, int wd, const char *name);

#endif
