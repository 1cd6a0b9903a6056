/*
 * The channels of a stream. A kind of channel is a const struct channel_kind; its struct
 * begins with struct channel, and it sends and closes with the functions below.
 */
#ifndef SERVER_STREAM_CHANNEL_H
#define SERVER_STREAM_CHANNEL_H

#include "server/stream/stream.h"

#include "base/json.h"
#include "base/jw.h"
#include "codec/channel_frame.h"

/* A text frame from the peer. */
struct stream_request {
	unsigned type, kind;
	uint64_t id;
	uint64_t offset; /* UINT64_MAX: none */
	uint64_t bytes;
	uint64_t window;
	uint64_t rows, columns;
	uint64_t lease;
	unsigned mode; /* of a cancellation: an index of idem_cancel_modes */
	bool keep;
	bool authorized; /* an HTTP channel whose requests need no key */
	struct str epoch, session, key, terminal, nonce, proof;
	struct str action_id, action; /* action is the JSON of an object, or empty */
	struct str process;           /* the id of a process */
	uint64_t stderr_at;           /* an offset in stderr */
	struct json_val start;        /* the spec of a process */
};

struct channel;

/* Why a channel is not opened. */
struct channel_refusal {
	unsigned status;     /* an HTTP status; 0: none fits */
	const char *message; /* a sentence; static, or text */
	char text[160];
};

/* A kind of channel; see channel_kinds. */
struct channel_kind {
	bool open; /* may be opened before the peer has sent the key */
	/*
	 * Makes a channel and writes members into its "opened". NULL: *why has the
	 * reason.
	 */
	struct channel *(*begin)(struct stream *s, const struct stream_request *ask,
		struct jw *w, struct channel_refusal *why);
	/* Called after "opened" was sent; may send. May be NULL. */
	void (*opened)(struct channel *c);
	/*
	 * Sends one frame. max is the credit, more than 0. Returns 0: there may be more;
	 * 1: there is nothing now, and channel_wake follows; negative: the channel has
	 * been closed.
	 */
	int (*more)(struct channel *c, size_t max);
	/* Handles bytes from the peer. channel_ack_input reports them as handled. */
	void (*input)(struct channel *c, struct str bytes);
	void (*end)(struct channel *c);
	void (*resize)(struct channel *c, uint16_t rows, uint16_t columns);
	void (*cancel)(struct channel *c, unsigned mode);
	/*
	 * The connection is lost. True: the channel waits for its peer without a stream,
	 * until begin finds it again. NULL: channels of this kind do not wait.
	 */
	bool (*wait)(struct channel *c);
	/* Frees all resources. The memory is freed after the present batch of events. */
	void (*free)(struct channel *c);
};

/* The first member of the struct of each kind. */
struct channel {
	const struct channel_kind *kind;
	struct stream *stream; /* NULL: the channel waits for its peer */
	struct list node;
	uint32_t id;
	uint32_t window;
	bool ready;           /* more may have something to send */
	uint64_t sent;        /* bytes in frames to the peer, in total */
	uint64_t acked;       /* bytes of sent that the peer has acknowledged */
	uint64_t received;    /* bytes of input that were received */
	uint64_t handled;     /* bytes of received that were handled */
	uint64_t acked_input; /* bytes of handled that were acknowledged to the peer */
};

extern const struct channel_kind channel_session, channel_terminal, channel_http,
	channel_action, channel_events, channel_process;

/* There may be something to send. more is called after the present batch of events. */
void channel_wake(struct channel *c);
/* Sends bytes as a frame that covers span offsets from at on. */
void channel_send(struct channel *c, enum channel_frame_kind kind, uint64_t at,
	uint64_t span, struct str bytes);
/* n more bytes of input were handled. */
void channel_ack_input(struct channel *c, size_t n);
/* Begin and end a text frame about c. The caller writes members in between. */
void channel_begin_text(struct channel *c, struct jw *w, const char *type);
void channel_end_text(struct channel *c, struct jw *w);
/* Sends that the offsets [from, to) of the output are lost. */
void channel_send_gap(struct channel *c, uint64_t from, uint64_t to);
/* Sends "error" with the member "detail". */
void channel_send_error(struct channel *c, const char *words);
/* Sends "closed" with the exit code (-1: none) and why (may be NULL), and frees c. */
void channel_close(struct channel *c, int exit_code, const char *why);
/* As channel_close, but c stays allocated, without a stream. */
void channel_detach(struct channel *c, int exit_code, const char *why);

/* These functions describe the stream of a channel. */
struct api *stream_get_api(const struct stream *s);
/* The name of the sandbox, as in its hello. */
const char *stream_get_sandbox_name(const struct stream *s);
/* Differs for each process of the server: offsets of another epoch are meaningless. */
const char *stream_get_epoch(const struct stream *s);

#endif
