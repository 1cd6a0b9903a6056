/*
 * The client of one browser, which speaks the DevTools protocol over a pair of pipes or
 * over a WebSocket.
 *
 * Every function here may block, up to a deadline in milliseconds of base/clock.h. The
 * client is for a process that has nothing else to do. While it waits for one message it
 * handles all others: events are passed to the event function, and answers are stored
 * until cdp_wait fetches them. The texts of params and answers are JSON.
 */
#ifndef BROWSER_DEVTOOLS_CDP_H
#define BROWSER_DEVTOOLS_CDP_H

#include "base/json.h"
#include "browser/devtools/pipe.h"
#include "codec/http/ws.h"

/* The limits of a connection, sizes in bytes. */
enum {
	CDP_PENDING_MAX = 64,    /* calls whose answer was not taken yet */
	CDP_EVENT_MAX = 8 << 20, /* larger events are ignored; data URLs have 2 MB */
	CDP_ID_MAX = 64,         /* an identifier of Chrome has 32 digits and a NUL */
	CDP_WORDS_MAX = 512,     /* the text of an error */
};

/*
 * Handles an event. session is empty for an event of the browser itself. The function
 * may post, but must not wait. Its arguments are valid until it returns.
 */
typedef void cdp_event_fn(
	void *ctx, struct str session, struct str method, struct json_val params);

/* An expected reply, from cdp_send to cdp_wait. */
struct cdp_reply {
	uint64_t id; /* 0: the slot is free */
	char session[CDP_ID_MAX];
	bool arrived;
	int err; /* of a reply that has arrived without text */
	struct buf text;
};

struct cdp {
	int in, out; /* pipes from and to the browser, or a socket twice; -1: closed */
	struct cdp_pipe pipe;
	struct ws ws;     /* for a socket */
	struct buf queue; /* data to be sent to the browser */
	uint64_t last_id;
	struct cdp_reply replies[CDP_PENDING_MAX];
	struct arena memory; /* for one event */

	/* Set by the caller. */
	cdp_event_fn *on_event;
	bool (*has_handler)(struct str method); /* whether event handles that method */
	void *ctx;
	int wake_fd; /* a descriptor whose input interrupts waits; -1: none */
	int (*on_wake)(
		void *arg); /* called on that input: 0 goes on; -errno ends waits */
	void *wake_arg;
	/*
	 * Called while the browser is silent after a liveness check: true continues the
	 * wait. NULL: wait always. Also called with silent_ms 0 before the check is
	 * sent.
	 */
	bool (*on_silence)(void *ctx, uint64_t silent_ms);

	uint64_t read_time;  /* when the last data arrived */
	uint64_t check_time; /* when the pending liveness check was sent; 0: none */
	uint64_t check_id;   /* the ID of the last liveness check */

	/* The error message of the last answer with ERR_REFUSED. */
	char refusal[CDP_WORDS_MAX];
	int refusal_code;
};

/* Takes over both descriptors. The caller's members must be set after this call. */
void cdp_init(struct cdp *c, int in, int out);
/* Like cdp_init, for a socket whose WebSocket handshake is done. */
void cdp_init_socket(struct cdp *c, int fd);
/* Closes the connection. Pending requests fail with ERR_CLOSED. May be called twice. */
void cdp_close(struct cdp *c);

/*
 * Sends a request. params is an object or empty; session is empty for the browser
 * itself. cdp_wait or cdp_drop_reply with *id must follow. Returns 0, ERR_CLOSED,
 * ERR_LIMIT or -ENOMEM.
 */
int cdp_send(struct cdp *c, struct str session, const char *method, struct str params,
	uint64_t *id) MUST_USE;
/*
 * Waits for the answer. Returns 0 with the member "result", which lives as long as a;
 * both may be NULL. The request is finished after any result. -ETIMEDOUT: the deadline
 * has passed; ERR_CLOSED: the browser has closed; ERR_REFUSED: the browser refused, with
 * c->refusal; -EPIPE: the page is gone, see cdp_fail_session; the error of woken;
 * ERR_LIMIT, ERR_SYNTAX, ERR_UTF8, -ENOMEM: the answer cannot be read.
 */
int cdp_wait(struct cdp *c, uint64_t id, uint64_t deadline, struct arena *a,
	struct json_val *result) MUST_USE;
/* Whether cdp_wait would return at once. */
bool cdp_has_reply(struct cdp *c, uint64_t id);
void cdp_drop_reply(struct cdp *c, uint64_t id);
/* cdp_send and cdp_wait in one call. */
int cdp_call(struct cdp *c, struct str session, const char *method, struct str params,
	uint64_t deadline, struct arena *a, struct json_val *result) MUST_USE;
/* Sends a request and ignores its result. */
void cdp_post(struct cdp *c, struct str session, const char *method, struct str params);
/*
 * Handles events until that time. Input that is already available is read in any case.
 * Returns 0, ERR_CLOSED or the error of woken.
 */
int cdp_pump(struct cdp *c, uint64_t until) MUST_USE;
/* Like cdp_pump, but returns after the first read. */
int cdp_poll(struct cdp *c, uint64_t until) MUST_USE;
/* Completes all pending requests of that session with err. */
void cdp_fail_session(struct cdp *c, struct str session, int err);

#endif
