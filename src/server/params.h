/*
 * Reads the parameters of a request from its query or its body into the members of a
 * struct, as a const table describes. It sends no answer: errors are the HTTP status to
 * answer with, see api_refuse.
 */
#ifndef SERVER_PARAMS_H
#define SERVER_PARAMS_H

#include "base/json.h"

enum param_type {
	PARAM_TEXT,   /* struct str */
	PARAM_PATH,   /* struct str, made absolute; an empty one counts as absent */
	PARAM_BOOL,   /* bool */
	PARAM_NUMBER, /* uint64_t */
	PARAM_CHOICE, /* unsigned: the index of the word */
};

struct param {
	const char *name;
	uint8_t type; /* enum param_type */
	bool required;
	uint16_t at;  /* offset of the value in the struct */
	uint32_t min; /* of a number */
	union {
		uint64_t max;             /* of a number */
		const char *const *words; /* of a choice; NULL after the last */
	};
	const char *about; /* description for agents; NULL: none */
};

/* The source of parameters. */
struct params {
	struct arena *arena;  /* of the request; holds all values */
	struct str query;     /* percent-encoded */
	struct json_val body; /* if it is zeroed, parameters come from the query */
	struct str cwd;       /* base of relative paths */
	char error[160];      /* after a failure: a message for the client */
};

/*
 * Parses text as a JSON object; parameters then come from it, not from the query. Returns
 * 0; 400: JSON exceeds a limit, is not UTF-8 or has a duplicate member; 422: text is no
 * JSON or no object; 503: out of memory.
 */
int params_parse_body(struct params *p, struct str text) MUST_USE;
/* As params_parse_body, with other limits. */
int params_parse_limited(
	struct params *p, struct str text, const struct json_caps *caps) MUST_USE;

/*
 * Reads the n parameters of the table into out. A parameter that is absent or null leaves
 * its member unchanged. Parameters that are not in the table are ignored. Numbers and
 * booleans in JSON may also be strings, as in a query. The texts belong to the arena or
 * the request. Returns 0; 422: a required parameter is absent, one is given twice or has
 * the wrong type; 503: out of memory. After an error out is partly filled.
 */
int params_read(
	struct params *p, const struct param *table, size_t n, void *out) MUST_USE;

/* Writes "NAME: what" into p->error. Returns 422. */
int params_set_error(struct params *p, const char *name, const char *what);

#endif
