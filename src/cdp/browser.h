/*
 * A running browser with its tabs: what is known of them from its events, and the ways
 * to move them. Blocking, as cdp.h is; results are those of cdp_wait, unless said
 * otherwise.
 */
#ifndef CDP_BROWSER_H
#define CDP_BROWSER_H

#include "cdp/cdp.h"

#include <sys/types.h>

/* Of the viewport, in pixels; the contract's. */
enum { BROWSER_WIDTH = 1280, BROWSER_HEIGHT = 720 };

enum frame_event {
	FRAME_INIT = 1,    /* a document has begun */
	FRAME_CONTENT = 2, /* DOMContentLoaded */
	FRAME_LOAD = 4,
};

struct frame {
	struct frame *next;
	char id[CDP_ID_MAX];
	char parent[CDP_ID_MAX]; /* empty for the main one */
	char loader[CDP_ID_MAX]; /* of its document */
	bool loaded;             /* that has had its load event */
	int64_t context;         /* of the page's own scripts; 0: there is none now */
	unsigned events;         /* of enum frame_event, since the last init */
	bool loading;            /* it has started to, and not stopped */
	uint64_t started;        /* when it did the last time */
	uint64_t stopped;        /* when it did the last time */
};

enum tab_state {
	TAB_NEW, /* attached, not set up yet; no scripts run */
	TAB_READY,
	TAB_CRASHED, /* its process is gone; browser_settle shows it blank */
	TAB_GONE,    /* closed; it lives until the next settle */
};

struct tab {
	struct browser *browser;
	struct tab *next; /* in the order in which they were made */
	enum tab_state state;
	char target[CDP_ID_MAX];
	char session[CDP_ID_MAX];
	struct frame *frames; /* the main one is the first, and always there */
	struct buf url;       /* of the document in it */
	uint64_t shown;       /* the higher, the later it was made active */
	uint64_t moved;       /* when a navigation, or a part of one, was last seen */
	unsigned navigated;   /* documents, and moves within one, so far */
	bool lost;            /* it is blank because it has crashed */
	uint64_t crashed;     /* when that was the last time */
	bool busy;            /* its scripts let nobody in, the last time */
	/* The last document that has not come, while tab_history looks, and why. */
	char failed[CDP_ID_MAX];
	char failure[CDP_ID_MAX];

	/* The last file chooser that has opened; choosers counts them. */
	unsigned choosers;
	int64_t chooser_node; /* backendNodeId */
	bool chooser_multiple;
	/* What was last being dragged: "data" of Input.dragIntercepted; drags counts. */
	unsigned drags;
	struct buf drag;
	uint64_t dialog; /* since when one is open, though it was answered; 0: none */

	double mouse_x, mouse_y; /* where input has left the mouse */
	unsigned held, buttons;  /* modifiers and buttons that are down */
};

enum download_state {
	DOWNLOAD_NONE, /* none that anybody has yet to be told of */
	DOWNLOAD_BEGUN,
	DOWNLOAD_SLOW, /* it has been waited for in vain; nobody waits again */
	DOWNLOAD_DONE,
	DOWNLOAD_FAILED,
};

/* A file on its way to the folder for downloads. */
struct download {
	enum download_state state;
	char guid[CDP_ID_MAX]; /* and its name there */
};

struct browser {
	struct cdp cdp;
	struct tab *tabs;
	struct tab *active; /* NULL only while there is none at all */
	uint64_t last_shown;
	struct download download; /* the last one that has begun */
	bool by_place;            /* actions may have coordinates and keys */
	pid_t pid;                /* 0: it is not ours */
	/* Of a browser that others use, too: the context of our tabs; or empty. */
	char context[CDP_ID_MAX];
	char cast[CDP_ID_MAX]; /* the session that tells how it looks; empty: none */

	/* The caller's; browser_cast follows a change. NULL: nobody looks on. */
	/* In Base64, or what else can be between the quotes of JSON; it must not wait. */
	void (*picture)(void *arg, struct str jpeg);
	void *picture_arg;
};

/*
 * Takes both pipes of a browser that has just started as process pid, and sets it up
 * with one blank tab; downloads is a folder. On failure browser_free has to follow all
 * the same.
 */
int browser_init(struct browser *b, int in, int out, pid_t pid, const char *downloads,
	uint64_t deadline) MUST_USE;
/*
 * The same for a browser that is not ours, by the socket of a WebSocket: with cookies,
 * and tabs, of our own, which go when the socket is closed. Those of others are left
 * alone.
 */
int browser_join(
	struct browser *b, int fd, const char *downloads, uint64_t deadline) MUST_USE;
/* Says nothing to it. */
void browser_free(struct browser *b);

/* --- Tabs */

/* The active tab; never NULL behind a browser_settle that gave 0. */
struct tab *browser_active(struct browser *b);
/* The tab at that place in the order they were made; NULL. */
struct tab *browser_tab(struct browser *b, size_t index);
size_t browser_tabs(const struct browser *b);
/* The place of t; browser_tabs() if it is none. */
size_t browser_index(const struct browser *b, const struct tab *t);
/* A new blank tab, which becomes active. */
int browser_new_tab(struct browser *b, uint64_t deadline) MUST_USE;
/* Closes the active one; the last in order becomes active, or a new one. */
int browser_close_tab(struct browser *b, uint64_t deadline) MUST_USE;
int browser_focus_tab(struct browser *b, struct tab *t, uint64_t deadline) MUST_USE;

struct frame *tab_main(struct tab *t);
/* NULL. */
struct frame *tab_frame(struct tab *t, struct str id);

/* --- Asking a tab */

/* cdp_call for the tab's session; -EPIPE if it has crashed or is gone. */
int tab_call(struct tab *t, const char *method, struct str params, uint64_t deadline,
	struct arena *a, struct json_val *result) MUST_USE;
/* The same with what params hold; they are freed. */
int tab_call_take(struct tab *t, const char *method, struct buf *params,
	uint64_t deadline, struct arena *a, struct json_val *result) MUST_USE;
int tab_send(struct tab *t, const char *method, struct str params, uint64_t *id) MUST_USE;
/* cdp_wait for that; sets up tabs that have come, as the answer may wait for them. */
int tab_wait(struct tab *t, uint64_t id, uint64_t deadline, struct arena *a,
	struct json_val *result) MUST_USE;
/*
 * Whether its page goes to another one of which nothing has come yet. Chromium keeps
 * what it is asked until then, and that is no script's fault; but one that goes on for
 * two minutes may be, since a script without an end keeps the other page from coming.
 */
bool tab_leaves(struct tab *t);
/* Whatever script it is at is ended; who waits for that is refused. */
void tab_end_script(struct tab *t);
/*
 * Calls a JavaScript function ("function (a, b) {...}", or async) in the page's own
 * world of that frame, and gives its value by value. args is a JSON array of the
 * protocol's arguments ([{"value":1},{"objectId":"..."}]), or empty. As tab_call;
 * ERR_REFUSED also for what the function throws, in cdp.refusal, and for a frame that
 * has no scripts.
 */
int tab_eval(struct tab *t, struct frame *f, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct json_val *value) MUST_USE;
/* The same, with the object as "this"; objects are a page's (objectId). */
int tab_eval_on(struct tab *t, struct str object, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct json_val *value) MUST_USE;
/* The same as both, but answers with a reference (objectId); empty for null. */
int tab_find(struct tab *t, struct frame *f, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct str *object) MUST_USE;
/*
 * A world of our own in the document of a frame, which shares its elements and nothing
 * else with the page's: something to call functions in.
 */
int tab_world(struct tab *t, struct str frame, uint64_t deadline, struct arena *a,
	struct frame *world) MUST_USE;

/* --- Moving */

/* What has come of a navigation; words are the arena's or static, or empty. */
struct tab_moved {
	enum {
		MOVED,          /* the page has loaded */
		MOVED_NOT,      /* history has no such entry */
		MOVED_REFUSED,  /* the protocol's own error, in words */
		MOVED_DOWNLOAD, /* it was one */
		MOVED_FAILED,   /* net::ERR_..., in words */
		MOVED_LATE,     /* not loaded by the deadline; goes on */
	} how;
	struct str words;
};
/* Goes to a URL and waits until the page has loaded. */
int tab_navigate(struct tab *t, struct str url, uint64_t deadline, struct arena *a,
	struct tab_moved *moved) MUST_USE;
/* One entry back (-1) or forward (1). */
int tab_history(struct tab *t, int step, uint64_t deadline, struct arena *a,
	struct tab_moved *moved) MUST_USE;

/* --- Waiting */

/* Takes events, sets up tabs that have come; until the time is over. */
int browser_pump(struct browser *b, uint64_t until) MUST_USE;
/* The same until done says so; -ETIMEDOUT. */
int browser_until(struct browser *b, bool (*done)(void *arg), void *arg,
	uint64_t deadline) MUST_USE;
/*
 * After a step: waits until navigations it has begun have brought a document, and
 * nothing more moves; new tabs are set up, the gone freed, and one is active. Ends in
 * time by itself, whatever pages do. Crashed tabs are blank behind it.
 */
int browser_settle(struct browser *b, uint64_t deadline) MUST_USE;
/*
 * Waits until the active page's scripts let others in; one whose process was stopped
 * is blank then. -ETIMEDOUT: it is busy; if it still is the next time its script is
 * ended, and -EPIPE if that was in vain: its tab is closed. Not while tab_leaves.
 */
int browser_wake(struct browser *b) MUST_USE;

/* Has the active tab, and no other, hand pictures to b->picture as it changes. */
void browser_cast(struct browser *b);

#endif
