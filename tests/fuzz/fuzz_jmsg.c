/*
 * Jupyter messages: any four texts, cut at LF, without a key (a right signature cannot
 * be guessed) and with one, which refuses all.
 */
#include "codec/jmsg.h"

#include <assert.h>
#include <stdlib.h>

static void look(const struct jmsg_session *s, const struct str *parts, size_t n)
{
	const char *why = NULL;
	struct arena a;
	struct jmsg m;
	struct json_val v;
	struct str text;
	int it = 0;
	int r;

	arena_init(&a, JMSG_ARENA_MAX);
	r = jmsg_read(s, parts, n, &a, &m, &why);
	assert(r <= 0 && (r == 0 || why));
	assert(r || !s->is_signed);
	if (!r && m.type == JMSG_ERROR)
		while (json_next(m.error.traceback, &it, NULL, &v))
			assert(json_str(v, &a, &text) == 0);
	if (!r && (m.type == JMSG_EXECUTE_RESULT || m.type == JMSG_DISPLAY_DATA))
		assert(json_type(m.data) == JSON_OBJECT);
	arena_reset(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct jmsg_session open, closed;
	struct str parts[16];
	size_t parts_n = 0;
	struct str rest;
	char *exact;

	if (n > 65536 || jmsg_session_init(&open, STR("")) ||
		jmsg_session_init(&closed, STR("key")))
		return 0;
	exact = malloc(n + !n);
	assert(exact);
	if (n)
		memcpy(exact, p, n);
	rest = str_make(exact, n);
	while (rest.n > 0 && parts_n < ARRAY_LEN(parts))
		parts[parts_n++] = str_cut(&rest, '\n');
	look(&open, parts, parts_n);
	look(&closed, parts, parts_n);
	free(exact);
	return 0;
}
