/*
 * JSON reader (RFC 8259).
 *
 * json_parse first runs our own linear checker, which checks grammar, depth, token count,
 * UTF-8 and duplicate keys, and only then lets jsmn index the text: jsmn alone accepts
 * much that is no JSON and has quadratic cases. Values are small handles into the indexed
 * text and live as long as the text and the arena. Every accessor takes an absent value
 * and returns ERR_TYPE, so that a chain of gets needs one check at its end.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/arena.h"

struct json_caps {
	size_t depth;  /* nested containers, JSON_DEPTH_MAX or less */
	size_t tokens; /* values and keys */
	size_t keys;   /* members of one object */
};

/* Where and why a text was refused; why is a static string for people. */
struct json_error {
	size_t at; /* byte offset */
	const char *why;
};

/*
 * Checks a text: a container or a scalar with blanks around it and nothing else. 0 with
 * the number of tokens jsmn will need; ERR_SYNTAX, ERR_DEPTH, ERR_LIMIT (too many tokens
 * or keys, 2 GiB of text), ERR_UTF8 (also a lone surrogate escape), ERR_DUPLICATE,
 * -ENOMEM, with *e filled in.
 */
int json_check(struct str text, const struct json_caps *caps, size_t *tokens,
	struct json_error *e) MUST_USE;

/* Used by json.c only. */
struct json {
	struct str text;
	const void *index; /* jsmn's tokens */
	int n;
};

/* An opaque handle; at is -1 for the absent value. */
struct json_val {
	const struct json *doc;
	int at;
};

enum json_type {
	JSON_ABSENT,
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/*
 * Checks and indexes text, which must stay in place. The root must be an object
 * or an array (ERR_TYPE otherwise). Errors of json_check, or -ENOMEM when the
 * arena is full.
 */
int json_parse(struct json *j, struct str text, const struct json_caps *caps,
	struct arena *a, struct json_error *e) MUST_USE;

struct json_val json_root(const struct json *j);
enum json_type json_type(struct json_val v);
/* A member of an object by its (unescaped) name; absent when there is none. */
struct json_val json_get(struct json_val object, const char *key);
/* Elements of an array or members of an object; 0 for everything else. */
size_t json_count(struct json_val v);
/*
 * Walks an array or an object: start with *it = 0. False at the end. key may be
 * NULL; for objects it receives the key as a string value.
 */
bool json_next(
	struct json_val container, int *it, struct json_val *key, struct json_val *value);

/* The source text of the value, quotes and all. */
struct str json_raw(struct json_val v);
/*
 * The source text of a string without its quotes, escapes unchanged; empty for other
 * types.
 */
struct str json_raw_content(struct json_val v);
/* A string. If it has escapes, they are decoded into the arena. */
int json_str(struct json_val v, struct arena *a, struct str *out) MUST_USE;
/* true or false only. */
int json_bool(struct json_val v, bool *out) MUST_USE;
/*
 * An integral number (1, 1.0 and 1e0 alike), exactly; ERR_RANGE when it does not
 * fit, ERR_TYPE when it has a fraction.
 */
int json_i64(struct json_val v, int64_t *out) MUST_USE;
/* The nearest double; ERR_RANGE for a number that would be infinite. */
int json_double(struct json_val v, double *out) MUST_USE;

#endif
