/* The events of a watch, as they are sent to the client. */
#ifndef SERVER_FILES_WATCH_STREAM_H
#define SERVER_FILES_WATCH_STREAM_H

#include "base/jw.h"
#include "fs/watch.h"
#include "server/files/transfer_io.h"

struct watch_stream {
	struct transfer_io *io;
	uint64_t beat_ms; /* between heartbeats */
	uint64_t beat;    /* when the next heartbeat is due, monotonic ms */
	uint64_t id;      /* of the last event */
	bool full;        /* the lack of watches was reported */
};

void watch_stream_init(struct watch_stream *s, struct transfer_io *io, uint64_t beat_s);

/* Begin and end an event. The caller writes the members of its object in between. */
void watch_stream_begin(struct watch_stream *s, struct jw *jw, const char *name);
void watch_stream_end(struct watch_stream *s, struct jw *jw);
/* Writes a path, and its bytes as base64 if they are not UTF-8. */
void watch_stream_put_path(struct jw *jw, const char *key, struct str path);
/* Sends a change. 0 or -errno. */
int watch_stream_send_change(
	struct watch_stream *s, const struct watch_event *e) MUST_USE;
/* Reports a folder whose changes are not reported. */
void watch_stream_put_unwatched(struct watch_stream *s, struct str path, int err);
/* The message for an error of a watch, with the next step. */
const char *watch_stream_get_error(int err);

/* Send the output, if there is much of it or in any case, and heartbeats. 0 or -errno. */
int watch_stream_flush_large(struct watch_stream *s) MUST_USE;
int watch_stream_flush(struct watch_stream *s) MUST_USE;

#endif
