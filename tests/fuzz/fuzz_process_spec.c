/*
 * The request that starts a process, of any content: what is accepted has an argv, an
 * environment of entries, and texts without NUL; what is refused is told in words.
 */
#include "server/process/process_spec.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const base[] = {"PATH=/bin", "HOME=/h", NULL};

static void check(const struct process_spec *spec)
{
	size_t n = 0;

	assert(spec->argv && spec->argv[0]);
	while (spec->argv[n])
		n++;
	for (n = 0; spec->env[n]; n++) {
		assert(strchr(spec->env[n], '='));
		assert(spec->env[n][0] != '=');
	}
	assert(!spec->cwd || spec->cwd[0] == '/');
	assert(!spec->tag || strlen(spec->tag) <= PROCESS_TAG_MAX);
	assert(spec->timeout_ms <= PROCESS_TIMEOUT_MAX_S * 1000ull);
	assert(spec->output_limit >= PROCESS_OUTPUT_MIN);
	assert(spec->output_limit <= PROCESS_OUTPUT_MAX);
	assert(!spec->pty || (spec->rows && spec->columns));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_spec spec;
	struct arena arena;
	struct params p = {.arena = &arena};
	char *copy = malloc(size ? size : 1);
	int r, signo;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	arena_init(&arena, HTTP_ARENA_MAX);
	r = process_spec_parse(&p, str_make(copy, size));
	if (r == 0) {
		signo = process_signal_read(json_get(p.body, "signal"));
		assert(signo >= 0 && signo < 65);
		r = process_spec_read(&p, base, &spec);
	}
	assert(r == 0 || r == 400 || r == 422 || r == 503);
	assert(!r == !p.error[0]);
	if (r == 0)
		check(&spec);
	arena_reset(&arena);
	free(copy);
	return 0;
}
