/*
 * Processes as JSON: the spec in requests and the process object, see docs/protocol.md.
 */
#ifndef SERVER_PROCESS_PROCESS_SPEC_H
#define SERVER_PROCESS_PROCESS_SPEC_H

#include "base/jw.h"
#include "proc/process/process.h"
#include "server/params.h"

/*
 * Parses text, a JSON object, as the body of p: as params_parse_body, but with limits
 * for as many arguments and variables as the kernel takes.
 */
int process_spec_parse(struct params *p, struct str text) MUST_USE;
/*
 * Reads the spec of a process from the body of p. The texts lie in the arena. env is the
 * environment of the sandbox and ends with NULL. 0; 422 or 503 with p->error.
 */
int process_spec_read(
	struct params *p, const char *const *env, struct process_spec *out) MUST_USE;

/* Reads the members rows and columns; as process_spec_read. */
int process_size_read(struct params *p, uint16_t *rows, uint16_t *columns) MUST_USE;

/*
 * Reads a signal: "SIGTERM", "TERM" or a number. 0: there is no such signal.
 */
int process_signal_read(struct json_val v);
/* The names of enum process_target; ends with NULL. */
extern const char *const process_targets[];

/* The answer to a start with another user than that of the sandbox. */
#define PROCESS_USER_FIXED \
	"The server has no session key, so processes run as the sandbox user. " \
	"Start it with a session key to choose another user."

/* Writes the process object. */
void process_write(struct jw *w, const struct process *p);
/*
 * As process_write, for lists: with at most PROCESS_ARGV_LISTED bytes of its arguments.
 */
void process_write_row(struct jw *w, const struct process *p);
/* Writes the members exit_code, signal and timed_out into an open object. */
void process_write_exit(struct jw *w, const struct process *p);

#endif
