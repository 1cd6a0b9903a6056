/*
 * What happens below a folder, from the records of inotify(7): an engine. It pairs the
 * halves of renames, joins bursts of writes, knows the path of each watched folder, and
 * says which new ones have to be looked at. Whoever owns it reads the records, sets
 * watches and lists folders.
 *
 * Records tell of the past, listings of the present. What is found under a name is
 * taken for what the records mean only if none of them, up to the present, says that
 * the name has come or gone since; otherwise a later record leads to it. A name may be
 * told to be there, or to be gone, more than once.
 */
#ifndef FILE_WATCH_H
#define FILE_WATCH_H

#include "file/watch_moves.h"
#include "file/watch_queue.h"
#include "file/watch_tree.h"
#include "limits.h"

enum watch_kind {
	WATCH_CREATE, /* it is there: made, or moved here from elsewhere */
	WATCH_WRITE,  /* its content has changed */
	WATCH_REMOVE, /* it is gone with all below it: removed, or moved elsewhere */
	WATCH_RENAME, /* it has come from another place, to which the same applies */
	WATCH_CHMOD,  /* its mode, owner, times or attributes have changed */
};

struct watch_event {
	enum watch_kind kind;
	bool dir;
	struct str path; /* from the top; "." is that itself */
	struct str from; /* of WATCH_RENAME */
};

/* What watch_run finds. */
enum watch_end {
	WATCH_GOES_ON,
	WATCH_ABSENT,    /* of watch_ops.look only */
	WATCH_GAP,       /* records are missing, or do not say enough: begin again */
	WATCH_REMOVED,   /* the top is */
	WATCH_MOVED,     /* the same, to another place */
	WATCH_UNMOUNTED, /* the file system with the top */
};

/* The engine must not be called from event, forget and hide. */
struct watch_ops {
	/* Not 0 ends watch_run with that. */
	int (*event)(void *arg, const struct watch_event *e);
	/*
	 * A folder has come. Opens it, watches it, feeds what the kernel has queued,
	 * calls watch_found, and tells with watch_tell what is in it, for all levels.
	 * 0, even if it cannot be watched; WATCH_ABSENT when parent is not where its
	 * path leads, there is no folder of that name, or it is not settled; or what
	 * ends watch_run. NULL: only the top is watched.
	 */
	int (*look)(void *arg, struct watch_folder *parent, const char *name);
	/*
	 * Feeds what the kernel has queued, and then answers: 0: name was in f before,
	 * as *dir tells; WATCH_ABSENT: it was not; -ESTALE: f is not where its path
	 * leads; or what ends watch_run.
	 */
	int (*there)(void *arg, struct watch_folder *f, const char *name, bool *dir);
	/* The watch is of no more use; it may be gone already. */
	void (*forget)(void *arg, int wd);
	/* Whether nothing is to be told of that path, or below it. May be NULL. */
	bool (*hide)(void *arg, struct str path, bool dir);
};

/* A file that has been written to, about which nothing has been said yet. */
struct watch_dirt {
	uint64_t due; /* 0: the place is free */
	int wd;
	char name[WATCH_DIRT_NAME];
};

struct watch {
	const struct watch_ops *ops;
	void *arg;
	struct watch_tree tree;
	struct watch_queue queue;
	bool running;  /* the first of it is being dealt with */
	uint64_t wait; /* until when it waits for its other half; 0: it does not */
	unsigned tries;
	struct buf path, from; /* of the event that is told */
	struct watch_dirt dirt[WATCH_DIRT_MAX];
	struct watch_moves moves;
};

/* What is read from the kernel for the watches; those of the top have one more. */
extern const uint32_t watch_mask, watch_top_mask;

/* w is zeroed. watch_free forgets nothing: the watches end with their descriptor. */
void watch_init(struct watch *w, const struct watch_ops *ops, void *arg);
void watch_free(struct watch *w);

/*
 * Whether no record that was fed says that name has come to that folder or gone from it
 * after what is being dealt with.
 */
bool watch_settled(const struct watch *w, const struct watch_folder *f, const char *name);
/*
 * A folder with its watch; parent is NULL for the top. One that is known at another
 * place has been moved from there, which is told. 0; WATCH_ABSENT: it seems to lie in
 * itself, and is left as it was; ERR_LIMIT after WATCH_FOLDERS_MAX; -ENOMEM; what
 * event said.
 */
int watch_found(struct watch *w, struct watch_folder *parent, const char *name, int wd,
	struct watch_folder **out) MUST_USE;
/*
 * A folder that is known to be there, but not which: it is looked at when a rename or
 * another record leads to it. 0 or -ENOMEM.
 */
int watch_lost(struct watch *w, struct watch_folder *parent, const char *name) MUST_USE;
/* Tells that name is in the folder, unless that is hidden. 0 or what event said. */
int watch_tell(struct watch *w, const struct watch_folder *f, const char *name,
	bool dir) MUST_USE;

/*
 * Records as read, cut anywhere. now is monotonic ms. ERR_SYNTAX: no records;
 * ERR_LIMIT: there is no room for them, see watch_wants; -ENOMEM.
 */
int watch_feed(struct watch *w, struct str bytes, uint64_t now) MUST_USE;
/* Whether WATCH_READ more bytes can be fed. */
bool watch_wants(const struct watch *w);

/* Deals with what was fed: an enum watch_end, after which only free is legal; error. */
int watch_run(struct watch *w, uint64_t now) MUST_USE;
/* When watch_run has to be called again, if nothing is fed; UINT64_MAX: never. */
uint64_t watch_due(const struct watch *w);

#endif
