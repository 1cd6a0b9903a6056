/*
 * The input as a server's chain and key, cut at its first NUL, and as what a
 * client sends to a server with good ones, in pieces of its first byte's length.
 */
#include "net/tls.h"
#include "net/tls_credentials.h"
#include "tests/support/tls_pem.h"

#include <sanitizer/lsan_interface.h>
#include <stdlib.h>

static struct tls_credentials *good;

static void credentials(const char *p, size_t n)
{
	struct str rest = str_make(p, n), chain = str_cut(&rest, '\0');
	struct tls_credentials *s = NULL;
	const char *why;

	if (tls_credentials_new(chain, rest, &why, &s) == 0)
		tls_credentials_del(s);
	if (tls_credentials_new(STR(PEM_EC_CERT), rest, &why, &s) == 0)
		tls_credentials_del(s);
}

static void connection(const char *p, size_t n)
{
	size_t step = n ? (unsigned char)p[0] + 1u : 1, at = 1, taken = 1;
	struct tls t = {0};
	struct str data;

	if (tls_accept(&t, good, 0) < 0)
		abort();
	while (at < n && taken) {
		size_t piece = step < n - at ? step : n - at;

		taken = 0;
		if (tls_feed(&t, p + at, piece, &taken) != 0)
			break;
		at += taken;
		while (tls_read(&t, &data) == 0)
			tls_read_done(&t, data.n);
		while ((data = tls_output(&t)).n)
			tls_output_done(&t, data.n);
	}
	tls_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *copy = malloc(n ? n : 1);
	const char *why;

	/* What the memory holds that forks do not see is not looked at for pointers. */
	__lsan_disable();
	if (!good &&
		tls_credentials_new(STR(PEM_EC_CERT), STR(PEM_EC_KEY), &why, &good) < 0)
		abort();
	__lsan_enable();
	if (n)
		memcpy(copy, p, n);
	credentials(copy, n);
	connection(copy, n);
	free(copy);
	return 0;
}
