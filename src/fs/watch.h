/*
 * Translates records of inotify(7) into events below a folder, without I/O. It pairs
 * the halves of renames, merges bursts of writes, keeps the path of each watched
 * folder, and reports which new folders have to be listed. The caller reads the
 * records, sets watches and lists folders.
 *
 * Records describe the past, listings the present. A name found in a listing is taken
 * for the object of a record only if no queued record reports that the name has come or
 * gone since. Otherwise the later record leads to it. A name may be reported as created
 * or removed more than once.
 */
#ifndef FS_WATCH_H
#define FS_WATCH_H

#include "fs/watch_moves.h"
#include "fs/watch_queue.h"
#include "fs/watch_tree.h"

enum {
	WATCH_DIRT_MAX = 64,   /* files being written; beyond, the oldest is sent */
	WATCH_DIRT_NAME = 256, /* bytes with the NUL; longer names are reported at once */
	WATCH_PAIR_MS = 20,    /* between both events of a rename; it takes 0.01 */
};

enum watch_kind {
	WATCH_CREATE, /* created, or moved here from elsewhere */
	WATCH_WRITE,  /* the content has changed */
	WATCH_REMOVE, /* removed or moved elsewhere, with all below it */
	WATCH_RENAME, /* moved from another path, now gone with all below it */
	WATCH_CHMOD,  /* mode, owner, times or attributes have changed */
};

struct watch_event {
	enum watch_kind kind;
	bool dir;
	struct str path; /* relative to the top, which is "." */
	struct str from; /* of WATCH_RENAME: the old path */
};

/* Results of watch_run. */
enum watch_end {
	WATCH_CONTINUE,
	WATCH_ABSENT,    /* result of watch_ops and watch_add_folder only */
	WATCH_GAP,       /* records are missing or ambiguous: start again */
	WATCH_REMOVED,   /* the top was removed */
	WATCH_MOVED,     /* the top was moved to another place */
	WATCH_UNMOUNTED, /* the file system of the top was unmounted */
};

/* The functions of this header must not be called from event, forget and hide. */
struct watch_ops {
	/* A result other than 0 ends watch_run with that value. */
	int (*event)(void *arg, const struct watch_event *e);
	/*
	 * Called for a new folder. The callee opens and watches it, feeds the records
	 * that the kernel has queued, calls watch_add_folder, and calls
	 * watch_report_entry for each entry, at all levels. 0, even if the folder cannot
	 * be watched; WATCH_ABSENT if parent is not where its path leads, there is no
	 * folder of that name, or watch_is_settled is false; other values end watch_run.
	 * NULL: only the top is watched.
	 */
	int (*list)(void *arg, struct watch_folder *parent, const char *name);
	/*
	 * The callee feeds the records that the kernel has queued. 0: name was in f
	 * before that, and *dir is set; WATCH_ABSENT: it was not; -ESTALE: f is not
	 * where its path leads; other values end watch_run.
	 */
	int (*check_name)(void *arg, struct watch_folder *f, const char *name, bool *dir);
	/* The watch is not needed any more; the kernel may have removed it already. */
	void (*drop_watch)(void *arg, int wd);
	/* Whether events for that path and below it are suppressed. May be NULL. */
	bool (*is_hidden)(void *arg, struct str path, bool dir);
};

/* A file that was written to, whose event is delayed. */
struct watch_write {
	uint64_t due; /* 0: this slot is free */
	int wd;
	char name[WATCH_DIRT_NAME];
};

struct watch {
	const struct watch_ops *ops;
	void *arg;
	struct watch_tree tree;
	struct watch_queue queue;
	bool running;  /* the first record of the queue is being handled */
	uint64_t wait; /* end of the wait for the other half of a rename; 0: no wait */
	unsigned tries;
	struct buf path, from; /* of the event being reported */
	struct watch_write writes[WATCH_DIRT_MAX];
	struct watch_moves moves;
};

/*
 * The inotify masks: watch_mask for each watch, and in addition watch_top_mask for the
 * top.
 */
extern const uint32_t watch_mask, watch_top_mask;

/* w is zeroed. watch_free does not call forget: the watches end with their descriptor. */
void watch_init(struct watch *w, const struct watch_ops *ops, void *arg);
void watch_free(struct watch *w);

/*
 * Whether no record fed so far, after the one being handled, says that name has come to
 * that folder or gone from it.
 */
bool watch_is_settled(
	const struct watch *w, const struct watch_folder *f, const char *name);
/*
 * Adds a folder with its watch; parent is NULL for the top. If the watch is known at
 * another place, the folder was moved from there, which is reported. 0; WATCH_ABSENT:
 * the folder seems to be inside of itself, and nothing changes; ERR_LIMIT after
 * WATCH_FOLDERS_MAX; -ENOMEM; the result of event.
 */
int watch_add_folder(struct watch *w, struct watch_folder *parent, const char *name,
	int wd, struct watch_folder **out) MUST_USE;
/*
 * Adds a folder whose name exists, but which could not be identified: it is looked up
 * again after a rename or another record. 0 or -ENOMEM.
 */
int watch_add_lost(
	struct watch *w, struct watch_folder *parent, const char *name) MUST_USE;
/* Reports that name is in the folder, unless it is hidden. 0 or the result of event. */
int watch_report_entry(struct watch *w, const struct watch_folder *f, const char *name,
	bool dir) MUST_USE;

/*
 * Adds bytes as read, split anywhere. now is monotonic ms. ERR_SYNTAX: no valid
 * records; ERR_LIMIT: no space for them, see watch_has_space; -ENOMEM.
 */
int watch_feed(struct watch *w, struct str bytes, uint64_t now) MUST_USE;
/* Whether WATCH_READ more bytes can be fed. */
bool watch_has_space(const struct watch *w);

/*
 * Handles the records fed so far. Returns an enum watch_end, after which only
 * watch_free is legal, or an error.
 */
int watch_run(struct watch *w, uint64_t now) MUST_USE;
/* When watch_run has to be called again, if nothing is fed; UINT64_MAX: never. */
uint64_t watch_get_deadline(const struct watch *w);

#endif
