/*
 * The lifetime of one browser and the actions in it. An action is a step and an
 * observation, with recovery if the browser fails.
 */
#ifndef BROWSER_DRIVE_H
#define BROWSER_DRIVE_H

#include "browser/devtools/launch.h"
#include "browser/page/browser.h"

enum drive_state {
	DRIVE_OFF,     /* no browser has been started, or the last one has ended */
	DRIVE_RUNNING, /* it may have ended since its last message */
};

struct drive {
	enum drive_state state;
	const char *const *env;
	char cwd[FILE_PATH_MAX]; /* the folder of screenshots and downloads */
	struct launch launch;    /* of a browser that this process started */
	struct browser browser;
	const char *endpoint;  /* of an external browser (see endpoint.h), or NULL */
	unsigned files;        /* count of downloaded files */
	struct buf lost_urls;  /* URLs of the tabs of a lost browser, each with a NUL */
	size_t lost_active;    /* the index of the active one among them */
	struct buf screenshot; /* the last picture of the active page: PNG */
	/* See browser.h. drive_update_cast must follow a change. */
	void (*on_picture)(void *arg, struct str jpeg);
	int wake_fd; /* see cdp.h */
	int (*on_wake)(void *arg);
	void *arg;
};

struct drive_task {
	bool visit;           /* of a URL; else a text with calls */
	struct str source;    /* the URL or the text */
	bool wants_tree;      /* the whole tree, with the properties of elements */
	bool has_path_member; /* see struct answer */
	uint64_t deadline;
};

/* The caller sets cwd, picture, also, woken and arg afterwards. */
void drive_init(struct drive *d, const char *const *env);
void drive_free(struct drive *d);

/*
 * If no browser runs, starts the first installed browser that works, or connects to the
 * endpoint. Returns 0, -ECANCELED, or another error with a sentence for people in why.
 */
int drive_start(struct drive *d, struct buf *why) MUST_USE;
/*
 * Runs an action in a running browser and appends the observation to out. There is
 * always an observation, except with -ECANCELED and -ENOMEM. If the browser is lost
 * during the action, the next drive_start starts it again with the pages that it had.
 */
int drive_run_task(
	struct drive *d, const struct drive_task *task, struct buf *out) MUST_USE;
/*
 * Stores a picture of the active page in d->seen. Returns 0; -ETIMEDOUT: the page does
 * not answer; or the errors of drive_wait_event.
 */
int drive_capture_page(struct drive *d, uint64_t deadline) MUST_USE;
void drive_update_cast(struct drive *d);
/* Marks the browser as lost. drive_start restores its pages. */
void drive_mark_lost(struct drive *d);
/* Handles events until the browser closes or also has input, which calls woken. */
int drive_wait_event(struct drive *d) MUST_USE;

#endif
