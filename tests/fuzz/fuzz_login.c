/* Any bytes as config.json and as a helper's answer. */
#include "inject/registry/login.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *copy = malloc(n ? n : 1);
	struct str in = str_make(copy, n);
	struct login_source s;
	struct arena arena;
	struct login l;

	if (n)
		memcpy(copy, data, n);
	arena_init(&arena, 1 << 20);
	if (login_read(in, STR("a.io"), &arena, &s) == 0 && s.helper.n)
		assert(!s.login.user.n && !s.login.secret.n && !s.login.identity.n);
	(void)!login_read_helper(in, &arena, &l);
	arena_reset(&arena);
	free(copy);
	return 0;
}
