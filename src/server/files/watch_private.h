/* The job of a watch. For src/server/files/watch*.c only. */
#ifndef SERVER_FILES_WATCH_PRIVATE_H
#define SERVER_FILES_WATCH_PRIVATE_H

#include "fs/path.h"
#include "fs/watch.h"
#include "search/glob.h"
#include "search/ignore.h"
#include "server/files/watch.h"

struct watcher {
	struct transfer_io *io;
	const struct transfer_request *ask;
	struct watch *engine;
	struct buf top;        /* real path of the folder, with a slash at its end */
	const char *file_name; /* name of the only watched file in it; NULL: all */
	int fd;                /* of inotify */
	bool deep;             /* the contents of subfolders are reported */
	bool quiet;            /* files that are found are not reported */
	bool full;             /* the lack of watches was reported */
	uint64_t id;           /* of the last event */
	uint64_t beat;         /* when the next heartbeat is due, monotonic ms */
	bool excludes;
	struct glob exclude;
	struct ignore rules; /* ignore rules for the contents of the folder... */
	struct buf rules_of; /* ...with this path, with a slash; empty: none */
	bool rules_out;      /* the rules leave out the whole folder */
	struct buf path;
};

/* --- watch_stream.c: output */

/* Begin and end an event. The caller writes the members of its object in between. */
void watch_put_begin(struct watcher *w, struct jw *jw, const char *name);
void watch_put_end(struct watcher *w, struct jw *jw);
/* Writes a path, and its bytes as base64 if they are not UTF-8. */
void watch_put_path(struct jw *jw, const char *key, struct str path);
/* Implements watch_ops.event. */
int watch_put_change(void *arg, const struct watch_event *e);
/* Reports a folder whose changes are not reported. */
void watch_put_unwatched(struct watcher *w, struct str path, int err);
/* The message for an error of a watch, with the next step. */
const char *watch_get_error(int err);
/* Reads inotify events once and feeds the engine. 1; 0: there were none; or an error. */
int watch_read_events(struct watcher *w) MUST_USE;
/* Send the output, if there is much of it or in any case, and heartbeats. 0 or -errno. */
int watch_flush_large(struct watcher *w) MUST_USE;
int watch_flush(struct watcher *w) MUST_USE;

/* --- watch_look.c: listing of folders */

/*
 * watch_scan_top watches the top, which is open at fd, and records it. Returns 0 or
 * -errno, as inotify_add_watch. For a recursive watch, watch_scan_below then watches all
 * folders below it. With ask->existing it reports their contents.
 */
int watch_scan_top(struct watcher *w, int fd) MUST_USE;
int watch_scan_below(struct watcher *w, int fd) MUST_USE;
/* Opens the top again (O_RDONLY). ERR_CLOSED: its path leads to another folder. */
int watch_open_top(struct watcher *w) MUST_USE;

/* Implement watch_ops. */
int watch_scan_entry(void *arg, struct watch_folder *parent, const char *name);
int watch_scan_check(void *arg, struct watch_folder *f, const char *name, bool *dir);
void watch_scan_forget(void *arg, int wd);
bool watch_scan_is_hidden(void *arg, struct str path, bool dir);

#endif
