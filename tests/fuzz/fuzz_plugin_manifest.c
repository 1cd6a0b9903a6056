/* Manifests: none is read past its end; a good one holds what its promises are. */
#include "limits.h"
#include "plugin/manifest.h"

#include <assert.h>
#include <stdlib.h>

static void check_list(const char *const *list)
{
	size_t n = 0;

	while (list[n])
		assert(list[n++][0]);
	assert(n <= PLUGIN_WORDS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf why = BUF_INIT(PLUGIN_MANIFEST_MAX * 2);
	struct plugin_manifest m;
	struct arena arena;
	char *exact = malloc(n ? n : 1);
	int r;

	assert(exact);
	memcpy(exact, p, n);
	arena_init(&arena, PLUGIN_MEMORY_MAX);
	r = plugin_manifest_read(&m, str_make(exact, n), STR("p"), &arena, &why);
	assert(r == 0 || r == ERR_SYNTAX || why.n == 0);
	assert(r != ERR_SYNTAX || why.n);
	if (r == 0) {
		check_list(m.argv);
		check_list(m.env);
		check_list(m.needs);
		check_list(m.probe);
		check_list(m.actions);
		assert(m.argv[0] && m.ready_ms && m.call_ms);
		for (size_t i = 0; i < m.routes_n; i++)
			assert(m.routes[i].path[0] == '/');
	}
	arena_reset(&arena);
	buf_free(&why);
	free(exact);
	return 0;
}
