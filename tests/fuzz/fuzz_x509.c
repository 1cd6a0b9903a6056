/* Any bytes as a certificate, and what it says of three hosts. */
#include "codec/x509.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const hosts[] = {"a.example.com", "127.0.0.1", "::1"};
	char *copy = malloc(n ? n : 1);
	struct x509 c;
	struct x509_host h;

	if (n)
		memcpy(copy, data, n);
	if (x509_read(&c, str_make(copy, n)) == 0) {
		assert(c.spki.n && c.spki.p >= copy && c.spki.p + c.spki.n <= copy + n);
		for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
			if (x509_host_read(&h, str_c(hosts[i])) == 0)
				(void)x509_has_host(&c, &h);
	}
	if (x509_host_read(&h, str_make(copy, n)) == 0)
		assert(h.n <= X509_NAME_MAX);
	free(copy);
	return 0;
}
