/* A JSON answer of an engine or a sandbox, with the memory of its index. */
#ifndef INJECT_HTTP_JSON_DOC_H
#define INJECT_HTTP_JSON_DOC_H

#include "base/json.h"

struct json_doc {
	struct arena arena;
	struct json json;
};

/*
 * Indexes text, which the caller keeps as long as d; d must not move. Errors of
 * json_parse; after an error d is empty. json_doc_free accepts a zeroed object too.
 */
int json_doc_parse(struct json_doc *d, struct str text) MUST_USE;
void json_doc_free(struct json_doc *d);

struct json_val json_doc_root(const struct json_doc *d);

/* A string, decoded; the empty str for everything else. Lives as long as d. */
struct str json_doc_str(struct json_doc *d, struct json_val v);
/* An integral number, or other for everything else. */
int64_t json_doc_int(struct json_val v, int64_t other);
/* An integral number from 0 to max, or 0 for everything else. */
uint64_t json_doc_uint(struct json_val v, uint64_t max);
/* True for the literal true only. */
bool json_doc_is_true(struct json_val v);

#endif
