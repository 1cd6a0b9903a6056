/*
 * The server's side of the Model Context Protocol over Streamable HTTP (revisions
 * 2024-11-05 to 2025-06-18): sessions, what is wrong with a request, answers as JSON or,
 * where they take long, as a stream of events. What the methods mean is decided above,
 * in mcp_ops; initialize, ping and cancellation are understood here.
 */
#ifndef PLUG_MCP_SERVER_H
#define PLUG_MCP_SERVER_H

#include "limits.h"
#include "loop/loop.h"
#include "net/jsonrpc.h"
#include "net/request.h"

struct mcp_post;
struct mcp_call;
struct mcp_server;

enum { MCP_SESSION_ID = 32 };

struct mcp_session {
	struct mcp_server *server;
	struct mcp_session *next; /* used less recently */
	char id[MCP_SESSION_ID + 1];
	const char *version;     /* of the protocol, as agreed */
	struct mcp_call *calls;  /* that have no answer yet */
	struct mcp_post *stream; /* HTTP+SSE: where its answers go; else NULL */
};

/* A request on its way. Lives in its arena, as a rule the HTTP request's. */
struct mcp_call {
	struct mcp_post *post;
	struct mcp_session *session;
	struct mcp_call *next; /* of the session */
	struct arena *arena;
	struct request *rq; /* whose end tells that the peer has left */
	bool apart;         /* the arena is not that of rq: it ends with the call */
	struct jsonrpc message;
	struct str progress_token; /* as it was written; empty for none */
	void *own;                 /* of the layer above */
};

struct mcp_ops {
	/* Writes the members of an InitializeResult behind its protocolVersion. */
	void (*describe)(struct mcp_server *s, struct jw *w);
	/* A result or an error follows, at once or later. */
	void (*call)(struct mcp_call *c);
	/* The client wants no answer any more: end the work, and forget the call. */
	void (*cancel)(struct mcp_call *c);
	/* Its progress comes by mcp_progress; else it is told that time goes by. */
	bool tells_progress;
	/* The connection has ended, which does not mean that; forget the call. */
	void (*leave)(struct mcp_call *c);
};

/* One endpoint. Zeroed but for the first three to begin with. */
struct mcp_server {
	const struct mcp_ops *ops;
	struct loop *loop;
	void *arg;
	struct mcp_session *sessions; /* most recently used first */
	unsigned sessions_n;
};

/* Ends the sessions of streams by which no answer is to come. */
void mcp_server_drain(struct mcp_server *s);
/* Ends streams and frees the sessions; calls that wait are not answered any more. */
void mcp_server_free(struct mcp_server *s);

/* Handlers of the routes of an endpoint, POST and DELETE. */
void mcp_server_post(struct mcp_server *s, struct request *rq);
void mcp_server_delete(struct mcp_server *s, struct request *rq);
/*
 * HTTP+SSE, of 2024-11-05: GET opens a session with a stream of answers, and tells the
 * path for its messages, which are POSTs with ?session_id=ID.
 */
void mcp_server_stream(struct mcp_server *s, struct request *rq, const char *path);
void mcp_server_message(struct mcp_server *s, struct request *rq);
/* The peer of a POST or a stream has hung up. */
void mcp_server_gone(struct request *rq);

/*
 * Whether an Origin may ask: none, or a page of this machine. Any other, which a
 * browser was led to us by, is answered with a 403.
 */
bool mcp_origin_ok(struct request *rq) MUST_USE;

/* Opens the answer up to the value of its result, which the caller writes, and ends. */
void mcp_result_begin(struct mcp_call *c, struct jw *w);
/* Sends it; c is gone then. */
void mcp_result_end(struct mcp_call *c, struct jw *w);
/* The same for an error. */
void mcp_error(struct mcp_call *c, int code, struct str words);

/* The same with what another server has answered. */
void mcp_answer(struct mcp_call *c, const struct jsonrpc *m);
/* Passes progress on under the client's token, if there is a way to tell him. */
void mcp_progress(struct mcp_call *c, struct json_val params);

#endif
