/* An attached connection: frames to the peer, see process_attach.h. */
#ifndef SERVER_PROCESS_ATTACH_OUTPUT_H
#define SERVER_PROCESS_ATTACH_OUTPUT_H

#include "base/jw.h"
#include "codec/process_frame.h"
#include "net/transport.h"
#include "server/process/process_cursor.h"

enum { ATTACH_COPY = 16384 }; /* shorter frames are copied: one system call less */

/* The frame of output that is being sent. */
struct attach_frame {
	unsigned no; /* number of the output */
	uint8_t head[PROCESS_FRAME_HEAD];
	size_t head_left;
	size_t left;      /* bytes of the payload that are not sent yet */
	struct buf piece; /* a copy of the payload; its last left bytes are unsent */
};

struct attach_output {
	struct transport *transport;
	struct process_cursor cursor;
	struct buf text; /* control frames; unsent from text_at on */
	size_t text_at;
	struct attach_frame frame;
	bool ended;  /* the last frame is queued */
	bool failed; /* the last frame is "error" */
	bool cannot_sendfile;
	bool wide; /* the raised limit of unsent bytes applies */
};

void attach_output_init(struct attach_output *o, struct transport *t);
void attach_output_free(struct attach_output *o);
/* To be called when the transport has its connection. */
void attach_output_start(struct attach_output *o);

/*
 * Sends at most quota bytes. 0: all was sent; 1: not all; or an error of the connection.
 * ERR_RANGE: a part of a frame is lost.
 */
int attach_output_send(struct attach_output *o, size_t quota) MUST_USE;

/* Begin and end a control frame. The caller writes its members in between. */
size_t attach_output_begin_control(
	struct attach_output *o, struct jw *w, const char *type);
void attach_output_end_control(struct attach_output *o, struct jw *w, size_t at);
/* An empty frame of output, which the peer skips. */
void attach_output_put_empty(struct attach_output *o);
/* Sends "error". The connection goes on. */
void attach_output_put_error(struct attach_output *o, const char *detail);
/* Sends "error" as the last frame. No effect if the last frame is queued. */
void attach_output_fail(struct attach_output *o, const char *detail);

#endif
