/*
 * One browser, spoken to by the DevTools protocol over a pair of pipes, or a WebSocket.
 *
 * Everything here may wait, up to a deadline in milliseconds of base/clock.h, and is
 * for a process that has nothing else to do. Who waits for one thing takes whatever
 * else comes: events go to their function, answers are kept for those who ask for
 * them. The texts of params and answers are JSON.
 */
#ifndef CDP_CDP_H
#define CDP_CDP_H

#include "base/json.h"
#include "cdp/pipe.h"
#include "limits.h"
#include "net/ws.h"

/*
 * An event; session is empty for one of the browser itself. It may post, but not wait.
 * What it is given lives until it returns.
 */
typedef void cdp_event_fn(
	void *ctx, struct str session, struct str method, struct json_val params);

/* One that was asked for, from cdp_send to cdp_wait. */
struct cdp_reply {
	uint64_t id; /* 0: nobody waits */
	char session[CDP_ID_MAX];
	bool here;
	int err; /* of one that is here and has no text */
	struct buf text;
};

struct cdp {
	int in, out; /* what it says and hears, or a socket twice; -1: it is gone */
	struct cdp_pipe pipe;
	struct ws ws;     /* of a socket */
	struct buf queue; /* on its way to the browser */
	uint64_t last_id;
	struct cdp_reply replies[CDP_PENDING_MAX];
	struct arena memory; /* of one event */

	/* The caller's. */
	cdp_event_fn *event;
	bool (*wants)(struct str method); /* whether it is for event at all */
	void *ctx;
	int also;                /* a descriptor; input there ends waits; or -1 */
	int (*woken)(void *arg); /* it has come: 0 to go on; -errno for who waits */
	void *woken_arg;
	/*
	 * Silent although it was asked: true to go on waiting. NULL: always. Called with
	 * 0 before it is asked.
	 */
	bool (*patient)(void *ctx, uint64_t silent_ms);

	uint64_t heard;    /* when it last said something */
	uint64_t asked;    /* when it was last asked whether it lives; 0: it is not */
	uint64_t alive_id; /* of that question */

	/* Of the last answer with ERR_REFUSED: the browser's words. */
	char refusal[CDP_WORDS_MAX];
	int refusal_code;
};

/* Takes both descriptors. The caller's members are set behind this. */
void cdp_init(struct cdp *c, int in, int out);
/* The same with a socket behind the handshake of a WebSocket. */
void cdp_init_socket(struct cdp *c, int fd);
/* What is waited for fails from now on. Legal twice. */
void cdp_close(struct cdp *c);

/*
 * Asks; params are an object or empty, session is empty for the browser itself.
 * cdp_wait with *id has to follow, or cdp_forget. ERR_CLOSED, ERR_LIMIT, -ENOMEM.
 */
int cdp_send(struct cdp *c, struct str session, const char *method, struct str params,
	uint64_t *id) MUST_USE;
/*
 * Waits for the answer. 0 with the member "result", which lives as long as a; both may
 * be NULL. -ETIMEDOUT: it will not be waited for any more; ERR_CLOSED: the browser is
 * gone; ERR_REFUSED, with c->refusal; -EPIPE: the page is gone, see cdp_fail; what
 * woken says; ERR_LIMIT, ERR_SYNTAX, ERR_UTF8, -ENOMEM: no such answer can be read.
 */
int cdp_wait(struct cdp *c, uint64_t id, uint64_t deadline, struct arena *a,
	struct json_val *result) MUST_USE;
/* Whether cdp_wait would give it at once. */
bool cdp_answered(struct cdp *c, uint64_t id);
void cdp_forget(struct cdp *c, uint64_t id);
/* Both in one. */
int cdp_call(struct cdp *c, struct str session, const char *method, struct str params,
	uint64_t deadline, struct arena *a, struct json_val *result) MUST_USE;
/* Says, and nobody wants to know what comes of it. */
void cdp_post(struct cdp *c, struct str session, const char *method, struct str params);
/*
 * Takes events until then; what is here already at least. 0; ERR_CLOSED; what woken
 * says.
 */
int cdp_pump(struct cdp *c, uint64_t until) MUST_USE;
/* The same, but comes back after the first messages. */
int cdp_turn(struct cdp *c, uint64_t until) MUST_USE;
/* All that wait for an answer from that session get err instead. */
void cdp_fail(struct cdp *c, struct str session, int err);

#endif
