/*
 * The stream: one WebSocket with many channels, such as the live terminal of a session.
 * Each channel has its own credit. Output for which the peer has given no credit is not
 * queued; it stays at its source. docs/stream.md describes the frames.
 */
#ifndef SERVER_STREAM_STREAM_H
#define SERVER_STREAM_STREAM_H

#include "net/ws_conn.h"
#include "server/api.h"

struct stream;
struct streams;

/* The streams of a server; NULL: out of memory. */
struct streams *streams_new(struct api *api) MUST_USE;
/* Ends all streams. */
void streams_del(struct streams *all);
/* Closes all streams with WS_GOING_AWAY. No more are opened. */
void streams_stop(struct streams *all);

/* Fencing: closes streams and attachments whose lease is lower than the highest seen. */
void streams_fence(struct api *api);

/* GET /v1/stream: the connection becomes a stream. */
void streams_open(struct api *api, struct request *rq, struct str name);

/*
 * A stream over a connection that this server makes: stream_conf is for ws_conn_dial, and
 * stream_begin takes the connection. ended is called at its end, see ws_ops.
 */
struct stream *stream_new(struct streams *all,
	void (*ended)(void *arg, unsigned code, const char *why), void *arg);
struct ws_conf stream_conf(struct stream *s);
void stream_begin(struct stream *s, struct ws_conn *ws);
void stream_del(struct stream *s);

#endif
