/* Shared by the files of the MCP server; for src/mcp only. */
#ifndef MCP_MCP_PRIVATE_H
#define MCP_MCP_PRIVATE_H

#include "mcp/mcp_server.h"

#define MCP_JSON "application/json"

/* The supported protocol versions, newest first; NULL at the end. */
extern const char *const mcp_versions[];
/* The supported version equal to version; NULL if there is none. */
const char *mcp_find_version(struct str version);

/* Answers with an error that has no id. */
void mcp_reply_error(struct request *rq, unsigned status, int code, const char *words);
/* Whether the field Accept allows events, or JSON. */
bool mcp_accepts_events(struct request *rq);
bool mcp_accepts_json(struct request *rq);
bool mcp_is_json(struct request *rq);
/*
 * Whether Origin and protocol version are allowed. Checked before anything else of a
 * request. False: the request is answered.
 */
bool mcp_check_request(struct request *rq) MUST_USE;
bool mcp_is_initialize(const struct jsonrpc *m);
/*
 * Reads the messages of a body, *n of them, checked, in the arena. *batch: they are a
 * list. NULL: something is wrong, and the request is answered.
 */
struct jsonrpc *mcp_read_messages(
	struct request *rq, struct arena *arena, struct str body, size_t *n, bool *batch);

/*
 * The messages of a POST; the user of its request, in the request's arena. Or a stream
 * for answers, on the heap, which stays incomplete until its peer has disconnected.
 */
struct mcp_post {
	struct mcp_server *server;
	struct request *rq;
	unsigned waiting; /* calls without an answer */
	unsigned beats;
	bool batch;
	bool incomplete;    /* more calls may follow, so it is not complete yet */
	bool streams;       /* answers are sent as events */
	bool no_json;       /* the client accepts events only */
	bool full;          /* the client has not read much of it */
	struct buf text;    /* the answer that is being written and becomes an event */
	struct timer timer; /* until events begin, then between signs of life */
};

/* The functions of requests that a post holds. */
extern const struct request_ops mcp_post_ops;
/* All that was written to a stream has been sent. */
void mcp_post_on_writable(struct request *rq);

/*
 * Creates a session, whose id the client does not have yet. NULL: too many sessions, no
 * memory or no random bytes.
 */
struct mcp_session *mcp_session_new(struct mcp_server *server, enum mcp_transport way);
/*
 * The session with this id, which becomes the most recently used; NULL if there is none.
 */
struct mcp_session *mcp_session_find(
	struct mcp_server *server, enum mcp_transport way, struct str id);
/*
 * The session of the request. NULL: the request has none or it has ended; the request is
 * answered.
 */
struct mcp_session *mcp_session_of(struct mcp_server *server, struct request *rq);
/* Whether the answers of p are events, or may become events. */
bool mcp_may_stream(const struct mcp_post *p);
/* From now on the answers of p are events. May be called again. */
void mcp_begin_stream(struct mcp_post *p);
void mcp_send(struct mcp_post *p, struct str piece);
/* Sends p->text as an event, and empties it. */
void mcp_write_event(struct mcp_post *p);
/* Sends a sign of life, and sets the timer for the next one. */
void mcp_send_heartbeat(struct timer *t);
/*
 * Handles a message. If arena is not the request's, it is freed when the call ends.
 * -ENOMEM.
 */
int mcp_handle_message(struct mcp_post *p, struct mcp_session *s, const struct jsonrpc *m,
	struct arena *arena) MUST_USE;
/* Frees the stream of a session whose peer has disconnected. */
void mcp_close_stream(struct mcp_session *s);
/* As mcp_close_stream, for a peer that is still connected: ends the reply first. */
void mcp_end_stream(struct mcp_session *s);

/* --- mcp_tell.c */

/* The client can be reached from now on. */
void mcp_mark_reachable(struct mcp_session *s);

/* Handles a client's response to a question, and its progress report. */
void mcp_handle_response(struct mcp_session *s, const struct jsonrpc *m);
void mcp_handle_progress(struct mcp_session *s, const struct jsonrpc *m);
/* The call about has ended: removes it from the questions that belong to it. */
void mcp_detach_client_requests(struct mcp_session *s, const struct mcp_call *about);
/* The session ends: all its questions fail. */
void mcp_fail_client_requests(struct mcp_session *s);

#endif
