/* The index of an archive: what it says lies within the archive. */
#include "inject/registry/tarball.h"

#include "base/fd.h"
#include "limits.h"

#include <assert.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const names[] = {"a", "a/b", "index.json", "../x", ""};
	struct tarball t;
	struct arena arena;
	const char *why = NULL;
	int fd = fd_create_memory("fuzz", 0), r;

	if (fd < 0 || fd_write_all(fd, data, n)) {
		fd_close(&fd);
		return 0;
	}
	arena_init(&arena, INJECT_STORE_MAX);
	r = tarball_read(&t, fd, &arena, &why);
	assert(r != ERR_SYNTAX || why);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		uint64_t at, size;

		if (tarball_find(&t, str_c(names[i]), &at, &size) == 0)
			assert(at <= n && size <= n - at);
	}
	tarball_free(&t);
	arena_reset(&arena);
	fd_close(&fd);
	return 0;
}
