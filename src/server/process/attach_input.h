/* An attached connection: frames from the peer, see process_attach.h. */
#ifndef SERVER_PROCESS_ATTACH_INPUT_H
#define SERVER_PROCESS_ATTACH_INPUT_H

#include "loop/loop.h"
#include "server/process/attach_output.h"

enum { ATTACH_WINDOW = 1 << 20 }; /* bytes of stdin that the process has not taken */

/* The inputs of all attachments of a server, newest first. */
struct attach_inputs {
	struct list list;
	uint64_t serial;
};

struct attach_input {
	struct loop *loop;
	struct transport *transport;
	struct attach_output *output; /* answers, and has the process */
	/* More input can be received. */
	void (*resume)(struct attach_input *in);
	struct attach_inputs *all;
	struct list node;
	uint64_t serial; /* higher than that of all older attachments */

	struct process_frames frames;
	struct buf early; /* bytes received with the request */
	struct buf bytes; /* stdin that the process has not taken... */
	size_t at;        /* ...from this position on */
	uint64_t credit;  /* offset in stdin up to which bytes are handled */
	uint64_t credit_sent;
	bool sends_stdin;     /* the peer has sent stdin, and no newer attachment has */
	bool is_muted;        /* a newer attachment has: input is discarded */
	bool ends;            /* stdin is closed after the input */
	bool waits_for_stdin; /* stdin is full: received bytes stay in the socket... */
	bool is_stuck;        /* ...but not any more; see ATTACH_STUCK_MS */
	struct timer stuck;
	bool has_moved;   /* the last bytes were spliced: next, a head is read alone */
	bool cannot_move; /* splicing from the socket into stdin is not supported */
};

/* loop, transport, output and resume are set before. credit: the offset in stdin. */
void attach_input_init(
	struct attach_input *in, struct attach_inputs *all, uint64_t credit);
void attach_input_free(struct attach_input *in);

/*
 * Handles at most quota bytes of input. 0: all of it; 1: more is left; or an error of the
 * connection.
 */
int attach_input_receive(struct attach_input *in, size_t quota) MUST_USE;
/* Passes the rest of the input to stdin, and credit to the peer. */
void attach_input_pass(struct attach_input *in);
/* Called when stdin may have space. True: more input can be received. */
bool attach_input_end_wait(struct attach_input *in);

#endif
