/* An attached connection, for src/srv/process_attach.c and attach_*.c. */
#ifndef SRV_ATTACH_PRIVATE_H
#define SRV_ATTACH_PRIVATE_H

#include "srv/process_attach.h"

#include "base/jw.h"
#include "net/peer_probe.h"
#include "net/process_frame.h"
#include "net/transport.h"
#include "proc/process.h"

enum {
	ATTACH_MAX = 1024,          /* as connections; an idle one has 1 KB */
	ATTACH_WINDOW = 1 << 20,    /* stdin that the process has not taken */
	ATTACH_READ = 65536,        /* received at once, into memory that all share */
	ATTACH_TURN = 256 << 10,    /* moved in one wake-up: about 0.1 ms, */
	ATTACH_TURN_BARE = 1 << 20, /* and without TLS: about 0.4 ms */
	ATTACH_FRAME = 256 << 10,   /* of an output; a peer that is slow holds one, */
	ATTACH_SPOOLED = 1 << 20,   /* or, if it stays in the spool, no more than that */
	ATTACH_COPY = 16384,        /* shorter ones are copied: one system call less */
	ATTACH_CONTROL = 4096,      /* a control frame to the sandbox */
	ATTACH_UNSENT = 256 << 10, /* queued in the socket: the rest stays in the spool */
	ATTACH_WIDE_AFTER = 16 << 20, /* bytes of output, for ATTACH_UNSENT to be... */
	ATTACH_UNSENT_WIDE = 1 << 20, /* ...so much: fewer wake-ups; 512 MiB at most */
	ATTACH_STUCK_MS = 100,        /* stdin is full: then frames behind it are read */
	ATTACH_LINGER_MS = 2000,      /* for the peer to read the end and close */
};

enum attach_state {
	ATTACH_OPEN,
	ATTACH_ENDING, /* the last frame is queued; what comes is thrown away */
	ATTACH_LINGER, /* it is sent; the peer closes first */
	ATTACH_CLOSED,
	ATTACH_STATES
};

/* The frame of an output that is being sent. */
struct attach_frame {
	unsigned no; /* of the output */
	uint8_t head[PROCESS_FRAME_HEAD];
	size_t head_left;
	size_t left;      /* bytes of the payload that are not sent yet */
	struct buf piece; /* they, if they were copied: the last left of its bytes */
};

struct attachment {
	enum attach_state state;
	struct attachments *all;
	struct attachment **at, *next;
	uint64_t lease;  /* that it has shown; 0: none */
	uint64_t serial; /* a newer one has a higher one */
	struct process_follower follower;
	bool until_end; /* until all outputs are closed; otherwise until the exit */
	bool owns;      /* see process_own */
	bool releases;  /* the process waits for its readers */
	bool failed;    /* the peer has not much time for the end */
	struct transport transport;
	struct peer_probe probe;
	struct io io;
	struct timer timer;
	struct later later;

	struct process_frames frames;
	struct buf early; /* what came with the request */
	struct buf input; /* stdin that the process has not taken, */
	size_t input_at;  /* from here on */
	uint64_t credit;  /* offset in stdin up to which bytes are dealt with */
	uint64_t credit_told;
	bool sends_stdin;     /* it has sent stdin, and no newer one has */
	bool is_muted;        /* a newer one has: its bytes are thrown away */
	bool input_ends;      /* stdin ends behind the input */
	bool waits_for_stdin; /* stdin is full: what has come stays in the socket, */
	bool is_stuck;        /* but not for long; see ATTACH_STUCK_MS */
	struct timer stuck;
	bool has_moved;   /* the last bytes were moved: a head is to be read alone */
	bool cannot_move; /* stdin does not take bytes of the socket itself */

	struct buf text; /* control frames, sent from text_at on */
	size_t text_at;
	uint64_t sent[PROCESS_OUTPUTS]; /* offset behind what the socket has taken */
	struct attach_frame frame;
	bool cannot_sendfile;
	bool wide; /* ATTACH_UNSENT_WIDE counts */
};

struct attachments {
	struct api *api;
	struct attachment *first;
	unsigned n;
	uint64_t serial;
};

/* process_attach.c. How many bytes may be queued in the socket, unsent. */
void attach_set_unsent(struct attachment *a, unsigned n);
/* Most bytes of one direction in one wake-up. */
size_t attach_turn(const struct attachment *a);
/* attach_in.c. Handles what the peer has sent: 0; 1: more than a turn; the end. */
int attach_receive(struct attachment *a);
/* The rest of stdin goes to the process, and credit to the peer. */
void attach_pass_stdin(struct attachment *a);
/* stdin may have space: true if more can be received. */
bool attach_retry_stdin(struct attachment *a);

/* attach_out.c. Sends: 0: all there is; 1: not all; or an error of the connection. */
int attach_send(struct attachment *a);
/* Control frames: members are written between the two. */
size_t attach_control_begin(struct attachment *a, struct jw *w, const char *type);
void attach_control_end(struct attachment *a, struct jw *w, size_t at);
/* An empty frame of output, which the peer skips. */
void attach_add_empty(struct attachment *a);
/* "error", after which the connection goes on. */
void attach_complain(struct attachment *a, const char *detail);

/* process_attach.c: does what can be done now; readable: something may have come. */
void attach_go_on(struct attachment *a, bool readable);
/* The only function that changes the state. */
void attach_enter(struct attachment *a, enum attach_state to);
/* Sends "error" and ends the connection. */
void attach_fail(struct attachment *a, const char *detail);

#endif
