/*
 * The stream: one WebSocket that carries many channels, such as the live terminal of a
 * session, each with its own credit. Whoever reads slowly has nothing queued for him:
 * what he has not asked for yet stays where it comes from. docs/protocol.md has the
 * frames.
 */
#ifndef SRV_STREAM_H
#define SRV_STREAM_H

#include "net/ws_conn.h"
#include "srv/api.h"

struct stream;
struct streams;

/* Those of a server; NULL when out of memory. */
struct streams *streams_new(struct api *api) MUST_USE;
/* Ends all at once. */
void streams_del(struct streams *all);
/* Says goodbye to all; no more are opened. */
void streams_stop(struct streams *all);

/* A higher lease may have been shown: who has shown a lower one is told, and leaves. */
void streams_fence(struct api *api);

/* GET /v1/stream: becomes one. */
void streams_open(struct api *api, struct request *rq, struct str name);

/*
 * For a connection that this server makes: the conf for ws_conn_dial, whose connection is
 * then given to stream_begin. ended is called at its end, see ws_ops.
 */
struct stream *stream_new(struct streams *all,
	void (*ended)(void *arg, unsigned code, const char *why), void *arg);
struct ws_conf stream_conf(struct stream *s);
void stream_begin(struct stream *s, struct ws_conn *ws);
void stream_del(struct stream *s);

#endif
