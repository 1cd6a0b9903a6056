/* What the files of the server of MCP share; for src/plug only. */
#ifndef PLUG_MCP_PRIVATE_H
#define PLUG_MCP_PRIVATE_H

#include "plug/mcp_server.h"

#define MCP_JSON "application/json"

/* The newest of the protocol's versions that are spoken here; NULL behind the last. */
extern const char *const mcp_versions[];
/* The one that is meant; NULL for another. */
const char *mcp_version_find(struct str version);

/* Answers with an error that no id belongs to. */
void mcp_refuse(struct request *rq, unsigned status, int code, const char *words);
/* Whether the field Accept has room for events, or for JSON. */
bool mcp_takes_events(struct request *rq);
bool mcp_takes_json(struct request *rq);
bool mcp_is_json(struct request *rq);
/* Whether Origin and version are good, which counts first. False, and answered. */
bool mcp_is_welcome(struct request *rq) MUST_USE;
bool mcp_is_initialize(const struct jsonrpc *m);
/*
 * The messages of a body, *n of them, checked, in the arena; a list of them has *batch
 * set. NULL, and answered, where something is wrong.
 */
struct jsonrpc *mcp_read_messages(
	struct request *rq, struct arena *arena, struct str body, size_t *n, bool *batch);

/*
 * What one POST has brought; its request's user, in the request's arena. Or a stream that
 * answers come by, on the heap, which is complete when its peer has left.
 */
struct mcp_post {
	struct mcp_server *server;
	struct request *rq;
	unsigned waiting; /* calls without an answer */
	unsigned beats;
	bool batch;
	bool held;          /* more calls may follow: it cannot be complete yet */
	bool streams;       /* its answers are events */
	bool no_json;       /* the client takes nothing but events */
	bool full;          /* much of it is not read yet */
	struct buf text;    /* the answer that is being written, to become an event */
	struct timer timer; /* to begin with events, then to show that we live */
};

/* A session that nobody has heard of yet. NULL: there is no room. */
struct mcp_session *mcp_session_new(struct mcp_server *server, enum mcp_way way);
/* NULL for an id that is not known. */
struct mcp_session *mcp_session_find(
	struct mcp_server *server, enum mcp_way way, struct str id);
/* That of the request; NULL, and answered, when it has none that lives. */
struct mcp_session *mcp_session_of(struct mcp_server *server, struct request *rq);
/* Whether its answers are events, or may become that. */
bool mcp_may_stream(const struct mcp_post *p);
/* From now on answers are events; once is enough. */
void mcp_begin_stream(struct mcp_post *p);
void mcp_send(struct mcp_post *p, struct str piece);
/* Sends text as an event, and empties it. */
void mcp_write_event(struct mcp_post *p);
/* Shows that we live, and calls itself again. */
void mcp_beat(struct timer *t);
/* Obeys one message. An arena apart from the request's ends with the call. -ENOMEM. */
int mcp_take(struct mcp_post *p, struct mcp_session *s, const struct jsonrpc *m,
	struct arena *arena) MUST_USE;
/* Frees the stream of a session, whose peer hears nothing any more. */
void mcp_close_stream(struct mcp_session *s);
/* The same for one that is still there. */
void mcp_end_stream(struct mcp_session *s);

/* --- mcp_tell.c */

/* There is a way to it. */
void mcp_hears_now(struct mcp_session *s);

/* A client's answer to one of them, and its progress. */
void mcp_take_response(struct mcp_session *s, const struct jsonrpc *m);
void mcp_take_progress(struct mcp_session *s, const struct jsonrpc *m);
/* The call that they were about has ended. */
void mcp_questions_leave(struct mcp_session *s, const struct mcp_call *about);
/* The session ends. */
void mcp_questions_end(struct mcp_session *s);

#endif
