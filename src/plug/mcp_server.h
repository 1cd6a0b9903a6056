/*
 * The server's side of the Model Context Protocol over Streamable HTTP (revisions
 * 2024-11-05 to 2025-06-18): sessions, what is wrong with a request, answers as JSON or,
 * where they take long, as a stream of events; and what clients are asked and told. What
 * the methods mean is decided above, in mcp_ops; initialize, ping and cancellation are
 * understood here.
 */
#ifndef PLUG_MCP_SERVER_H
#define PLUG_MCP_SERVER_H

#include "limits.h"
#include "loop/loop.h"
#include "net/jsonrpc.h"
#include "net/request.h"

struct mcp_post;
struct mcp_call;
struct mcp_question;
struct mcp_server;

enum { MCP_SESSION_ID = 32, MCP_CANCELLED_MAX = 48 };

/* The transports of the protocol, which do not share sessions. */
enum mcp_way {
	MCP_BY_POST,   /* Streamable HTTP */
	MCP_BY_STREAM, /* HTTP+SSE: it ends with its stream */
	MCP_WAYS,
};

/* What a client has said that it can be asked for: bits. */
enum {
	MCP_SAMPLING = 1 << 0,
	MCP_ELICITATION = 1 << 1,
	MCP_ROOTS = 1 << 2,
};

struct mcp_session {
	struct mcp_server *server;
	struct mcp_session *next; /* used less recently */
	enum mcp_way way;
	char id[MCP_SESSION_ID + 1];
	const char *version;     /* of the protocol, as agreed */
	unsigned can;            /* MCP_SAMPLING and the like */
	struct mcp_call *calls;  /* that have no answer yet */
	struct mcp_post *stream; /* what is said unasked goes there; NULL: nowhere */
	struct mcp_question *questions;
	bool missed; /* something could not be told */
	void *own;   /* of the layer above; to be freed in ended */
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

/* A request to a client, on its way. Of its owner. */
struct mcp_question {
	struct mcp_session *session; /* NULL: it is not on its way */
	struct mcp_question *next;   /* of the session */
	struct mcp_call *about;      /* during which it was asked; NULL: that has ended */
	uint64_t id;
	/* The last call: the response; NULL: the session has ended. */
	void (*done)(struct mcp_question *q, const struct jsonrpc *m);
	/* The client reports progress: the params of that. */
	void (*progress)(struct mcp_question *q, struct json_val params);
};

/* Those behind cancel and leave may be NULL. */
struct mcp_ops {
	/* Writes the members of an InitializeResult behind its protocolVersion. */
	void (*describe)(struct mcp_server *s, struct jw *w);
	/* A result or an error follows, at once or later. */
	void (*call)(struct mcp_call *c);
	/* The client wants no answer any more: end the work, and forget the call. */
	void (*cancel)(struct mcp_call *c);
	/* The connection has ended, which does not mean that; forget the call. */
	void (*leave)(struct mcp_call *c);
	/* Its progress comes by mcp_progress; else it is told that time goes by. */
	bool tells_progress;
	/* A notification of a client, but for those about calls and questions. */
	void (*heard)(struct mcp_session *s, const struct jsonrpc *m);
	/* There is a way to it, or room; missed: it was not told everything. */
	void (*hears)(struct mcp_session *s, bool missed);
	/* It is not listed any more, and about to be freed. */
	void (*ended)(struct mcp_session *s);
};

/* One endpoint. Zeroed but for the first three to begin with. */
struct mcp_server {
	const struct mcp_ops *ops;
	struct loop *loop;
	void *arg;
	struct mcp_session *sessions; /* most recently used first */
	unsigned sessions_n[MCP_WAYS];
	uint64_t questions; /* that were asked so far */
};

/* Ends the streams by which no answer is to come, and sessions with them. */
void mcp_server_drain(struct mcp_server *s);
/* Ends streams and frees the sessions; calls that wait are not answered any more. */
void mcp_server_free(struct mcp_server *s);

/* Handlers of the routes of an endpoint, POST and DELETE. */
void mcp_server_post(struct mcp_server *s, struct request *rq);
void mcp_server_delete(struct mcp_server *s, struct request *rq);
/* GET: a stream for what its session is told unasked, in place of one that it has. */
void mcp_server_listen(struct mcp_server *s, struct request *rq);
/*
 * HTTP+SSE, of 2024-11-05: GET opens a session with a stream of answers, and tells the
 * path for its messages, which are POSTs with ?session_id=ID.
 */
void mcp_server_stream(struct mcp_server *s, struct request *rq, const char *path);
void mcp_server_message(struct mcp_server *s, struct request *rq);
/* The peer of a POST or a stream has hung up. */
void mcp_server_gone(struct request *rq);
/* All that was written to a stream has been sent. */
void mcp_server_room(struct request *rq);

/*
 * Whether an Origin may ask: none, or a page of this machine. Any other, which a
 * browser was led to us by, is answered with a 403.
 */
bool mcp_origin_ok(struct request *rq) MUST_USE;

/* --- Answers: mcp_server.c */

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

/* --- What clients are asked and told: mcp_tell.c */

/*
 * Asks a client: method, and its params in JSON; done follows. about is a call of his
 * that this belongs to, or NULL. ERR_CLOSED: there is no way to him now; ERR_LIMIT: he
 * does not read, or answer; -ENOMEM.
 */
int mcp_ask_client(struct mcp_session *s, struct mcp_call *about, struct mcp_question *q,
	struct str method, struct str params) MUST_USE;
/* The id that the next question will have, which may stand in it. */
uint64_t mcp_next_question(const struct mcp_server *s);
/* Forgets a question; the client is told that no answer is needed. */
void mcp_question_forget(struct mcp_question *q);
/* Whether there is a way to him now. */
bool mcp_hears(const struct mcp_session *s, const struct mcp_call *about);
/* Tells a client. Without a way to him, or while he does not read, that is left out. */
void mcp_tell(struct mcp_session *s, struct mcp_call *about, struct str method,
	struct str params);
/* The notification that a request needs no answer, and its params, in room. */
#define MCP_CANCELLED "notifications/cancelled"
struct str mcp_cancelled_params(char room[MCP_CANCELLED_MAX], uint64_t id);
/* The params of progress, with another token. */
void mcp_progress_params(struct buf *out, struct str token, struct json_val params);

#endif
