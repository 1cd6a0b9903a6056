/*
 * A reader of all outputs of a process: its offset in each of them. Attached connections
 * and channels of streams send the outputs with it, in turns.
 */
#ifndef SERVER_PROCESS_PROCESS_CURSOR_H
#define SERVER_PROCESS_PROCESS_CURSOR_H

#include "proc/process/process.h"
#include "server/output_reply.h"

struct process_cursor {
	struct process_follower follower; /* waiter.fn is set before the beginning */
	bool until_end; /* lasts until all outputs are closed; otherwise until the exit */
	bool owns;      /* see process_own */
	unsigned no;    /* the output of the last part */
	uint64_t at[PROCESS_OUTPUTS]; /* the offset after the bytes that were read */
};

/* The next bytes of an output. */
struct process_cursor_part {
	unsigned no;
	uint64_t from, to;
	bool lost; /* the bytes are not kept any more */
};

/*
 * Follows p from the offsets in c->at on; with kill_on_disconnect the cursor is an owner
 * of p.
 */
void process_cursor_begin(struct process_cursor *c, struct process *p);
void process_cursor_end(struct process_cursor *c);

/*
 * Finds the next part, and does not move. 0; 1: there is none now; ERR_CLOSED: the
 * process has exited, and all has been read.
 */
int process_cursor_next(
	const struct process_cursor *c, struct process_cursor_part *part) MUST_USE;
/* Moves to this offset of output no; then it is the turn of the other output. */
void process_cursor_move(struct process_cursor *c, unsigned no, uint64_t to);
/*
 * Lets the process release what was read, except the last bytes, which are in flight:
 * they are kept for a peer that loses the connection, within a bound.
 */
void process_cursor_release(struct process_cursor *c, uint64_t in_flight);

/* Whether no offset is beyond the end of its output. */
bool process_cursor_is_valid(
	const struct process *p, const uint64_t at[PROCESS_OUTPUTS]) MUST_USE;
/* The size of an output for a reader that reads it until the exit, or until its end. */
struct output_size process_cursor_get_size(
	const struct process *p, unsigned no, bool until_end);

#endif
