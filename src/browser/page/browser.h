/*
 * A running browser with its tabs: the state that its events report, and the functions
 * that drive it. These functions block, like those of cdp.h. Unless stated otherwise,
 * results are those of cdp_wait.
 */
#ifndef BROWSER_PAGE_BROWSER_H
#define BROWSER_PAGE_BROWSER_H

#include "base/list.h"
#include "browser/devtools/cdp.h"

#include <sys/types.h>

enum {
	BROWSER_FRAMES_MAX = 512,  /* tracked frames of one tab, 250 bytes each */
	BROWSER_URL_MAX = 4 << 20, /* bytes of a data URL; Chrome itself stops at 2 MB */
};

/* The size of the viewport in pixels, as the contract defines it. */
enum { BROWSER_WIDTH = 1280, BROWSER_HEIGHT = 720 };

enum frame_event {
	FRAME_INIT = 1,    /* a document has started */
	FRAME_CONTENT = 2, /* DOMContentLoaded */
	FRAME_LOAD = 4,
};

struct page_frame {
	struct list node;
	char id[CDP_ID_MAX];
	char parent[CDP_ID_MAX]; /* empty for the main frame */
	char loader[CDP_ID_MAX]; /* loader ID of its document */
	bool loaded;             /* its document has fired the load event */
	int64_t context;         /* of the page's own scripts; 0: there is none now */
	unsigned events;         /* of enum frame_event, since the last init */
	bool loading;            /* loading has started and not stopped */
	uint64_t started;        /* when loading last started */
	uint64_t stopped;        /* when loading last stopped */
};

enum tab_state {
	TAB_NEW, /* attached, not set up yet; its scripts are paused */
	TAB_READY,
	TAB_CRASHED, /* the renderer has exited; browser_settle makes the tab blank */
	TAB_CLOSED,  /* closed; freed by the next settle */
};

struct tab {
	struct list node; /* in order of creation */
	struct browser *browser;
	enum tab_state state;
	char target[CDP_ID_MAX];
	char session[CDP_ID_MAX];
	struct list frames; /* the first is the main frame, which always exists */
	struct buf url;     /* of the current document */
	uint64_t shown;     /* the highest value is the tab that was last activated */
	uint64_t navigation_time; /* when a navigation, or a part of one, was last seen */
	unsigned navigated;       /* count of documents and navigations within them */
	bool crash_reset;         /* the tab is blank because it crashed */
	uint64_t crashed;         /* when the tab last crashed */
	bool busy;                /* its scripts did not answer the last time */
	/*
	 * The last document that failed to load during tab_navigate_history, and the
	 * reason.
	 */
	char failed_loader[CDP_ID_MAX];
	char failure_text[CDP_ID_MAX];

	/* The last file chooser that opened. choosers counts them. */
	unsigned choosers;
	int64_t chooser_node; /* backendNodeId */
	bool chooser_multiple;
	/* The data of the last Input.dragIntercepted event. drags counts the events. */
	unsigned drags;
	struct buf drag;
	uint64_t dialog; /* when the open dialog was answered; 0: no dialog is open */

	double mouse_x, mouse_y; /* where input last moved the mouse */
	unsigned held, buttons;  /* modifiers and buttons that are pressed */
};

enum download_state {
	DOWNLOAD_NONE, /* no download is left to report */
	DOWNLOAD_STARTED,
	DOWNLOAD_SLOW, /* the wait for it timed out; do not wait again */
	DOWNLOAD_DONE,
	DOWNLOAD_FAILED,
};

/* A file that is being downloaded to the download folder. */
struct download {
	enum download_state state;
	char guid[CDP_ID_MAX]; /* also the file's name in that folder */
};

struct browser {
	struct cdp cdp;
	struct list tabs;
	struct tab *active; /* NULL only if there is no tab */
	uint64_t last_shown;
	struct download download; /* the last download that started */
	bool by_place;            /* actions may use coordinates and keys */
	pid_t pid;                /* 0: the browser was started by another program */
	/* The context of our tabs if others use the browser, too; else empty. */
	char context[CDP_ID_MAX];
	char cast_session
		[CDP_ID_MAX]; /* the session whose screencast runs; empty: none */

	/*
	 * Set by the caller: receives each picture of the screencast as Base64, or
	 * whatever else is inside the JSON string. It must not block. NULL: there is no
	 * screencast. browser_update_cast must follow a change.
	 */
	void (*on_picture)(void *arg, struct str jpeg);
	void *picture_arg;
};

/*
 * Takes over both pipes of a browser that has just started as process pid, and sets the
 * browser up with one blank tab. downloads is a folder. browser_free must follow, also
 * after a failure.
 */
int browser_init(struct browser *b, int in, int out, pid_t pid, const char *downloads,
	uint64_t deadline) MUST_USE;
/*
 * Like browser_init, for a browser that another program has started, over the socket of
 * a WebSocket. Our tabs have a browser context with cookies of its own. The browser
 * disposes of the context when the socket is closed. The tabs of others are left alone.
 */
int browser_init_socket(
	struct browser *b, int fd, const char *downloads, uint64_t deadline) MUST_USE;
/* Sends nothing to the browser. */
void browser_free(struct browser *b);

/* --- Tabs */

/* The active tab. It is never NULL after a browser_settle that returned 0. */
struct tab *browser_active_tab(struct browser *b);
/* The tab at index in order of creation, or NULL. */
struct tab *browser_tab_at(struct browser *b, size_t index);
size_t browser_count_tabs(const struct browser *b);
/* The index of t; browser_count_tabs() if t is not in the list. */
size_t browser_find_tab_index(const struct browser *b, const struct tab *t);
/* Creates a blank tab and activates it. */
int browser_new_tab(struct browser *b, uint64_t deadline) MUST_USE;
/*
 * Closes the active tab. The last tab in order becomes active; if none is left, a new
 * tab is created.
 */
int browser_close_tab(struct browser *b, uint64_t deadline) MUST_USE;
int browser_focus_tab(struct browser *b, struct tab *t, uint64_t deadline) MUST_USE;

struct page_frame *tab_main_frame(struct tab *t);
/* The frame with that ID, or NULL. */
struct page_frame *tab_find_frame(struct tab *t, struct str id);

/* --- Requests to a tab */

/* cdp_call for the tab's session. Returns -EPIPE if the tab has crashed or is closed. */
int tab_call(struct tab *t, const char *method, struct str params, uint64_t deadline,
	struct arena *a, struct json_val *result) MUST_USE;
/* Like tab_call with the contents of params. Frees params. */
int tab_call_take(struct tab *t, const char *method, struct buf *params,
	uint64_t deadline, struct arena *a, struct json_val *result) MUST_USE;
int tab_send(struct tab *t, const char *method, struct str params, uint64_t *id) MUST_USE;
/* cdp_wait for a request of tab_send. Sets up new tabs: the answer may wait for them. */
int tab_wait(struct tab *t, uint64_t id, uint64_t deadline, struct arena *a,
	struct json_val *result) MUST_USE;
/*
 * Reports whether the page navigates to another page from which nothing has arrived yet.
 * Chromium holds requests back until then, and no script of the page is to blame. After
 * two minutes of such a navigation the function returns false: a script that does not
 * end also keeps the other page from loading.
 */
bool tab_leaves(struct tab *t);
/* Ends the running script of the page. Requests that wait for that script are refused. */
void tab_end_script(struct tab *t);
/*
 * Calls a JavaScript function ("function (a, b) {...}", or async) in the main world of
 * that frame, and returns the result by value. args is a JSON array of the protocol's
 * arguments ([{"value":1},{"objectId":"..."}]), or empty. Returns the errors of
 * tab_call. ERR_REFUSED is returned also if the function throws, with the exception in
 * cdp.refusal, and if the frame runs no scripts.
 */
int tab_eval(struct tab *t, struct page_frame *f, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct json_val *value) MUST_USE;
/* Like tab_eval, with the object as "this". An object is an objectId of the page. */
int tab_eval_on(struct tab *t, struct str object, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct json_val *value) MUST_USE;
/* Like tab_eval, but returns a reference (objectId); empty for null. */
int tab_eval_object(struct tab *t, struct page_frame *f, const char *function,
	struct str args, uint64_t deadline, struct arena *a, struct str *object) MUST_USE;
/*
 * Creates an isolated world in the document of a frame, in which functions can be
 * called. It shares the elements of the page's main world and nothing else.
 */
int tab_create_world(struct tab *t, struct str frame, uint64_t deadline, struct arena *a,
	struct page_frame *world) MUST_USE;

/* --- Navigation */

/* The result of a navigation. words is in the arena or static, or empty. */
struct tab_navigation {
	enum {
		NAV_LOADED,   /* the page has loaded */
		NAV_NO_ENTRY, /* the history has no such entry */
		NAV_REFUSED,  /* error of the protocol; its text is in words */
		NAV_DOWNLOAD, /* the URL started a download */
		NAV_FAILED,   /* net::ERR_...; its text is in words */
		NAV_TIMEOUT,  /* not loaded by the deadline; the load continues */
	} result;
	struct str reason;
};
/* Navigates to a URL and waits until the page has loaded. */
int tab_navigate(struct tab *t, struct str url, uint64_t deadline, struct arena *a,
	struct tab_navigation *moved) MUST_USE;
/* Goes back one entry of the history (-1) or forward (1). */
int tab_navigate_history(struct tab *t, int step, uint64_t deadline, struct arena *a,
	struct tab_navigation *moved) MUST_USE;

/* --- Waiting */

/* Handles events and sets up new tabs until the time is over. */
int browser_pump(struct browser *b, uint64_t until) MUST_USE;
/* Like browser_pump, but ends when done returns true. Else returns -ETIMEDOUT. */
int browser_wait_until(struct browser *b, bool (*done)(void *arg), void *arg,
	uint64_t deadline) MUST_USE;
/*
 * Called after each step of an action. Waits until the navigations that the step started
 * have brought a document and all activity has stopped. Sets up new tabs, frees closed
 * ones and leaves one tab active. The waits are bounded, whatever the pages do. Crashed
 * tabs are blank afterwards.
 */
int browser_settle(struct browser *b, uint64_t deadline) MUST_USE;
/*
 * Waits until the scripts of the active page answer. A page whose process was stopped is
 * killed, and is blank afterwards. -ETIMEDOUT: the page is busy. If the page is still
 * busy at the next call, its script is ended. -EPIPE: ending the script did not help and
 * the tab was closed. A page for which tab_leaves holds is left alone.
 */
int browser_wake_page(struct browser *b) MUST_USE;

/* Makes the active tab, and no other tab, send its screencast to b->picture. */
void browser_update_cast(struct browser *b);

#endif
