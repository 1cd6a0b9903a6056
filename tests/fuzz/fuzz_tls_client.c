/*
 * The input as what a server sends to a client, and as what a client sends to a server
 * that asks for a certificate, in pieces of its first byte's length: certificates come
 * before anything is encrypted. Then as a file of authorities.
 */
#include "net/tls.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"
#include "tests/support/tls_pem.h"

#include <sanitizer/lsan_interface.h>
#include <stdlib.h>

#define TODAY 1796000000 /* in 2026, as the certificates */

static struct tls_trust *trust, *by_key;
static struct tls_credentials *server;

static void carry(struct tls *t, const char *p, size_t n)
{
	size_t step = n ? (unsigned char)p[0] + 1u : 1, at = 1, taken = 1;
	struct str data;

	while (at < n && taken) {
		size_t piece = step < n - at ? step : n - at;

		taken = 0;
		while ((data = tls_output(t)).n)
			tls_output_done(t, data.n);
		if (tls_feed(t, p + at, piece, &taken) != 0)
			break;
		at += taken;
		while (tls_read(t, &data) == 0)
			tls_read_done(t, data.n);
	}
	while ((data = tls_output(t)).n)
		tls_output_done(t, data.n);
	/* Nobody has the key to say anything that would be believed. */
	if (tls_read(t, &data) == 0)
		abort();
	tls_free(t);
}

static void make(void)
{
	static const uint8_t pin[SHA256_LEN];
	struct tls_trust *clients;
	const char *why;

	/* What the memory holds that forks do not see is not looked at for pointers. */
	__lsan_disable();
	if (tls_trust_new(STR(PEM_EC_CERT PEM_RSA_CERT), NULL, &why, &trust) ||
		tls_trust_new(STR(""), pin, &why, &by_key) ||
		tls_trust_new(STR(PEM_EC_CERT), NULL, &why, &clients) ||
		tls_credentials_new(STR(PEM_EC_CERT), STR(PEM_EC_KEY), &why, &server))
		abort();
	tls_credentials_demand(server, clients);
	__lsan_enable();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *copy = malloc(n ? n : 1);
	struct tls_trust *c = NULL;
	struct tls t = {0};
	const char *why;

	if (!server)
		make();
	if (n)
		memcpy(copy, p, n);
	if (tls_connect(&t, trust, STR("localhost"), TODAY))
		abort();
	carry(&t, copy, n);
	if (tls_connect(&t, by_key, STR("127.0.0.1"), TODAY))
		abort();
	carry(&t, copy, n);
	if (tls_accept(&t, server, TODAY))
		abort();
	carry(&t, copy, n);
	if (tls_trust_new(str_make(copy, n), NULL, &why, &c) == 0)
		tls_trust_del(c);
	free(copy);
	return 0;
}
