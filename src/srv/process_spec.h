/*
 * Processes in JSON: what is asked for, and what is shown. docs/protocol.md has both.
 */
#ifndef SRV_PROCESS_SPEC_H
#define SRV_PROCESS_SPEC_H

#include "base/json.h"
#include "base/jw.h"
#include "proc/process.h"

/* What a process gets where the request does not say otherwise. */
struct process_defaults {
	const char *const *env; /* of the sandbox's shells; NULL at the end */
};

enum { PROCESS_WRONG_MAX = 160 };

/*
 * Reads the spec of a process out of a JSON object; its texts are the arena's. 0; 422
 * with wrong: "member: what is wrong with it"; 503: out of memory.
 */
int process_spec_read(struct json_val object, const struct process_defaults *defaults,
	struct arena *arena, struct process_spec *out,
	char wrong[PROCESS_WRONG_MAX]) MUST_USE;

/* A signal's number by "SIGTERM", "TERM" or its digits; 0: there is no such signal. */
int process_signal_number(struct str name);
/* "SIGTERM"; NULL for a number without a name. */
const char *process_signal_name(int signo);

/* Writes the process object. */
void process_write(struct jw *w, const struct process *p);
/* Writes the members exit_code, signal and timed_out into an open object. */
void process_write_exit(struct jw *w, const struct process *p);

#endif
