/* The folders of a watch: watches and lists them. */
#ifndef SERVER_FILES_WATCH_LOOK_H
#define SERVER_FILES_WATCH_LOOK_H

#include "fs/path.h"
#include "fs/watch.h"
#include "server/files/watch_filter.h"
#include "server/files/watch_stream.h"

struct watcher {
	const struct transfer_request *ask;
	struct watch_stream stream;
	struct watch_filter filter;
	struct watch *engine;
	struct buf top; /* real path of the folder, with a slash at its end */
	int fd;         /* of inotify */
	bool deep;      /* the contents of subfolders are reported */
	bool quiet;     /* files that are found are not reported */
	struct buf path;
};

/* For the engine of a watcher. deep: the contents of subfolders are reported. */
const struct watch_ops *watch_scan_get_ops(bool deep);

/* Reads inotify events once and feeds the engine. 1; 0: there were none; or an error. */
int watch_read_events(struct watcher *w) MUST_USE;
/*
 * watch_scan_top watches the top, which is open at fd, and records it. Returns 0 or
 * -errno, as inotify_add_watch. For a recursive watch, watch_scan_below then watches all
 * folders below it. With ask->existing it reports their contents.
 */
int watch_scan_top(struct watcher *w, int fd) MUST_USE;
int watch_scan_below(struct watcher *w, int fd) MUST_USE;
/* Opens the top again (O_RDONLY). ERR_CLOSED: its path leads to another folder. */
int watch_open_top(struct watcher *w) MUST_USE;

#endif
