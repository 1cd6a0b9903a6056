/*
 * The observation that a sandbox returns for an action: as text for people and as an exit
 * code. No I/O.
 */
#ifndef INJECT_CLI_OBSERVATION_H
#define INJECT_CLI_OBSERVATION_H

#include "base/buf.h"
#include "inject/http/json_doc.h"

struct observation {
	struct json_doc doc;
	struct str kind; /* "run", "error", ... */
	struct str content;
	/* Only for kind "run". */
	int64_t exit_code; /* -1 while the command still runs */
	struct str prefix, suffix;
};

/*
 * Indexes text, which must stay in place as long as ob; ob must not move. Errors of
 * json_parse; ERR_TYPE: the text is no observation. observation_free takes a zeroed
 * object too.
 */
int observation_read(struct observation *ob, struct str text) MUST_USE;
void observation_free(struct observation *ob);

/* True for an error, and for a run whose exit code is not 0. */
bool observation_is_failure(const struct observation *ob);

/* Appends a form that people can read: kind, extras, content. */
void observation_print(struct observation *ob, struct buf *out);

/*
 * Appends the request for an action: text is {"action":"name",...} or has its envelope
 * already. 0, ERR_TYPE, or an error of json_parse.
 */
int observation_write_request(struct str text, struct buf *out) MUST_USE;
/* The timeout in seconds of such a request's action, rounded up; 0: none. */
uint64_t observation_read_timeout(struct str request);

#endif
