/* The TLS machine against BearSSL's client, in memory, split in every way. */
#include "net/tls_credentials.h"
#include "net/tls_private.h"
#include "tests/support/tls_pem.h"
#include "tests/tap.h"

#include <bearssl.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPLY_LEN = 40000, ALL = 1 << 30 };

static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
static char reply[REPLY_LEN];

/* --- Credentials --------------------------------------------------------------- */

static void test_credentials(void)
{
	static const struct {
		const char *name, *chain, *key;
		int want;
	} rows[] = {
		{"EC, SEC1", PEM_EC_CERT, PEM_EC_KEY, 0},
		{"EC, PKCS#8", PEM_EC_CERT, PEM_EC_KEY_PKCS8, 0},
		{"RSA, PKCS#1", PEM_RSA_CERT, PEM_RSA_KEY, 0},
		{"a chain of three", PEM_EC_CERT PEM_RSA_CERT PEM_P384_CERT, PEM_EC_KEY,
			0},
		{"words around the PEM", "Subject: x\n" PEM_EC_CERT "\nend\n",
			"\n\n# my key\n" PEM_EC_KEY, 0},
		{"the curve before the key", PEM_EC_CERT,
			"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n"
			"-----END EC PARAMETERS-----\n" PEM_EC_KEY,
			0},
		{"no certificate", "", PEM_EC_KEY, ERR_SYNTAX},
		{"no key", PEM_EC_CERT, "", ERR_SYNTAX},
		{"a key as chain", PEM_EC_KEY, PEM_EC_KEY, ERR_TYPE},
		{"a certificate as key", PEM_EC_CERT, PEM_EC_CERT, ERR_TYPE},
		{"a chain without its end", "-----BEGIN CERTIFICATE-----\nMIIB\n",
			PEM_EC_KEY, ERR_SYNTAX},
		{"a key without its end", PEM_EC_CERT,
			"-----BEGIN EC PRIVATE KEY-----\nMIIB\n", ERR_SYNTAX},
		{"bad base64",
			"-----BEGIN CERTIFICATE-----\nM!IB\n"
			"-----END CERTIFICATE-----\n",
			PEM_EC_KEY, ERR_SYNTAX},
		{"no certificate inside",
			"-----BEGIN CERTIFICATE-----\nMIIB\n"
			"-----END CERTIFICATE-----\n",
			PEM_EC_KEY, ERR_SYNTAX},
		{"a passphrase", PEM_EC_CERT, PEM_EC_KEY_LOCKED, ERR_TYPE},
		{"RSA of 1024 bits", PEM_SMALL_CERT, PEM_SMALL_KEY, ERR_RANGE},
		{"P-384", PEM_P384_CERT, PEM_P384_KEY, ERR_TYPE},
		{"Ed25519", PEM_EC_CERT, PEM_ED25519_KEY, ERR_TYPE},
		{"the key of another", PEM_EC_CERT, PEM_RSA_KEY, -EKEYREJECTED},
		{"the leaf is not first", PEM_RSA_CERT PEM_EC_CERT, PEM_EC_KEY,
			-EKEYREJECTED},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tls_credentials *s = NULL;
		const char *why = "";

		is_int(tls_credentials_new(
			       str_c(rows[i].chain), str_c(rows[i].key), &why, &s),
			rows[i].want, "%s", rows[i].name);
		ok(rows[i].want ? !s && *why : !!s, "and says so: %s", why);
		tls_credentials_del(s);
	}
}

static void test_credential_caps(void)
{
	struct tls_credentials *s = NULL;
	size_t n = strlen(PEM_EC_CERT);
	char *many = malloc(n * 11);
	char *huge = malloc(1 << 20);
	const char *why;

	for (size_t i = 0; i < 11; i++)
		memcpy(many + i * n, PEM_EC_CERT, n);
	memset(huge, '\n', 1 << 20);
	is_int(tls_credentials_new(str_make(many, n * 10), STR(PEM_EC_KEY), &why, &s), 0,
		"ten certificates");
	tls_credentials_del(s);
	s = NULL;
	is_int(tls_credentials_new(str_make(many, n * 11), STR(PEM_EC_KEY), &why, &s),
		ERR_LIMIT, "eleven certificates");
	is_int(tls_credentials_new(STR(PEM_EC_CERT), str_make(huge, 1 << 20), &why, &s),
		ERR_LIMIT, "a key of a megabyte");
	ok(!s, "no server");
	free(many);
	free(huge);
}

/* --- A client and a server, and the wire between them -------------------------- */

struct link {
	br_ssl_client_context client;
	br_x509_minimal_context unused;
	br_x509_knownkey_context known;
	unsigned char io[BR_SSL_BUFSIZE_BIDI];
	struct tls tls;
	size_t step;    /* bytes passed at once */
	size_t cut[2];  /* a stop at this offset: to the server, to the client */
	size_t done[2]; /* bytes passed so far */
	size_t flip;    /* offset of the byte to the server that is altered */
	bool server_closes;
	size_t asked;    /* bytes of the request the server has */
	size_t answered; /* bytes of the reply the server has written */
	char got[REPLY_LEN];
	size_t got_n;
	size_t sent; /* bytes of the request the client has written */
	int feed;    /* the last answer of tls_feed */
};

static struct link *link_new(const struct tls_credentials *s, const br_x509_pkey *key)
{
	struct link *l = calloc(1, sizeof(*l));

	br_ssl_client_init_full(&l->client, &l->unused, NULL, 0);
	if (key->key_type == BR_KEYTYPE_RSA)
		br_x509_knownkey_init_rsa(&l->known, &key->key.rsa, BR_KEYTYPE_SIGN);
	else
		br_x509_knownkey_init_ec(&l->known, &key->key.ec, BR_KEYTYPE_SIGN);
	br_ssl_engine_set_x509(&l->client.eng, &l->known.vtable);
	br_ssl_engine_set_buffer(&l->client.eng, l->io, sizeof(l->io), 1);
	br_ssl_client_reset(&l->client, "localhost", 0);
	if (tls_accept(&l->tls, s, 0) < 0)
		abort();
	l->step = ALL;
	l->cut[0] = l->cut[1] = l->flip = ALL;
	return l;
}

static void link_del(struct link *l)
{
	tls_free(&l->tls);
	free(l);
}

/* How many of n bytes pass now in direction d. */
static size_t passes(const struct link *l, int d, size_t n)
{
	if (n > l->step)
		n = l->step;
	if (l->done[d] < l->cut[d] && n > l->cut[d] - l->done[d])
		n = l->cut[d] - l->done[d];
	return n;
}

static size_t to_server(struct link *l)
{
	size_t n, taken = 0;
	unsigned char *p = br_ssl_engine_sendrec_buf(&l->client.eng, &n);
	unsigned char *copy;

	if (!p)
		return 0;
	n = passes(l, 0, n);
	copy = malloc(n); /* of the exact size, so that reading too far is seen */
	memcpy(copy, p, n);
	if (l->flip - l->done[0] < n)
		copy[l->flip - l->done[0]] ^= 1;
	l->feed = tls_feed(&l->tls, copy, n, &taken);
	free(copy);
	if (l->feed)
		taken = n;
	br_ssl_engine_sendrec_ack(&l->client.eng, taken);
	l->done[0] += taken;
	return taken;
}

static size_t to_client(struct link *l)
{
	struct str out = tls_output(&l->tls);
	size_t room;
	unsigned char *p = br_ssl_engine_recvrec_buf(&l->client.eng, &room);

	if (out.n == 0)
		return 0;
	room = p ? passes(l, 1, room < out.n ? room : out.n) : out.n;
	if (p) {
		memcpy(p, out.p, room);
		br_ssl_engine_recvrec_ack(&l->client.eng, room);
	}
	tls_output_done(&l->tls, room);
	l->done[1] += room;
	return room;
}

static size_t client_acts(struct link *l)
{
	size_t n;
	unsigned char *p = br_ssl_engine_sendapp_buf(&l->client.eng, &n);
	size_t before = l->sent + l->got_n;

	if (p && l->sent < sizeof(request) - 1) {
		if (n > sizeof(request) - 1 - l->sent)
			n = sizeof(request) - 1 - l->sent;
		memcpy(p, request + l->sent, n);
		br_ssl_engine_sendapp_ack(&l->client.eng, n);
		br_ssl_engine_flush(&l->client.eng, 0);
		l->sent += n;
	}
	p = br_ssl_engine_recvapp_buf(&l->client.eng, &n);
	if (p) {
		if (n > sizeof(l->got) - l->got_n)
			abort();
		memcpy(l->got + l->got_n, p, n);
		br_ssl_engine_recvapp_ack(&l->client.eng, n);
		l->got_n += n;
		if (l->got_n == REPLY_LEN && !l->server_closes)
			br_ssl_engine_close(&l->client.eng);
	}
	return l->sent + l->got_n - before;
}

static size_t server_acts(struct link *l)
{
	size_t before = l->asked + l->answered, n;
	struct str data;

	while (tls_read(&l->tls, &data) == 0) {
		if (data.n > sizeof(request) - 1 - l->asked ||
			memcmp(data.p, request + l->asked, data.n) != 0)
			abort();
		l->asked += data.n;
		tls_read_done(&l->tls, data.n);
	}
	if (l->asked == sizeof(request) - 1 && l->answered < REPLY_LEN &&
		tls_write(&l->tls, reply + l->answered, REPLY_LEN - l->answered, &n) ==
			0) {
		l->answered += n;
		if (l->answered == REPLY_LEN && l->server_closes)
			tls_close(&l->tls);
	}
	return l->asked + l->answered - before;
}

/* Until nothing moves any more. */
static void run(struct link *l)
{
	while (to_server(l) + to_client(l) + client_acts(l) + server_acts(l) > 0)
		;
}

static bool clean_end(struct link *l)
{
	struct str data;

	return l->got_n == REPLY_LEN && memcmp(l->got, reply, REPLY_LEN) == 0 &&
		br_ssl_engine_last_error(&l->client.eng) == BR_ERR_OK &&
		br_ssl_engine_current_state(&l->client.eng) == BR_SSL_CLOSED &&
		tls_read(&l->tls, &data) == TLS_END && tls_feed_end(&l->tls) == 0;
}

/* --- Tests --------------------------------------------------------------------- */

struct pair {
	struct tls_credentials *server;
	br_x509_decoder_context decoder;
	const br_x509_pkey *key;
};

static void pair_init(struct pair *p, const char *chain, const char *key)
{
	const char *why = "";

	if (tls_credentials_new(str_c(chain), str_c(key), &why, &p->server) < 0)
		printf("Bail out! %s\n", why);
	p->key = leaf_key(chain, &p->decoder);
}

static void test_conversation(const struct pair *p, const char *name)
{
	for (int who = 0; who < 2; who++) {
		struct link *l = link_new(p->server, p->key);
		br_ssl_session_parameters session;

		l->server_closes = who;
		run(l);
		ok(clean_end(l), "%s, %s closes: the reply is whole", name,
			who ? "the server" : "the client");
		br_ssl_engine_get_session_parameters(&l->client.eng, &session);
		is_int(session.version, BR_TLS12, "%s: version", name);
		link_del(l);
	}
}

static void test_splits(const struct pair *p)
{
	size_t total[2], bad = 0, n = 0;
	struct link *l = link_new(p->server, p->key);

	l->step = 1;
	run(l);
	ok(clean_end(l), "byte by byte");
	memcpy(total, l->done, sizeof(total));
	link_del(l);
	/* To the client: the handshake and the first record's head are enough. */
	if (total[1] > 1000)
		total[1] = 1000;
	for (int d = 0; d < 2; d++)
		for (size_t cut = 1; cut < total[d]; cut += d ? 7 : 1, n++) {
			l = link_new(p->server, p->key);
			l->cut[d] = cut;
			run(l);
			bad += !clean_end(l);
			link_del(l);
		}
	ok(n > 500, "%zu positions", n);
	is_int(bad, 0, "splits that go wrong");
}

/* Every byte that an attacker alters is noticed, whatever record it is in. */
static void test_altered(const struct pair *p)
{
	size_t total, wrong = 0;
	struct link *l = link_new(p->server, p->key);

	run(l);
	total = l->done[0];
	link_del(l);
	for (size_t at = 0; at < total; at += 7) {
		l = link_new(p->server, p->key);
		l->flip = at;
		run(l);
		wrong += clean_end(l);
		link_del(l);
	}
	is_int(wrong, 0, "altered bytes that nobody notices");
}

static void test_refused_clients(const struct pair *p)
{
	static const uint16_t cbc[] = {BR_TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
		BR_TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
		BR_TLS_RSA_WITH_AES_128_GCM_SHA256};
	struct link *l = link_new(p->server, p->key);

	br_ssl_engine_set_versions(&l->client.eng, BR_TLS10, BR_TLS11);
	br_ssl_client_reset(&l->client, "localhost", 0);
	run(l);
	is_int(l->feed ? l->feed : tls_feed_end(&l->tls), ERR_TLS, "TLS 1.1 is refused");
	is_str(tls_error_text(&l->tls), "the peer does not offer TLS 1.2", "in words");
	is_int(l->done[1], 7, "and the client is sent an alert");
	link_del(l);

	l = link_new(p->server, p->key);
	br_ssl_engine_set_suites(&l->client.eng, cbc, ARRAY_LEN(cbc));
	br_ssl_client_reset(&l->client, "localhost", 0);
	run(l);
	is_int(tls_feed_end(&l->tls), ERR_TLS, "CBC and static RSA are refused");
	is_int(br_ssl_engine_last_error(&l->client.eng), BR_ERR_RECV_FATAL_ALERT + 40,
		"and the client is told: handshake_failure");
	link_del(l);
}

static void test_not_tls(const struct pair *p)
{
	static const struct str texts[] = {
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27},
		{"\x80\x2e\x01\x00\x02\x00\x15\x00\x00", 9}, /* SSL 2 */
		{"\x16\x03\x01\xff\xff too long", 14},
		{"\x17\x03\x03\x00\x01x", 6}, /* data before the handshake */
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct tls t = {0};
		size_t taken = 0;
		struct str data;

		is_int(tls_accept(&t, p->server, 0), 0, "a connection");
		is_int(tls_feed(&t, texts[i].p, texts[i].n, &taken), ERR_TLS,
			"not TLS, text %zu", i);
		is_int(tls_read(&t, &data), ERR_TLS, "nothing to read");
		is_int(tls_write(&t, "x", 1, &taken), ERR_TLS, "nothing to write to");
		is_int(tls_feed_end(&t), ERR_TLS, "no clean end");
		ok(strstr(tls_error_text(&t), "the peer"), "%s", tls_error_text(&t));
		is_int(tls_output(&t).n, 0, "nothing to send");
		tls_free(&t);
		tls_free(&t);
	}
}

static void test_ends(const struct pair *p)
{
	struct link *l = link_new(p->server, p->key);
	struct str data;
	size_t taken = 99;

	is_int(tls_feed_end(&l->tls), ERR_CLOSED, "an end before the handshake");
	is_int(tls_read(&l->tls, &data), TLS_WAIT, "nothing to read yet");
	is_int(tls_write(&l->tls, "x", 1, &taken), TLS_WAIT, "no writing yet");
	is_int(taken, 99, "out-parameters untouched");
	while (to_server(l) + to_client(l) + client_acts(l) > 0)
		;
	is_int(tls_feed_end(&l->tls), ERR_CLOSED, "an end without close_notify");
	is_int(tls_write(&l->tls, "", 0, &taken), 0, "writing nothing");
	is_int(taken, 0, "takes nothing");
	br_ssl_engine_close(&l->client.eng);
	run(l);
	is_int(tls_feed_end(&l->tls), 0, "an end after close_notify");
	is_int(tls_feed(&l->tls, "junk", 4, &taken), TLS_END, "what follows is void");
	is_int(tls_read(&l->tls, &data), TLS_END, "reading ends");
	is_int(tls_write(&l->tls, "x", 1, &taken), ERR_CLOSED, "writing is refused");
	tls_close(&l->tls);
	is_int(tls_output(&l->tls).n, 0, "nothing more to send");
	link_del(l);
}

static void test_features(const struct pair *p)
{
	static const char *protocols[] = {"h2", "http/1.1"};
	struct link *l = link_new(p->server, p->key);
	const char *chosen;

	br_ssl_engine_set_protocol_names(&l->client.eng, protocols, 2);
	br_ssl_client_reset(&l->client, "localhost", 0);
	l->server_closes = true;
	while (to_server(l) + to_client(l) > 0)
		;
	chosen = br_ssl_engine_get_selected_protocol(&l->client.eng);
	is_str(chosen, "http/1.1", "ALPN chooses http/1.1");
	ok(br_ssl_engine_renegotiate(&l->client.eng),
		"the client may ask for a handshake");
	run(l);
	is_int(br_ssl_engine_last_error(&l->client.eng), BR_ERR_RECV_FATAL_ALERT + 100,
		"and is told: no_renegotiation");
	is_int(l->feed, 0, "which is no error of the server's");
	link_del(l);
}

/* Whether a child finds nothing but zeros there. */
static bool is_zero_in_child(const void *at, size_t n)
{
	static const char zeros[sizeof(br_skey_decoder_context)];
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(memcmp(at, zeros, n) != 0);
	waitpid(pid, &status, 0);
	return status == 0;
}

/* What is forked off gets no copy of the key. */
static void test_fork(const struct pair *p)
{
	char *page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*page = 'x';
	if (madvise(page, 4096, MADV_WIPEONFORK) < 0 || !is_zero_in_child(page, 1))
		skip("a key that children lack", "the kernel does not wipe");
	else
		ok(is_zero_in_child(&p->server->key, sizeof(p->server->key)),
			"a key that children lack");
	munmap(page, 4096);
}

int main(void)
{
	struct pair ec, rsa;

	for (size_t i = 0; i < REPLY_LEN; i++)
		reply[i] = (char)(i * 31 % 251);
	test_credentials();
	test_credential_caps();
	pair_init(&ec, PEM_EC_CERT, PEM_EC_KEY);
	pair_init(&rsa, PEM_RSA_CERT, PEM_RSA_KEY);
	test_fork(&ec);
	test_conversation(&ec, "EC");
	test_conversation(&rsa, "RSA");
	test_splits(&ec);
	test_altered(&ec);
	test_refused_clients(&ec);
	test_not_tls(&ec);
	test_ends(&ec);
	test_features(&ec);
	tls_credentials_del(ec.server);
	tls_credentials_del(rsa.server);
	return done_testing();
}
