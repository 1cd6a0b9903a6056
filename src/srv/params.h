/*
 * The parameters of a request, out of its query or its body, into the members of a
 * struct as a const table tells. An engine: it answers nobody. What goes wrong is the
 * status of HTTP to answer with, see api_refuse.
 */
#ifndef SRV_PARAMS_H
#define SRV_PARAMS_H

#include "base/json.h"

enum param_type {
	PARAM_TEXT,   /* struct str */
	PARAM_PATH,   /* the same, made absolute; an empty one counts as absent */
	PARAM_BOOL,   /* bool */
	PARAM_NUMBER, /* uint64_t */
	PARAM_CHOICE, /* unsigned: which of the words */
};

struct param {
	const char *name;
	uint8_t type; /* enum param_type */
	bool required;
	uint16_t at;  /* offset of its value in the struct */
	uint32_t min; /* of a number */
	union {
		uint64_t max;             /* of a number */
		const char *const *words; /* of a choice, NULL behind the last */
	};
	const char *about; /* what agents are told of it; NULL: nothing */
};

/* Where they stand. */
struct params {
	struct arena *arena;  /* of the request, as all that follows */
	struct str query;     /* still encoded */
	struct json_val body; /* zeroed: what the query has counts */
	struct str cwd;       /* for paths */
	char wrong[160];      /* after a failure: what, in words for the client */
};

/*
 * Has the members of a JSON object count in place of the query. 0; 400 when JSON goes
 * beyond a cap, is not UTF-8 or has a member twice; 422 when it is none, or no object;
 * 503 out of memory.
 */
int params_body(struct params *p, struct str text) MUST_USE;
/* As params_body, within other caps. */
int params_body_within(
	struct params *p, struct str text, const struct json_caps *caps) MUST_USE;

/*
 * The n parameters of the table, into out. One that is absent, or null, leaves its
 * member as it was; others than those are passed over. In JSON numbers and booleans may
 * be strings as they are in a query. The texts are the arena's or the request's. 0; 422
 * for one that is required and absent, given twice, or of another type; 503. out is
 * half filled in then.
 */
int params_take(
	struct params *p, const struct param *table, size_t n, void *out) MUST_USE;

/* Puts "NAME: what" into p->wrong: 422. */
int params_wrong(struct params *p, const char *name, const char *what);

#endif
