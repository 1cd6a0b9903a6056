/* A JSON answer of an engine or a sandbox, with the memory of its index. */
#ifndef INJECT_HTTP_DOC_H
#define INJECT_HTTP_DOC_H

#include "base/json.h"

struct doc {
	struct arena arena;
	struct json json;
};

/*
 * Indexes text, which the caller keeps as long as d; d must not move. Errors of
 * json_parse; after an error d is empty. doc_free accepts a zeroed object too.
 */
int doc_parse(struct doc *d, struct str text) MUST_USE;
void doc_free(struct doc *d);

struct json_val doc_root(const struct doc *d);

/* A string, decoded; the empty str for everything else. Lives as long as d. */
struct str doc_str(struct doc *d, struct json_val v);
/* An integral number, or other for everything else. */
int64_t doc_int(struct json_val v, int64_t other);
/* An integral number from 0 to max, or 0 for everything else. */
uint64_t doc_uint(struct json_val v, uint64_t max);
/* True for the literal true only. */
bool doc_true(struct json_val v);

#endif
