/*
 * Starts a process in a sandbox (POST /v1/processes): the request, the answer and the
 * exit codes. No I/O, except error lines.
 */
#ifndef INJECT_SANDBOX_PROCESS_REQUEST_H
#define INJECT_SANDBOX_PROCESS_REQUEST_H

#include "base/buf.h"
#include "inject/http/json_doc.h"

enum {
	PROCESS_NAME_MAX = 40, /* the id of a process, as the sandbox chooses it */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

struct process_request {
	char *const *argv; /* argv_n of them, at least one */
	size_t argv_n;
	const struct str *env; /* env_n of NAME=VALUE; the last entry of a name counts */
	size_t env_n;
	const char *cwd;  /* NULL: the working directory of the sandbox */
	const char *user; /* NULL: the sandbox user */
	bool pty;
	unsigned rows, columns; /* of the pty */
	bool takes_stdin;
	bool detached;      /* it outlives the connection; its output is not read */
	bool writes_to_log; /* its output goes to the log of the sandbox */
	bool stops_sandbox; /* the sandbox stops when it has exited */
	uint64_t timeout;   /* seconds; 0: none */
};

/*
 * Appends the request as JSON. 0; FAIL_USAGE with a line printed: a text is not UTF-8,
 * which JSON cannot carry, or is too long; -ENOMEM.
 */
int process_request_write(const struct process_request *q, struct buf *out) MUST_USE;

/* Copies the id of the process object v to id. ERR_SYNTAX: it has no valid id. */
int process_read_id(
	struct json_doc *d, struct json_val v, char id[PROCESS_NAME_MAX + 1]) MUST_USE;

/*
 * Prints why a process did not start, from the answer with status 422, and returns the
 * exit code of docker and shells for it: 126, 127, or FAIL_ENVIRONMENT.
 */
int process_fail_start(const struct process_request *q, struct str answer);

/* The exit code of a process that ended with code, or by the signal of that name. */
int process_exit_code(int64_t code, struct str signal);

#endif
