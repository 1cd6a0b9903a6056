/* Cells of calls: any text; what is understood has arguments that are JSON. */
#include "kernel/calls.h"

#include "base/json.h"
#include "base/utf8.h"
#include "limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void look(const struct calls_step *step)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	struct json_error e;
	struct arena a;
	struct json doc;

	if (step->kind != CALLS_SKILL) {
		assert(step->text.n);
		return;
	}
	arena_init(&a, 16 << 20);
	assert(json_parse(&doc, step->text, &caps, &a, &e) == 0);
	assert(json_type(json_root(&doc)) == JSON_OBJECT);
	arena_reset(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct calls_step step;
	struct calls c;
	char *exact;
	int r;

	if (n > 4096)
		return 0;
	exact = malloc(n ? n : 1);
	if (!exact)
		return 0;
	memcpy(exact, p, n);
	calls_init(&c, str_make(exact, n));
	while ((r = calls_next(&c, &step)) == 0)
		look(&step);
	calls_free(&c);
	assert((calls_check(str_make(exact, n)) < 0) == (r < 0));
	free(exact);
	return 0;
}
