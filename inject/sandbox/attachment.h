/*
 * A process of a sandbox, started and attached over a single connection: stdin, stdout,
 * stderr, signals, the size of the terminal, and the exit. If the connection is lost, a
 * new connection continues each stream with its next byte.
 */
#ifndef INJECT_SANDBOX_ATTACHMENT_H
#define INJECT_SANDBOX_ATTACHMENT_H

#include "inject/console/outlet.h"
#include "inject/http/reconnect.h"
#include "inject/sandbox/process_input.h"
#include "inject/sandbox/process_request.h"
#include "inject/sandbox/sandbox.h"

/* How a process has ended. */
struct attachment_exit {
	int code; /* for a shell: 128 and more for a signal */
	bool timed_out;
};

enum { ATTACHMENT_OUTPUTS = 2 };

struct attachment {
	const struct sandbox *sandbox;
	const struct process_request *request;
	char id[PROCESS_NAME_MAX + 1];
	struct http_client call;
	struct process_frames frames;
	struct str piece;   /* received, not parsed */
	struct str output;  /* parsed, not written */
	unsigned output_no; /* index in out for it */
	bool stalled;       /* the reader of that output does not read */
	struct outlet out[ATTACHMENT_OUTPUTS];
	uint64_t got[ATTACHMENT_OUTPUTS]; /* offset after the parsed output */
	struct process_input in;
	bool attached;     /* the process takes input and signals */
	bool takes_stdin;  /* and this process reads stdin */
	bool end_sent;     /* the end of stdin was sent on this connection */
	bool unwritable;   /* this connection takes no more */
	bool pipe_widened; /* the pipe of stdin was made larger */
	struct reconnect reconnect;
	struct buf control; /* our control frames, not sent yet */
	uint64_t leave_at;  /* when we end after a signal: monotonic ms; 0: no signal */
	int leave_signal;   /* that signal */
	struct buf error_detail; /* the last error that the sandbox reported */
	struct attachment_exit end;
};

/*
 * Starts the process of q. *a is zero except a->out, which the caller opens and closes.
 * s and q outlive it. 0; an exit code for a process that did not start, with a line
 * printed; -EINTR, -ENOMEM, FAIL_*. The caller calls attachment_close in any case: it
 * ends the process, unless the process has ended or q->detached is set.
 */
int attachment_start(struct attachment *a, const struct sandbox *s,
	const struct process_request *q) MUST_USE;
void attachment_close(struct attachment *a);

/*
 * Transfers bytes both ways until the process has exited: 0 with a->end; -EPIPE: our
 * output has no reader any more; -EINTR: a signal or the limit; -ENOMEM; -errno of an
 * output; FAIL_*. SIGINT and SIGQUIT are sent to the process group; SIGTERM and SIGHUP
 * to all of its processes, which have a second to end.
 */
int attachment_run(struct attachment *a) MUST_USE;

#endif
