/*
 * One browser, from its start to its end, and the actions that are done with it: each a
 * step, an observation, and what has to be done where the browser fails.
 */
#ifndef CDP_DRIVE_H
#define CDP_DRIVE_H

#include "cdp/browser.h"
#include "cdp/launch.h"

enum drive_state {
	DRIVE_OFF,     /* no browser has been started, or the last one is gone */
	DRIVE_RUNNING, /* it may have ended since it was last heard of */
};

struct drive {
	enum drive_state state;
	const char *const *env;
	char cwd[FILE_PATH_MAX]; /* where screenshots and downloads go */
	struct launch launch;    /* of a browser of ours */
	struct browser browser;
	const char *endpoint; /* of one that is not (see endpoint.h), which it is; NULL */
	unsigned files;       /* downloaded */
	struct buf kept;      /* URLs of tabs that were lost, a NUL behind each */
	size_t kept_active;   /* the one of them that was active */
	struct buf seen;      /* how the active page was last seen: PNG */
	/* See browser.h; drive_look_on follows a change. */
	void (*picture)(void *arg, struct str jpeg);
	int also; /* see cdp.h */
	int (*woken)(void *arg);
	void *arg;
};

struct drive_task {
	bool visit;      /* of a URL; else a text with calls */
	struct str what; /* one or the other */
	bool wants_tree; /* the whole of it, with the properties of elements */
	bool knows_path; /* see struct answer */
	uint64_t deadline;
};

/* The rest of it is the caller's to be set. */
void drive_init(struct drive *d, const char *const *env);
void drive_free(struct drive *d);

/*
 * Starts a browser, the first that can be, if none is running, or connects to that of
 * the endpoint. 0; -ECANCELED; another error with why, a sentence for people.
 */
int drive_start(struct drive *d, struct buf *why) MUST_USE;
/*
 * Does an action in a browser that runs, and appends the observation to out: always one,
 * but for -ECANCELED and -ENOMEM. A browser that is lost at that is started again by
 * the next drive_start, with the pages that it had.
 */
int drive_do(struct drive *d, const struct drive_task *task, struct buf *out) MUST_USE;
/*
 * Takes a picture of the active page to d->seen. -ETIMEDOUT: it lets nobody look; else
 * as of drive_idle.
 */
int drive_see(struct drive *d, uint64_t deadline) MUST_USE;
void drive_look_on(struct drive *d);
/* One that was lost is none from now on; drive_start brings its pages back. */
void drive_lose(struct drive *d);
/* Lets it be heard until there is input at also, or it ends; woken is called then. */
int drive_idle(struct drive *d) MUST_USE;

#endif
