/* What comes from a browser: told apart in any pieces, and read where it is JSON. */
#include "base/json.h"
#include "browser/devtools/pipe.h"
#include "limits.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_caps caps = {JSON_DEPTH_MAX, 4096, 1024};
	size_t piece = size ? data[0] % 7 + 1 : 1, messages = 0, nuls = 0;
	struct cdp_pipe p;
	struct str message;

	cdp_pipe_init(&p);
	for (size_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		char *copy = malloc(n);

		assert(copy);
		memcpy(copy, data + at, n);
		assert(cdp_pipe_put(&p, str_make(copy, n)) == 0);
		free(copy);
		while (cdp_pipe_next(&p, &message) == 0) {
			struct json_error e;
			size_t tokens;
			int r = json_check(message, &caps, &tokens, &e);

			/* A half of a pair alone never gets so far; bad bytes do. */
			if (r == ERR_UTF8)
				assert(!strstr(e.why, "surrogate"));
			messages++;
		}
	}
	for (size_t i = 0; i < size; i++)
		nuls += data[i] == 0;
	assert(messages == nuls);
	cdp_pipe_free(&p);
	return 0;
}
