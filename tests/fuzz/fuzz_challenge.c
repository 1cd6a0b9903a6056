/* Any bytes as WWW-Authenticate, and each challenge in it answered. */
#include "inject/registry/auth.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct login login = {.user = STR("user"), .secret = STR("secret")};
	char *copy = malloc(n ? n : 1);
	struct str rest = str_make(copy, n);
	struct challenge c;
	struct arena arena;
	struct url home;

	if (n)
		memcpy(copy, data, n);
	arena_init(&arena, 1 << 20);
	assert(url_parse(&home, STR("https://a.io/")) == 0);
	for (size_t left = n + 1; challenge_next(&rest, &arena, &c) == 0;) {
		struct auth_request q;
		const char *why = NULL;
		struct auth a;

		assert(rest.n < left);
		left = rest.n;
		auth_init(&a, &home, &login, NULL);
		if (auth_answer_challenge(&a, &c, STR("repository:r:pull"), &q, &why) ==
			1)
			assert(!q.headers.n || str_eq_nocase(q.url.host, home.host));
		else
			assert(why);
		auth_request_free(&q);
		auth_free(&a);
		if (!left)
			break;
	}
	arena_reset(&arena);
	free(copy);
	return 0;
}
