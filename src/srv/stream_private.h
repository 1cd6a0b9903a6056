/* Channels of a stream, for src/srv/stream*.c and channel*.c. */
#ifndef SRV_STREAM_PRIVATE_H
#define SRV_STREAM_PRIVATE_H

#include "srv/stream.h"

#include "base/json.h"
#include "base/jw.h"
#include "net/channel_frame.h"
#include "net/proof.h"
#include "srv/once.h"

/* A text frame of the peer. */
struct stream_ask {
	unsigned type, kind;
	uint64_t id;
	uint64_t offset; /* UINT64_MAX: none */
	uint64_t bytes;
	uint64_t window;
	uint64_t rows, columns;
	uint64_t lease;
	unsigned mode; /* of a cancellation, as once_modes */
	bool keep;
	bool authorized; /* an http channel whose requests need no key */
	struct str epoch, session, key, terminal, nonce, proof;
	struct str action_id, action; /* the latter is the JSON of an object, or empty */
	struct str process;           /* the id of a process */
	uint64_t stderr_at;           /* an offset in stderr */
	struct json_val start;        /* the spec of a process */
};

struct channel;
struct pipe;

/* Why there is none. */
struct channel_refusal {
	unsigned status;   /* as HTTP has it; 0: none would tell more than the words */
	const char *words; /* a sentence; static, or text */
	char text[160];
};

/* The kinds of channel, one row each; see channel_kinds. */
struct channel_kind {
	bool open; /* to those, too, who have not shown the key */
	/* Makes one and writes members into its "opened". NULL with *why. */
	struct channel *(*begin)(struct stream *s, const struct stream_ask *ask,
		struct jw *w, struct channel_refusal *why);
	/* May send right behind "opened"; or NULL. */
	void (*opened)(struct channel *c);
	/*
	 * Sends one thing; max is the credit there is, more than 0. 0: there may be
	 * more; 1: there is nothing now, and channel_wake will tell; negative: it has
	 * ended itself.
	 */
	int (*more)(struct channel *c, size_t max);
	/* Bytes from the peer; channel_took tells when they have been dealt with. */
	void (*input)(struct channel *c, struct str bytes);
	void (*end)(struct channel *c);
	void (*resize)(struct channel *c, uint16_t rows, uint16_t columns);
	void (*cancel)(struct channel *c, unsigned mode);
	/*
	 * The peer is lost: true, and it waits for him without a stream, until begin
	 * finds it again. NULL: none does.
	 */
	bool (*wait)(struct channel *c);
	/* Lets go of everything; the memory goes after the batch. */
	void (*free)(struct channel *c);
};

/* Embedded in that of its kind, as its first member. */
struct channel {
	const struct channel_kind *kind;
	struct stream *stream; /* NULL: it waits for its peer */
	struct channel *next;
	uint32_t id;
	uint32_t window;
	bool ready;     /* more has something, perhaps */
	uint64_t sent;  /* bytes in frames to the peer, all in all */
	uint64_t acked; /* of them */
	uint64_t got;   /* bytes of input */
	uint64_t took;  /* of them, dealt with */
	uint64_t told;  /* of those, as far as the peer knows */
};

/* A channel that tells of the ledger: woken by its news. First in that of its kind. */
struct followed {
	struct channel channel;
	struct once_follower follower;
	struct later later;
};

/* The first member of a zeroed struct of this size; NULL out of memory. */
struct followed *followed_new(struct once *o, size_t size);
struct once *followed_once(const struct followed *f);
/* A channel_kind's free. */
void followed_free(struct channel *c);

extern const struct channel_kind channel_session, channel_terminal, channel_http,
	channel_action, channel_events, channel_process;

/* There may be something to send; it is asked for after the present batch. */
void channel_wake(struct channel *c);
/* Sends bytes, which span so much from offset on. */
void channel_send(struct channel *c, enum channel_frame_kind kind, uint64_t at,
	uint64_t span, struct str bytes);
/* n more bytes of input have been dealt with. */
void channel_took(struct channel *c, size_t n);
/* A text frame about c: members are written between the two. */
void channel_say(struct channel *c, struct jw *w, const char *type);
void channel_said(struct channel *c, struct jw *w);
/* These offsets of its output are not there any more; to is not one of them. */
void channel_say_gap(struct channel *c, uint64_t from, uint64_t to);
/* Says something of this type with one member "detail". */
void channel_complain(struct channel *c, const char *words);
/* Ends it: "closed" with an exit code, or -1 and perhaps why. c is no more. */
void channel_close(struct channel *c, int exit_code, const char *why);
/* The same, but c is only without a stream then. */
void channel_part(struct channel *c, int exit_code, const char *why);

/* Ends those that wait. */
void terminals_end(struct streams *all);

enum { STREAM_EPOCH = 8 };

struct streams {
	struct api *api;
	struct stream *first;
	unsigned n;
	struct pipe *terminals; /* that wait for a peer who is lost, or would */
	bool stopping;
	char epoch[2 * STREAM_EPOCH + 1];
	struct buf text; /* a frame that is being written */
};

/* The steps of the mutual proof, in order. */
enum stream_proof_step {
	STREAM_PROOF_NONE, /* none is possible, or the backend has failed */
	STREAM_PROOF_OFFERED,
	STREAM_PROOF_ANSWERED,
	STREAM_PROOF_DONE,
};

struct stream_proof {
	enum stream_proof_step step;
	struct proof_nonces nonces;
};

struct stream {
	struct streams *all;
	struct stream **at, *next; /* in the list */
	struct ws_conn *ws;        /* NULL before it has begun, and at its end */
	bool lost;                 /* without a word of the peer */
	bool trusted;              /* the peer has shown the key, or proved it */
	struct stream_proof proof;
	uint64_t lease;           /* it has shown; 0: none */
	struct channel *channels; /* oldest first */
	unsigned channels_n;
	struct channel *turn; /* who is asked next for output; NULL: the first */
	struct timer timer;   /* of those who were woken */
	struct later later;
	void (*ended)(void *arg, unsigned code, const char *why); /* or NULL */
	void *arg;
};

/* Text frames: members are written between the two; only one at a time. */
void stream_say(struct stream *s, struct jw *w, const char *type);
/* The same in a buffer of the caller's: others may be written meanwhile. */
void stream_say_in(struct buf *text, struct jw *w, const char *type);
void stream_said(struct stream *s, struct jw *w);
/* One with a member "detail", about the channel id unless that is 0. */
void stream_complain(struct stream *s, uint64_t id, const char *type, const char *words);
/* The channel of that id; NULL. */
struct channel *stream_find(const struct stream *s, uint64_t id);
/* A frame of the peer has come. */
void stream_take_text(struct stream *s, struct str text);
void stream_take_bytes(struct stream *s, struct str frame);

/* stream_proof.c: the nonce of a stream that the sandbox has opened, before its hello. */
void stream_proof_offer(struct stream *s);
void stream_proof_put_nonce(const struct stream *s, struct jw *w);
/* The frames "prove" and "proof" of the backend. */
void stream_proof_answer(struct stream *s, const struct stream_ask *ask);
void stream_proof_check(struct stream *s, const struct stream_ask *ask);

struct api *stream_api(const struct stream *s);
/* The name of the sandbox, as its hello has it. */
const char *stream_sandbox_name(const struct stream *s);
/* Differs from one process of the server to the next: offsets begin anew with it. */
const char *stream_epoch(const struct stream *s);

#endif
