/*
 * The server side of the Model Context Protocol over Streamable HTTP (revisions
 * 2024-11-05 to 2025-06-18): sessions, checks of requests, answers as JSON or, if they
 * take long, as a stream of events; and requests and notifications to clients. The layer
 * above handles the methods, in mcp_ops; initialize, ping and cancellation are handled
 * here.
 */
#ifndef MCP_MCP_SERVER_H
#define MCP_MCP_SERVER_H

#include "base/list.h"
#include "codec/http/jsonrpc.h"
#include "limits.h"
#include "loop/loop.h"
#include "net/request.h"

struct mcp_post;
struct mcp_call;
struct mcp_client_request;
struct mcp_server;

enum { MCP_SESSION_ID = 32, MCP_CANCELLED_MAX = 48 };

/* The transports of the protocol, which do not share sessions. */
enum mcp_transport {
	MCP_BY_POST,   /* Streamable HTTP */
	MCP_BY_STREAM, /* HTTP+SSE: the session ends with its stream */
	MCP_TRANSPORTS,
};

/* The kinds of request that a client supports, as bits. */
enum {
	MCP_SAMPLING = 1 << 0,
	MCP_ELICITATION = 1 << 1,
	MCP_ROOTS = 1 << 2,
};

struct mcp_session {
	struct list node; /* in the server's list */
	struct mcp_server *server;
	enum mcp_transport transport;
	char id[MCP_SESSION_ID + 1];
	const char *version;     /* of the protocol, as negotiated */
	unsigned capabilities;   /* MCP_SAMPLING and the like */
	struct list calls;       /* without an answer so far, newest first */
	struct mcp_post *stream; /* for messages outside replies to POSTs; NULL: none */
	struct list questions;   /* newest first */
	bool missed;             /* a message could not be sent */
	void *data;              /* of the layer above; freed in ended */
};

/* A request without an answer so far. Lives in its arena, usually the HTTP request's. */
struct mcp_call {
	struct list node; /* in the session's list */
	struct mcp_post *post;
	struct mcp_session *session;
	struct arena *arena;
	struct request *rq; /* if it ends, the peer has disconnected */
	bool owns_arena;    /* the arena is not that of rq, and is freed with the call */
	struct jsonrpc message;
	struct str progress_token; /* as it was sent, in JSON; empty: none */
	void *data;                /* of the layer above */
};

/* A request to a client without an answer so far. Its owner allocates it. */
struct mcp_client_request {
	struct list node;            /* in the session's list */
	struct mcp_session *session; /* NULL: it was not sent, or is done */
	struct mcp_call *about;      /* the call that it belongs to, or NULL */
	uint64_t id;
	/* The last call: the response; NULL: the session has ended. */
	void (*done)(struct mcp_client_request *q, const struct jsonrpc *m);
	/* The client reports progress with these params. */
	void (*progress)(struct mcp_client_request *q, struct json_val params);
};

/* The members after cancel and leave may be NULL. */
struct mcp_ops {
	/* Writes the members of an InitializeResult after its protocolVersion. */
	void (*describe)(struct mcp_server *s, struct jw *w);
	/* A result or an error follows, at once or later. */
	void (*call)(struct mcp_call *c);
	/* The client has cancelled the call: end the work, and drop the call. */
	void (*cancel)(struct mcp_call *c);
	/* The connection has ended, which is no cancellation: drop the call. */
	void (*drop)(struct mcp_call *c);
	/*
	 * The layer above reports progress by mcp_progress. Otherwise the client receives
	 * a count at intervals.
	 */
	bool sends_progress;
	/* A notification of a client, except those about calls and questions. */
	void (*on_notification)(struct mcp_session *s, const struct jsonrpc *m);
	/*
	 * The client can be reached now, or has space again. missed: messages were lost.
	 */
	void (*on_reachable)(struct mcp_session *s, bool missed);
	/* The session has left the list and is about to be freed. */
	void (*on_session_end)(struct mcp_session *s);
};

/* An endpoint. Zeroed except the first three members. */
struct mcp_server {
	const struct mcp_ops *ops;
	struct loop *loop;
	void *arg;
	struct list sessions; /* most recently used first */
	unsigned sessions_n[MCP_TRANSPORTS];
	uint64_t questions; /* number of questions so far */
};

/* Ends the streams that wait for no answer, and the HTTP+SSE sessions of such streams. */
void mcp_server_drain(struct mcp_server *s);
/* Ends streams and frees the sessions. Calls that wait are not answered. */
void mcp_server_free(struct mcp_server *s);

/* Handlers for the routes of an endpoint, POST and DELETE. */
void mcp_server_post(struct mcp_server *s, struct request *rq);
void mcp_server_delete(struct mcp_server *s, struct request *rq);
/*
 * GET: opens a stream for the session's messages that are no answers. It replaces an
 * existing stream.
 */
void mcp_server_listen(struct mcp_server *s, struct request *rq);
/*
 * HTTP+SSE, of 2024-11-05: GET opens a session with a stream of answers, and sends the
 * path for its messages, which are POSTs with ?session_id=ID.
 */
void mcp_server_stream(struct mcp_server *s, struct request *rq, const char *path);
void mcp_server_message(struct mcp_server *s, struct request *rq);

/*
 * Whether the Origin of a request is allowed: absent, or a page of this machine. A
 * request of any other page is answered with 403, because a website may have led the
 * browser here.
 */
bool mcp_check_origin(struct request *rq) MUST_USE;

/* --- Answers: mcp_server.c */

/*
 * Opens the answer up to the value of its result. The caller writes the value and calls
 * mcp_result_end.
 */
void mcp_result_begin(struct mcp_call *c, struct jw *w);
/* Sends the answer. c must not be used any more. */
void mcp_result_end(struct mcp_call *c, struct jw *w);
/* Answers with an error. */
void mcp_error(struct mcp_call *c, int code, struct str words);

/* Answers with the response of another server. */
void mcp_answer(struct mcp_call *c, const struct jsonrpc *m);
/* Passes progress on under the client's token, if the client can be reached. */
void mcp_progress(struct mcp_call *c, struct json_val params);

/* --- Requests and notifications to clients: mcp_tell.c */

/*
 * Sends a request to a client: method, and its params as JSON. q->done follows. about is
 * the client's call that the request belongs to, or NULL. ERR_CLOSED: the client cannot
 * be reached now; ERR_LIMIT: the client does not read, or does not answer; -ENOMEM.
 */
int mcp_request_client(struct mcp_session *s, struct mcp_call *about,
	struct mcp_client_request *q, struct str method, struct str params) MUST_USE;
/* The id of the next question, for use inside its params. */
uint64_t mcp_next_request_id(const struct mcp_server *s);
/* Drops a question, and sends a cancellation to the client. */
void mcp_cancel_client_request(struct mcp_client_request *q);
/* Whether the client can be reached now. */
bool mcp_is_reachable(const struct mcp_session *s, const struct mcp_call *about);
/*
 * Sends a notification to a client. It is dropped if the client cannot be reached or does
 * not read.
 */
void mcp_notify_client(struct mcp_session *s, struct mcp_call *about, struct str method,
	struct str params);
/* The notification that a request needs no answer, and its params, written to room. */
#define MCP_CANCELLED "notifications/cancelled"
struct str mcp_cancelled_params(char room[MCP_CANCELLED_MAX], uint64_t id);
/* Appends params of progress with another token. */
void mcp_progress_params(struct buf *out, struct str token, struct json_val params);

#endif
