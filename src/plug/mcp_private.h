/* What the files of the server of MCP share; for src/plug only. */
#ifndef PLUG_MCP_PRIVATE_H
#define PLUG_MCP_PRIVATE_H

#include "plug/mcp_server.h"

#define MCP_JSON "application/json"
#define MCP_EVENTS "text/event-stream"

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
	struct buf text;    /* the answer that is being written, to become an event */
	struct timer timer; /* to begin with events, then to show that we live */
};

/* A session that nobody has heard of yet. NULL: there is no room. */
struct mcp_session *mcp_session_new(struct mcp_server *server);
/* NULL for an id that is not known. */
struct mcp_session *mcp_session_find(struct mcp_server *server, struct str id);
/* From now on answers are events; once is enough. */
void mcp_begin_stream(struct mcp_post *p);
void mcp_send(struct mcp_post *p, struct str piece);
/* Shows that we live, and calls itself again. */
void mcp_beat(struct timer *t);
/* Obeys one message. An arena apart from the request's ends with the call. -ENOMEM. */
int mcp_take(struct mcp_post *p, struct mcp_session *s, const struct jsonrpc *m,
	struct arena *arena) MUST_USE;
/* Frees the stream of a session, whose peer hears nothing any more. */
void mcp_close_stream(struct mcp_session *s);

#endif
