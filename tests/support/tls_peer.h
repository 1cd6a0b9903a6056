/*
 * A TLS client over a socket, moved on by hand: client_pump does what can be done at
 * once. It takes the server's key as known.
 */
#ifndef TESTS_TLS_PEER_H
#define TESTS_TLS_PEER_H

#include "base/buf.h"
#include "base/fd.h"
#include "net/tls.h"
#include "tests/support/tls_pem.h"

#include <bearssl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* What the servers of these tests show, and its key as their clients know it. */
static struct tls_credentials *credentials;
static br_x509_decoder_context decoder;
static const br_x509_pkey *key;

struct client {
	br_ssl_client_context ssl;
	br_x509_minimal_context unused;
	br_x509_knownkey_context known;
	unsigned char io[BR_SSL_BUFSIZE_BIDI];
	int fd;
	bool deaf;      /* does not read from the socket */
	bool eof;       /* the socket's, in good order */
	int err;        /* the socket's, or 0 */
	struct buf out; /* not yet in a record */
	struct buf got;
};

/* Ten certificates do not fit into the smallest socket buffer. */
static inline void make_credentials(void)
{
	struct buf chain = BUF_INIT(1 << 20);
	const char *why = "";

	for (int i = 0; i < 10; i++)
		buf_puts(&chain, PEM_RSA_CERT);
	if (tls_credentials_new(buf_view(&chain), STR(PEM_RSA_KEY), &why, &credentials))
		printf("Bail out! %s\n", why);
	buf_free(&chain);
	key = leaf_key(PEM_RSA_CERT, &decoder);
}

/* The least that the kernel allows, for SO_SNDBUF or SO_RCVBUF. */
static inline void shrink(int fd, int option)
{
	int n = 1;

	if (setsockopt(fd, SOL_SOCKET, option, &n, sizeof(n)) < 0)
		abort();
}

/* Bytes that wait in the socket. */
static inline size_t unread(int fd)
{
	int n = -1;

	if (ioctl(fd, FIONREAD, &n) < 0)
		abort();
	return (size_t)n;
}

/* Takes fd, a connected non-blocking socket; version is BR_TLS12 or its like. */
static inline struct client *client_new(int fd, unsigned version)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c || fd < 0)
		abort();
	br_ssl_client_init_full(&c->ssl, &c->unused, NULL, 0);
	if (key->key_type == BR_KEYTYPE_RSA)
		br_x509_knownkey_init_rsa(&c->known, &key->key.rsa, BR_KEYTYPE_SIGN);
	else
		br_x509_knownkey_init_ec(&c->known, &key->key.ec, BR_KEYTYPE_SIGN);
	br_ssl_engine_set_x509(&c->ssl.eng, &c->known.vtable);
	br_ssl_engine_set_buffer(&c->ssl.eng, c->io, sizeof(c->io), 1);
	br_ssl_engine_set_versions(&c->ssl.eng, version, version);
	br_ssl_client_reset(&c->ssl, "localhost", 0);
	c->fd = fd;
	buf_init(&c->out, 16 << 20);
	buf_init(&c->got, 128 << 20);
	return c;
}

static inline void client_del(struct client *c)
{
	fd_close(&c->fd);
	buf_free(&c->out);
	buf_free(&c->got);
	free(c);
}

static inline size_t client_sends(struct client *c)
{
	size_t n;
	unsigned char *p = br_ssl_engine_sendrec_buf(&c->ssl.eng, &n);
	ssize_t put = p && c->fd >= 0 ? send(c->fd, p, n, MSG_NOSIGNAL) : 0;

	/* What nobody wants to hear any more is as good as sent. */
	if (put < 0 && errno != EAGAIN)
		put = (ssize_t)n;
	if (put <= 0)
		return 0;
	br_ssl_engine_sendrec_ack(&c->ssl.eng, (size_t)put);
	return (size_t)put;
}

static inline size_t client_receives(struct client *c)
{
	size_t n;
	unsigned char *p = br_ssl_engine_recvrec_buf(&c->ssl.eng, &n);
	unsigned char after_the_end[64];
	ssize_t got;

	if (c->deaf || c->eof || c->err || c->fd < 0)
		return 0;
	if (!p && br_ssl_engine_current_state(&c->ssl.eng) != BR_SSL_CLOSED)
		return 0;
	got = recv(c->fd, p ? p : after_the_end, p ? n : sizeof(after_the_end), 0);
	if (got > 0) {
		if (p)
			br_ssl_engine_recvrec_ack(&c->ssl.eng, (size_t)got);
		return (size_t)got;
	}
	if (got == 0)
		c->eof = true;
	else if (errno != EAGAIN)
		c->err = errno;
	return 0;
}

/* The application's part. */
static inline size_t client_acts(struct client *c)
{
	size_t n, moved = 0;
	unsigned char *p = br_ssl_engine_sendapp_buf(&c->ssl.eng, &n);

	if (p && c->out.n) {
		moved = n < c->out.n ? n : c->out.n;
		memcpy(p, c->out.p, moved);
		br_ssl_engine_sendapp_ack(&c->ssl.eng, moved);
		br_ssl_engine_flush(&c->ssl.eng, 0);
		buf_consume(&c->out, moved);
	}
	p = br_ssl_engine_recvapp_buf(&c->ssl.eng, &n);
	if (p) {
		buf_put(&c->got, p, n);
		br_ssl_engine_recvapp_ack(&c->ssl.eng, n);
		moved += n;
	}
	return moved;
}

/* Until nothing moves any more; how many bytes moved. */
static inline size_t client_pump(struct client *c)
{
	size_t n, all = 0;

	while ((n = client_acts(c) + client_sends(c) + client_receives(c)))
		all += n;
	return all;
}

static inline void client_say(struct client *c, const char *p, size_t n)
{
	buf_put(&c->out, p, n);
	client_pump(c);
}

static inline bool client_is_open(const struct client *c)
{
	return br_ssl_engine_current_state(&c->ssl.eng) & BR_SSL_SENDAPP;
}

/* The server has announced the end, and then ended. */
static inline bool client_saw_end(const struct client *c)
{
	return c->eof && br_ssl_engine_current_state(&c->ssl.eng) == BR_SSL_CLOSED &&
		br_ssl_engine_last_error(&c->ssl.eng) == BR_ERR_OK;
}

#endif
