/* An attached connection, for src/server/process/process_attach.c and attach_*.c. */
#ifndef SERVER_PROCESS_ATTACH_PRIVATE_H
#define SERVER_PROCESS_ATTACH_PRIVATE_H

#include "server/process/process_attach.h"

#include "base/jw.h"
#include "codec/process_frame.h"
#include "net/peer_probe.h"
#include "net/transport.h"
#include "proc/process/process.h"

enum {
	ATTACH_MAX = 1024,          /* attachments of a server; an idle one takes 1 KB */
	ATTACH_WINDOW = 1 << 20,    /* bytes of stdin that the process has not taken */
	ATTACH_READ = 65536,        /* bytes per receive, into a buffer that all share */
	ATTACH_TURN = 256 << 10,    /* bytes per wake-up: about 0.1 ms */
	ATTACH_TURN_BARE = 1 << 20, /* bytes per wake-up without TLS: about 0.4 ms */
	ATTACH_FRAME = 256 << 10,   /* bytes of a frame of output, in memory */
	ATTACH_SPOOLED = 1 << 20,   /* bytes of a frame that stays in the spool */
	ATTACH_COPY = 16384,        /* shorter frames are copied: one system call less */
	ATTACH_CONTROL = 4096,      /* bytes of a control frame to the sandbox */
	ATTACH_UNSENT = 256 << 10,  /* bytes queued in the socket */
	ATTACH_WIDE_AFTER = 16 << 20, /* output after which the limit is raised */
	ATTACH_UNSENT_WIDE = 1 << 20, /* raised limit: fewer wake-ups; at most 512 MiB */
	ATTACH_STUCK_MS = 100,        /* stdin is full for so long: reads on */
	ATTACH_LINGER_MS = 2000,      /* for the peer to read the last frame and close */
};

enum attach_state {
	ATTACH_OPEN,
	ATTACH_ENDING, /* the last frame is queued; input is discarded */
	ATTACH_LINGER, /* the last frame is sent; the peer closes first */
	ATTACH_CLOSED,
	ATTACH_STATES
};

/* The frame of output that is being sent. */
struct attach_frame {
	unsigned no; /* number of the output */
	uint8_t head[PROCESS_FRAME_HEAD];
	size_t head_left;
	size_t left;      /* bytes of the payload that are not sent yet */
	struct buf piece; /* a copy of the payload; its last left bytes are unsent */
};

struct attachment {
	struct list node;
	enum attach_state state;
	struct attachments *all;
	uint64_t lease;  /* lease that the peer has sent; 0: none */
	uint64_t serial; /* higher than that of all older attachments */
	struct process_follower follower;
	bool until_end; /* lasts until all outputs are closed; otherwise until the exit */
	bool owns;      /* see process_own */
	bool releases;  /* the process waits for its readers */
	bool failed;    /* an error was sent: the end has a short deadline */
	struct transport transport;
	struct peer_probe probe;
	struct io io;
	struct timer timer;
	struct later later;

	struct process_frames frames;
	struct buf early; /* bytes received with the request */
	struct buf input; /* stdin that the process has not taken... */
	size_t input_at;  /* ...from this position on */
	uint64_t credit;  /* offset in stdin up to which bytes are handled */
	uint64_t credit_sent;
	bool sends_stdin;     /* the peer has sent stdin, and no newer attachment has */
	bool is_muted;        /* a newer attachment has: input is discarded */
	bool input_ends;      /* stdin is closed after the input */
	bool waits_for_stdin; /* stdin is full: received bytes stay in the socket... */
	bool is_stuck;        /* ...but not any more; see ATTACH_STUCK_MS */
	struct timer stuck;
	bool has_moved;   /* the last bytes were spliced: next, a head is read alone */
	bool cannot_move; /* splicing from the socket into stdin is not supported */

	struct buf text; /* control frames; unsent from text_at on */
	size_t text_at;
	uint64_t sent[PROCESS_OUTPUTS]; /* offset after the sent bytes */
	struct attach_frame frame;
	bool cannot_sendfile;
	bool pipe_widened; /* ATTACH_UNSENT_WIDE applies */
};

struct attachments {
	struct api *api;
	struct list list; /* newest first */
	unsigned n;
	uint64_t serial;
};

/* process_attach.c. Sets how many unsent bytes may be queued in the socket. */
void attach_set_unsent(struct attachment *a, unsigned n);
/* The most bytes of one direction in one wake-up. */
size_t attach_get_quota(const struct attachment *a);
/*
 * attach_in.c. Handles input. 0: all of it; 1: more is left; or an error of the
 * connection.
 */
int attach_receive(struct attachment *a);
/* Passes the rest of the input to stdin, and credit to the peer. */
void attach_pass_stdin(struct attachment *a);
/* Called when stdin may have space. True: more input can be received. */
bool attach_end_stdin_wait(struct attachment *a);

/* attach_out.c. Sends. 0: all was sent; 1: not all; or an error of the connection. */
int attach_send(struct attachment *a);
/* Begin and end a control frame. The caller writes its members in between. */
size_t attach_control_begin(struct attachment *a, struct jw *w, const char *type);
void attach_control_end(struct attachment *a, struct jw *w, size_t at);
/* An empty frame of output, which the peer skips. */
void attach_put_empty(struct attachment *a);
/* Sends "error". The connection goes on. */
void attach_send_error(struct attachment *a, const char *detail);

/* process_attach.c. Does all that is possible now. readable: there may be input. */
void attach_run(struct attachment *a, bool readable);
/* The only function that changes the state. */
void attach_set_state(struct attachment *a, enum attach_state to);
/* Sends "error" and ends the connection. */
void attach_fail(struct attachment *a, const char *detail);

#endif
