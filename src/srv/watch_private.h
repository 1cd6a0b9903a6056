/* The inside of a watch's job. For srv/watch*.c only. */
#ifndef SRV_WATCH_PRIVATE_H
#define SRV_WATCH_PRIVATE_H

#include "file/glob.h"
#include "file/ignore.h"
#include "file/path.h"
#include "file/watch.h"
#include "srv/watch.h"

struct watcher {
	struct transfer_io *io;
	const struct transfer_ask *ask;
	struct watch *engine;
	struct buf top;   /* the folder's real path, with a slash at its end */
	const char *only; /* the file in it that is watched; NULL: all */
	int fd;           /* inotify's */
	bool deep;        /* what is in folders is told */
	bool quiet;       /* what is found is not */
	bool full;        /* it was told that no watch is left */
	uint64_t id;      /* of the last event */
	uint64_t beat;    /* when the next sign of life is due, monotonic ms */
	bool excludes;
	struct glob exclude;
	struct ignore rules; /* for what is in the folder... */
	struct buf rules_of; /* ...of this path, with a slash; empty: of none */
	bool rules_out;      /* which is left out as a whole */
	struct buf path;
};

/* --- watch_stream.c: what is sent */

/* Begins an event; members of its object follow, then its end. */
void watch_put(struct watcher *w, struct jw *jw, const char *name);
void watch_put_end(struct watcher *w, struct jw *jw);
/* A path, and its bytes as base64 where they are no UTF-8. */
void watch_put_path(struct jw *jw, const char *key, struct str path);
/* watch_ops.event */
int watch_put_change(void *arg, const struct watch_event *e);
/* A folder of which nothing will be told. */
void watch_put_unwatched(struct watcher *w, struct str path, int err);
/* Words for what stands in the way of a watch, with the next step. */
const char *watch_words(int err);
/* Feeds the engine with one read of what the kernel has: 1; 0: it had nothing; error. */
int watch_take(struct watcher *w) MUST_USE;
/* Sends what there is much of, or all of it; and signs of life. 0 or -errno. */
int watch_flush_much(struct watcher *w) MUST_USE;
int watch_flush(struct watcher *w) MUST_USE;

/* --- watch_look.c: what is there */

/*
 * Watches the top, open at fd, and notes it. 0 or -errno, as from inotify_add_watch.
 * Then all that is below it, without a word.
 */
int watch_top(struct watcher *w, int fd) MUST_USE;
int watch_below(struct watcher *w, int fd) MUST_USE;
/* Opens the top again: the fd (O_RDONLY); ERR_CLOSED when its path leads elsewhere. */
int watch_open_top(struct watcher *w) MUST_USE;

/* watch_ops */
int watch_look(void *arg, struct watch_folder *parent, const char *name);
int watch_there(void *arg, struct watch_folder *f, const char *name, bool *dir);
void watch_forget(void *arg, int wd);
bool watch_hide(void *arg, struct str path, bool dir);

#endif
