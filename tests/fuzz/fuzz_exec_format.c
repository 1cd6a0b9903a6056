/* The first bytes of a program: the interpreter lies in the input, or is empty. */
#include "codec/exec_format.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *copy = malloc(n ? n : 1);
	struct str name = {0};

	if (n)
		memcpy(copy, p, n);
	if (exec_format_read(str_make(copy, n), &name) == 0 && name.n)
		assert(name.p >= copy && name.n <= n - (size_t)(name.p - copy) &&
			str_find_byte(name, '\0') == name.n);
	free(copy);
	return 0;
}
