/* A stream and its frames, for stream*.c, and for channel_fd.c, whose terminals wait. */
#ifndef SERVER_STREAM_STREAM_PRIVATE_H
#define SERVER_STREAM_STREAM_PRIVATE_H

#include "net/proof.h"
#include "server/stream/channel.h"

/* Ends the terminals that wait for a peer. */
void terminals_end(struct streams *all);

enum { STREAM_EPOCH = 8 };

struct streams {
	struct api *api;
	struct list list; /* newest first */
	unsigned n;
	struct list terminals; /* terminals with a name, newest first */
	bool stopping;
	char epoch[2 * STREAM_EPOCH + 1];
	struct buf text; /* the frame that is being written */
};

/* The steps of the mutual proof, in order. */
enum stream_proof_step {
	STREAM_PROOF_NONE, /* no proof is possible, or the backend has failed */
	STREAM_PROOF_OFFERED,
	STREAM_PROOF_ANSWERED,
	STREAM_PROOF_DONE,
};

struct stream_proof {
	enum stream_proof_step step;
	struct proof_nonces nonces;
};

struct stream {
	struct list node; /* in the list of streams */
	struct streams *all;
	struct ws_conn *ws; /* NULL: not begun yet, or ended */
	bool lost;          /* the connection ended without a close frame */
	bool trusted;       /* the peer has sent the key or proved it */
	struct stream_proof proof;
	uint64_t lease;       /* lease that the peer has sent; 0: none */
	struct list channels; /* oldest first */
	unsigned channels_n;
	struct channel *turn; /* the next channel to send; NULL: the first */
	struct timer timer;   /* wakes the channels */
	struct later later;
	void (*ended)(void *arg, unsigned code, const char *why); /* may be NULL */
	void *arg;
};

/*
 * Begin and end a text frame. The caller writes members in between. At most one frame is
 * open at a time.
 */
void stream_begin_text(struct stream *s, struct jw *w, const char *type);
/*
 * As stream_begin_text, in a buffer of the caller: other frames may be written
 * meanwhile.
 */
void stream_begin_text_in(struct buf *text, struct jw *w, const char *type);
void stream_end_text(struct stream *s, struct jw *w);
/* Sends a frame of this type with "detail", and with the channel id unless it is 0. */
void stream_send_error(
	struct stream *s, uint64_t id, const char *type, const char *words);
/* The channel with that id; NULL: there is none. */
struct channel *stream_find(const struct stream *s, uint64_t id);
/* Handle a frame from the peer. */
void stream_handle_text(struct stream *s, struct str text);
void stream_handle_bytes(struct stream *s, struct str frame);

/*
 * stream_proof.c: makes the nonce for a stream that the sandbox opened, before its hello.
 */
void stream_proof_offer(struct stream *s);
void stream_proof_put_nonce(const struct stream *s, struct jw *w);
/* Handle the frames "prove" and "proof" of the backend. */
void stream_proof_answer(struct stream *s, const struct stream_request *ask);
void stream_proof_check(struct stream *s, const struct stream_request *ask);

#endif
