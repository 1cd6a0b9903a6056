/*
 * The client's side of TLS against our own server, in memory. With arguments it is a
 * client for tls_client.t: PORT HOST NOW AUTHORITIES [PIN]; it prints the verdict.
 */
#include "net/tls_credentials.h"
#include "net/tls_trust.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "net/tls_private.h"
#include "net/transport.h"
#include "tests/support/tls_pem.h"
#include "tests/tap.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define TODAY 1796000000 /* in 2026, as the certificates */

static struct tls_credentials *server;

static struct tls_trust *trusting(const char *pem, const uint8_t *pin)
{
	struct tls_trust *c = NULL;
	const char *why = "";

	ok(tls_trust_new(str_c(pem), pin, &why, &c) == 0, "authorities: %s", why);
	return c;
}

/* Moves bytes from one machine to the other, step of them at a time; 0 when done. */
static int carry(struct tls *from, struct tls *to, size_t step)
{
	struct str out = tls_output(from);
	size_t taken = 0;
	int r;

	if (!out.n)
		return 1;
	r = tls_feed(to, out.p, out.n < step ? out.n : step, &taken);
	if (r < 0)
		return r;
	tls_output_done(from, r ? out.n : taken);
	return 0;
}

/* The error of the client; 0 when it heard "hello" and the server's end. */
static int talk(
	const struct tls_trust *trust, const char *name, size_t step, struct buf *got)
{
	struct tls c = {0}, s = {0};
	struct str data;
	bool said = false;
	size_t n;
	int r = tls_connect(&c, trust, str_c(name), TODAY);

	if (r)
		return r;
	ok(tls_accept(&s, server, TODAY) == 0, "a server");
	for (int idle = 0; idle < 2;) {
		int a = carry(&c, &s, step), b = carry(&s, &c, step);

		idle = a && b ? idle + 1 : 0;
		if (!said && tls_write(&s, "hello", 5, &n) == 0) {
			said = true;
			tls_close(&s);
		}
		while ((r = tls_read(&c, &data)) == 0) {
			buf_str(got, data);
			tls_read_done(&c, data.n);
		}
		if (r == ERR_TLS)
			break;
	}
	if (r == ERR_TLS)
		printf("# %s\n", tls_error_text(&c));
	tls_free(&c);
	tls_free(&s);
	return r == TLS_END ? 0 : r;
}

static void test_talk(void)
{
	static const size_t steps[] = {1, 7, 1000, 100000};
	struct tls_trust *trust = trusting(PEM_EC_CERT, NULL);
	struct tls_trust *other = trusting(PEM_RSA_CERT, NULL);
	struct buf got = BUF_INIT(100);

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		buf_reset(&got);
		is_int(talk(trust, "localhost", steps[i], &got), 0, "by %zu bytes",
			steps[i]);
		is_view(buf_view(&got), "hello", "what was said");
	}
	buf_reset(&got);
	is_int(talk(trust, "other.example", 99, &got), ERR_TLS,
		"another name is refused");
	is_int(talk(trust, "127.0.0.1", 99, &got), ERR_TLS, "an address is refused");
	is_int(talk(other, "localhost", 99, &got), ERR_TLS,
		"another authority is refused");
	is_int(got.n, 0, "and nothing is heard of such a server");
	buf_free(&got);
	tls_trust_del(trust);
	tls_trust_del(other);
}

static void test_pin(void)
{
	/* openssl x509 -pubkey | openssl pkey -pubin -outform DER | sha256sum */
	uint8_t pin[SHA256_LEN];
	br_x509_decoder_context d;
	const br_x509_pkey *key = leaf_key(PEM_EC_CERT, &d);
	/* RFC 5480: id-ecPublicKey, prime256v1, and the point */
	static const char head[] = "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"
				   "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42";
	struct buf spki = BUF_INIT(200), got = BUF_INIT(100);
	struct tls_trust *c;

	buf_put(&spki, head, sizeof(head)); /* its NUL: no unused bits */
	buf_put(&spki, key->key.ec.q, key->key.ec.qlen);
	sha256_compute(buf_view(&spki), pin);
	c = trusting("", pin);
	is_int(talk(c, "any.example", 99, &got), 0, "the key alone is enough");
	is_view(buf_view(&got), "hello", "what was said");
	tls_trust_del(c);
	c = trusting(PEM_EC_CERT, pin);
	is_int(talk(c, "localhost", 99, &got), 0, "key and authority");
	is_int(talk(c, "any.example", 99, &got), ERR_TLS, "then the name counts as well");
	tls_trust_del(c);
	pin[5] ^= 1;
	c = trusting(PEM_EC_CERT, pin);
	is_int(talk(c, "localhost", 99, &got), ERR_TLS, "another key is refused");
	tls_trust_del(c);
	c = trusting("", pin);
	is_int(talk(c, "localhost", 99, &got), ERR_TLS, "and alone, too");
	tls_trust_del(c);
	buf_free(&spki);
	buf_free(&got);
}

/* A certificate of its own: by its key, or by itself as an authority. */
static void test_self(void)
{
	static const uint8_t secrets[][TLS_SECRET] = {{1}, {0xff, 0xff, 0xff, 0xff}, {2}};
	struct tls_credentials *given = server, *again;
	uint8_t pin[SHA256_LEN], same[SHA256_LEN];
	struct buf got = BUF_INIT(100);
	struct tls_trust *c;

	for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
		is_int(tls_credentials_self(secrets[i], &server, pin), 0, "made");
		is_int(tls_credentials_self(secrets[i], &again, same), 0, "once more");
		ok(hash_equal(pin, same, sizeof(pin)), "with the same key");
		tls_credentials_del(again);
		c = trusting("", pin);
		buf_reset(&got);
		is_int(talk(c, "localhost", 99, &got), 0, "believed by its key");
		is_view(buf_view(&got), "hello", "what was said");
		tls_trust_del(c);
		same[0] ^= 1;
		c = trusting("", same);
		is_int(talk(c, "localhost", 99, &got), ERR_TLS, "by no other");
		tls_trust_del(c);
		tls_credentials_del(server);
	}
	server = given;
	buf_free(&got);
}

static struct tls_credentials *credentials(const char *cert, const char *private_key)
{
	struct tls_credentials *s = NULL;
	const char *why = "";

	ok(tls_credentials_new(str_c(cert), str_c(private_key), &why, &s) == 0,
		"credentials: %s", why);
	return s;
}

/* Somebody else's certificate, with a key of one's own. */
static struct tls_credentials *thief(void)
{
	struct tls_credentials *s = credentials(PEM_EC_CERT, PEM_EC_KEY);

	s->key.key.ec.x[s->key.key.ec.xlen - 1] ^= 1;
	return s;
}

/* What the server thinks of a client that shows own; in steps of one byte and of many. */
static void shows(struct tls_credentials *own, int wanted, const char *name)
{
	static const size_t steps[] = {1, 100000};
	struct tls_trust *trust = trusting(PEM_EC_CERT, NULL);
	struct buf got = BUF_INIT(100);

	tls_trust_prove(trust, own);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		is_int(talk(trust, "localhost", steps[i], &got), wanted, "%s", name);
	tls_trust_del(trust);
	tls_credentials_del(own);
	buf_free(&got);
}

static void test_mutual(void)
{
	struct tls_credentials *given = server;

	server = credentials(PEM_EC_CERT, PEM_EC_KEY);
	tls_credentials_demand(server, trusting(PEM_EC_CERT PEM_RSA_CERT, NULL));
	shows(credentials(PEM_EC_CERT, PEM_EC_KEY), 0, "a client that is known");
	shows(credentials(PEM_RSA_CERT, PEM_RSA_KEY), 0, "another, by RSA");
	shows(NULL, ERR_TLS, "one that shows nothing");
	shows(thief(), ERR_TLS, "one without the key");
	tls_credentials_del(server);
	server = credentials(PEM_EC_CERT, PEM_EC_KEY);
	tls_credentials_demand(server, trusting(PEM_RSA_CERT, NULL));
	shows(credentials(PEM_EC_CERT, PEM_EC_KEY), ERR_TLS, "one of another authority");
	tls_credentials_del(server);
	server = given;
}

/* The alert (RFC 5246 7.2) in answer to a client that shows nothing, piece by piece. */
static void test_alert(void)
{
	struct tls_trust *trust = trusting(PEM_EC_CERT, NULL);
	struct tls_credentials *s = credentials(PEM_EC_CERT, PEM_EC_KEY);
	struct tls a = {0}, b = {0};
	static const char wanted[] = {21, 3, 3, 0, 2, 2, 40};
	struct buf said = BUF_INIT(100);
	struct str out = {0};

	tls_credentials_demand(s, trusting(PEM_EC_CERT, NULL));
	ok(tls_connect(&a, trust, STR("localhost"), TODAY) == 0 &&
			tls_accept(&b, s, TODAY) == 0,
		"two ends");
	for (int i = 0; i < 20 && carry(&a, &b, 100000) >= 0; i++)
		if (carry(&b, &a, 100000) < 0)
			break;
	is_str(tls_error_text(&b), "the client did not send a certificate", "the reason");
	for (int i = 0; i < 20 && (out = tls_output(&b)).n; i++) {
		buf_put(&said, out.p, 1);
		tls_output_done(&b, 1);
	}
	ok(!out.n, "it says no more than that");
	is_mem(said.p, said.n, wanted, sizeof(wanted),
		"handshake_failure, and in the open");
	is_int(tls_read(&b, &out), ERR_TLS, "for good");
	tls_free(&a);
	tls_free(&b);
	tls_credentials_del(s);
	tls_trust_del(trust);
	buf_free(&said);
}

/* Its key is pinned, its name and authority are right: only the signature is not. */
static void test_thief(void)
{
	struct tls_credentials *given = server;
	struct tls_trust *trust = trusting(PEM_EC_CERT, NULL);
	struct buf got = BUF_INIT(100);

	server = thief();
	is_int(talk(trust, "localhost", 1000, &got), ERR_TLS,
		"a server that shows another's certificate");
	is_int(got.n, 0, "is not heard");
	tls_credentials_del(server);
	server = given;
	tls_trust_del(trust);
	buf_free(&got);
}

static void refuses(const char *pem, int err, const char *name)
{
	struct tls_trust *c = NULL;
	const char *why = NULL;

	is_int(tls_trust_new(str_c(pem), NULL, &why, &c), err, "%s", name);
	ok(why && !c, "%s: %s", name, why);
}

static void test_authorities(void)
{
	struct tls_trust *c = trusting(PEM_SMALL_CERT PEM_EC_CERT PEM_P384_CERT, NULL);
	struct tls t = {0};

	refuses("", ERR_TYPE, "none at all");
	refuses("nothing", ERR_TYPE, "no PEM");
	refuses(PEM_SMALL_CERT, ERR_TYPE, "a short key alone");
	refuses(PEM_EC_KEY, ERR_TYPE, "a key");
	refuses("-----BEGIN CERTIFICATE-----\nAAAA\n", ERR_SYNTAX, "a PEM that is cut");
	refuses("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		ERR_TYPE, "bytes that are no certificate");
	is_int(tls_connect(&t, c, str_c(""), TODAY), ERR_SYNTAX,
		"no host, no connection");
	is_int(tls_connect(&t, c, str_c("a b"), TODAY), ERR_SYNTAX, "nor with a bad one");
	is_int(tls_connect(&t, c, str_c("a"), 0), ERR_RANGE, "nor in 1970");
	tls_trust_del(c);
	tls_trust_del(NULL);
}

/* --- Over sockets ------------------------------------------------------------------- */

static void send_all(struct transport *t, const char *text)
{
	struct iovec v = {(void *)(uintptr_t)text, strlen(text)};

	is_int(transport_send(t, &v, 1), strlen(text), "'%s' is taken", text);
	is_int(transport_flush(t), 0, "and sent");
}

static void test_transport(bool announced)
{
	struct tls_trust *trust = trusting(PEM_EC_CERT, NULL);
	struct transport s, c;
	char got[16];
	int pair[2];

	ok(fd_socketpair(SOCK_STREAM, pair) == 0 &&
			transport_tls(&s, pair[0], server) == 0 &&
			transport_tls_client(&c, pair[1], trust, STR("localhost")) == 0,
		"two ends");
	for (int i = 0; i < 10; i++)
		if (transport_recv(&c, got, 1) != -EAGAIN ||
			transport_recv(&s, got, 1) != -EAGAIN)
			ok(false, "nothing comes before something was said");
	send_all(&c, "ping");
	is_int(transport_recv(&s, got, sizeof(got)), 4, "the server hears it");
	send_all(&s, "pong");
	is_int(transport_recv(&c, got, sizeof(got)), 4, "the client hears it");
	ok(memcmp(got, "pong", 4) == 0, "as it was said");
	if (announced)
		transport_end(&s);
	else
		shutdown(s.fd, SHUT_WR);
	is_int(transport_recv(&c, got, sizeof(got)), announced ? 0 : ERR_CLOSED,
		announced ? "an end" : "a cut is no end");
	transport_close(&c);
	transport_close(&s);
	tls_trust_del(trust);
}

static void test_transport_refusals(void)
{
	struct tls_trust *trust = trusting(PEM_RSA_CERT, NULL);
	struct transport s, c;
	int pair[2], r = -EAGAIN;
	char got[16];

	ok(fd_socketpair(SOCK_STREAM, pair) == 0, "two sockets");
	is_int(transport_tls_client(&c, pair[1], trust, STR("")), ERR_SYNTAX, "no host");
	ok(transport_tls(&s, pair[0], server) == 0 &&
			transport_tls_client(&c, pair[1], trust, STR("localhost")) == 0,
		"two ends");
	for (int i = 0; i < 10 && r == -EAGAIN; i++) {
		r = (int)transport_recv(&c, got, 1);
		(void)!transport_recv(&s, got, 1);
	}
	is_int(r, ERR_TLS, "a stranger");
	is_str(transport_tls_error(&c),
		"the certificate is not signed by a trusted authority", "the reason");
	transport_close(&c);
	transport_close(&s);
	tls_trust_del(trust);
}

/* --- A client for tls_client.t ------------------------------------------------------ */

static int verdict(struct tls *t, int fd)
{
	char in[4096];
	struct pollfd p = {.fd = fd};
	struct str data;
	size_t taken;
	int r;

	for (;;) {
		struct str out = tls_output(t);

		if (out.n) {
			ssize_t put = write(fd, out.p, out.n);

			if (put > 0)
				tls_output_done(t, (size_t)put);
		}
		r = tls_read(t, &data);
		if (r != TLS_WAIT)
			return r;
		/* The handshake is over as soon as something can be said. */
		if (tls_write(t, "Q\n", 2, &taken) == 0)
			return 0;
		p.events = out.n ? POLLOUT : POLLIN;
		if (poll(&p, 1, 10000) <= 0)
			return -1;
		if (p.revents & (POLLIN | POLLHUP)) {
			ssize_t got = read(fd, in, sizeof(in));

			if (got == 0)
				return tls_feed_end(t);
			for (size_t at = 0; got > 0 && at < (size_t)got; at += taken) {
				taken = 0;
				r = tls_feed(t, in + at, (size_t)got - at, &taken);
				if (r)
					return r;
			}
		}
	}
}

static int client(char **argv)
{
	static char pem[1 << 20];
	struct tls_trust *c = NULL;
	struct tls t = {0};
	uint8_t pin[SHA256_LEN];
	const char *why = "";
	uint64_t port, now;
	int file = fd_open(argv[4], 0, 0);
	ssize_t n = read(file, pem, sizeof(pem));
	int fd, r;

	if (n < 0 || str_u64(str_c(argv[1]), 65535, &port) ||
		str_u64(str_c(argv[3]), INT64_MAX, &now) ||
		(argv[5] && hex_decode(str_c(argv[5]), pin, sizeof(pin))))
		return 100;
	fd_close(&file);
	r = tls_trust_new(str_make(pem, (size_t)n), argv[5] ? pin : NULL, &why, &c);
	if (r) {
		printf("%s\n", why);
		return 2;
	}
	fd = fd_connect_tcp("127.0.0.1", (uint16_t)port);
	r = tls_connect(&t, c, str_c(argv[2]), now ? (int64_t)now : clock_unix_s());
	if (!r)
		r = verdict(&t, fd);
	printf("%s\n",
		r == 0                 ? "believed"
			: r == ERR_TLS ? tls_error_text(&t)
				       : err_text(r));
	tls_free(&t);
	tls_trust_del(c);
	fd_close(&fd);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *why;

	if (argc >= 5)
		return client(argv);
	if (tls_credentials_new(STR(PEM_EC_CERT), STR(PEM_EC_KEY), &why, &server))
		printf("Bail out! %s\n", why);
	test_talk();
	test_pin();
	test_self();
	test_mutual();
	test_alert();
	test_thief();
	test_authorities();
	test_transport(true);
	test_transport(false);
	test_transport_refusals();
	tls_credentials_del(server);
	return done_testing();
}
