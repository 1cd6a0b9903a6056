/* The transport through TLS, over a socket, against a client. */
#include "limits.h"
#include "net/tls_credentials.h"
#include "net/transport.h"
#include "tests/support/tls_peer.h"
#include "tests/tap.h"

#include <sys/ioctl.h>

enum { MANY = 200000 };

static char text[MANY]; /* to be sent either way */

static struct client *pair_up(struct transport *t, unsigned version)
{
	int pair[2];

	if (fd_socketpair(SOCK_STREAM, pair) || transport_tls(t, pair[0], credentials))
		abort();
	return client_new(pair[1], version);
}

/* The same with sockets that hold next to nothing. */
static struct client *pair_up_tiny(struct transport *t)
{
	struct client *c = pair_up(t, BR_TLS12);

	shrink(t->fd, SO_SNDBUF);
	shrink(c->fd, SO_SNDBUF);
	return c;
}

/* Both sides in turn until the handshake is over. */
static void shake(struct transport *t, struct client *c)
{
	char none;

	for (int i = 0; i < 1000 && !client_is_open(c); i++) {
		client_pump(c);
		if (transport_recv(t, &none, 1) != -EAGAIN)
			break;
	}
	ok(client_is_open(c), "the handshake is done");
	is_int(transport_flush(t), 0, "all is sent");
}

static struct client *pair_ready(struct transport *t)
{
	struct client *c = pair_up(t, BR_TLS12);

	shake(t, c);
	return c;
}

static ssize_t put(struct transport *t, const char *p, size_t n)
{
	struct iovec v[2] = {{(void *)(uintptr_t)p, n / 3},
		{(void *)(uintptr_t)(p + n / 3), n - n / 3}};

	return transport_send(t, v, 2);
}

static void test_handshake_blocked(void)
{
	struct transport t;
	struct client *c = pair_up_tiny(&t);
	char none;

	is_int(transport_recv(&t, &none, 1), -EAGAIN, "nothing has come");
	is_int(transport_flush(&t), 0, "nothing is to be sent");
	c->deaf = true;
	client_pump(c);
	is_int(transport_recv(&t, &none, 1), -EAGAIN, "a ClientHello is no data");
	is_int(transport_flush(&t), 1, "the answer does not fit into the socket");
	ok(!transport_pending(&t), "which is not called input");
	c->deaf = false;
	client_pump(c);
	ok(!client_is_open(c), "one socketful is not all");
	for (int i = 0; i < 1000 && transport_flush(&t) == 1; i++)
		client_pump(c);
	is_int(transport_flush(&t), 0, "flushing alone sends it");
	shake(&t, c);
	client_del(c);
	transport_close(&t);
}

static void test_receive(size_t step)
{
	struct transport t;
	struct client *c = pair_up_tiny(&t);
	char *got = malloc(MANY + step);
	size_t n = 0;
	ssize_t r;

	shake(&t, c);
	client_say(c, text, MANY);
	do {
		r = transport_recv(&t, got + n, step);
		n += r > 0 ? (size_t)r : 0;
	} while (n < MANY && (r > 0 || client_pump(c) > 0));
	is_mem(got, n, text, MANY, "%d bytes come in steps of %zu", MANY, step);
	free(got);
	client_del(c);
	transport_close(&t);
}

static void test_send(void)
{
	struct transport t;
	struct client *c = pair_up_tiny(&t);
	size_t n = 0, waits = 0;
	ssize_t r = 0;

	shake(&t, c);
	c->deaf = true;
	while ((r = put(&t, text + n, MANY - n)) > 0)
		n += (size_t)r;
	is_int(r, -EAGAIN, "a peer that does not read");
	ok(n > 0 && n < MANY, "stops the sender at %zu", n);
	is_int(transport_flush(&t), 1, "there is more to send");
	c->deaf = false;
	while (n < MANY && waits < 10000) {
		client_pump(c);
		r = put(&t, text + n, MANY - n);
		if (r > 0)
			n += (size_t)r;
		else if (r != -EAGAIN)
			break;
		else
			waits++;
	}
	while (transport_flush(&t) == 1)
		client_pump(c);
	client_pump(c);
	is_mem(c->got.p, c->got.n, text, MANY, "all arrives");
	is_int(put(&t, "", 0), 0, "nothing is taken of nothing");
	client_del(c);
	transport_close(&t);
}

static void test_gathering(void)
{
	struct transport t;
	struct client *c = pair_ready(&t);

	for (int i = 0; i < 10; i++)
		is_int(put(&t, text + i * 100, 100), 100, "small pieces");
	is_int((long long)unread(c->fd), 0, "wait for each other");
	is_int(transport_flush(&t), 0, "and are sent");
	ok(unread(c->fd) > 1000 && unread(c->fd) < 1050, "in one record");
	client_pump(c);
	is_mem(c->got.p, c->got.n, text, 1000, "all of them");
	client_del(c);
	transport_close(&t);
}

static void test_pending(void)
{
	struct transport t;
	struct client *c = pair_ready(&t);
	char got[3000];

	ok(!transport_pending(&t), "nothing is pending");
	client_say(c, text, 1000);
	ok(!transport_pending(&t), "nor what is in the socket");
	is_int(transport_recv(&t, got, 10), 10, "a part of a record");
	is_int((long long)unread(t.fd), 0, "leaves the socket empty");
	ok(transport_pending(&t), "but there is more");
	client_say(c, text + 1000, 1000);
	is_int(transport_recv(&t, got + 10, 2000), 1990, "the rest, and the next record");
	is_mem(got, 2000, text, 2000, "whole");
	ok(!transport_pending(&t), "that was all");
	is_int(transport_recv(&t, got, 1), -EAGAIN, "nothing more");
	client_say(c, text, 5);
	br_ssl_engine_close(&c->ssl.eng);
	client_pump(c);
	is_int(transport_recv(&t, got, 100), 5, "data, and an end behind it");
	ok(transport_pending(&t), "the end is pending");
	is_int(transport_recv(&t, got, 100), 0, "there it is");
	is_int(put(&t, text, 5), ERR_CLOSED, "a peer that has said goodbye");
	client_pump(c);
	ok(client_saw_end(c) || !c->err, "has got an answer to that");
	client_del(c);
	transport_close(&t);
}

/* Records without data must not keep the loop from others. */
static void test_empty_records(void)
{
	struct transport t;
	struct client *c = pair_ready(&t);
	struct buf records = BUF_INIT(1 << 20);
	unsigned calls = 0;
	size_t left;
	char got;

	while (records.n < 2 * HTTP_TURN_BYTES) {
		unsigned char *p;

		br_ssl_engine_flush(&c->ssl.eng, 1);
		p = br_ssl_engine_sendrec_buf(&c->ssl.eng, &left);
		buf_put(&records, p, left);
		br_ssl_engine_sendrec_ack(&c->ssl.eng, left);
	}
	if (send(c->fd, records.p, records.n, 0) != (ssize_t)records.n)
		abort();
	buf_free(&records);
	left = unread(t.fd);
	ok(left >= 2 * HTTP_TURN_BYTES, "%zu bytes without any data", left);
	is_int(transport_recv(&t, &got, 1), -EAGAIN, "are no data");
	ok(unread(t.fd) > 0, "and not read all at once");
	while (unread(t.fd) && calls++ < 100)
		is_int(transport_recv(&t, &got, 1), -EAGAIN, "but step by step");
	client_say(c, "x", 1);
	is_int(transport_recv(&t, &got, 1), 1, "data that follow are seen");
	client_del(c);
	transport_close(&t);
}

static void test_end(void)
{
	struct transport t;
	struct client *c = pair_up_tiny(&t);
	size_t n = 0;
	ssize_t r;
	char got[100];

	shake(&t, c);
	client_say(c, text, 1000);
	is_int(transport_recv(&t, got, 10), 10, "some is read");
	c->deaf = true;
	while ((r = put(&t, text + n, MANY - n)) > 0)
		n += (size_t)r;
	transport_end(&t);
	is_int(transport_flush(&t), 1, "the end waits for what was sent before");
	ok(!transport_pending(&t), "what was not read is dropped");
	c->deaf = false;
	while (transport_flush(&t) == 1)
		client_pump(c);
	client_pump(c);
	is_mem(c->got.p, c->got.n, text, n, "all arrives");
	ok(client_saw_end(c), "and then the end");
	is_int(transport_recv(&t, got, 100), 0, "the peer's answer is its end");
	client_del(c);
	transport_close(&t);
}

/* A peer that goes on talking after our end. */
static void test_end_talkative(void)
{
	struct transport t;
	struct client *c = pair_ready(&t);
	char got[100];

	transport_end(&t);
	c->deaf = true;
	client_say(c, text, 1000);
	is_int(transport_recv(&t, got, 100), -EAGAIN, "what it says is dropped");
	is_int((long long)unread(t.fd), 0, "and read");
	c->deaf = false;
	client_pump(c);
	is_int(transport_recv(&t, got, 100), 0, "until it ends, too");
	client_del(c);
	transport_close(&t);
}

static void test_close(void)
{
	struct transport t;
	struct client *c = pair_ready(&t);

	is_int(put(&t, text, 100), 100, "something is on its way");
	transport_close(&t);
	is_int(t.fd, -1, "the socket is closed");
	client_pump(c);
	is_mem(c->got.p, c->got.n, text, 100, "what was sent arrives all the same");
	ok(client_saw_end(c), "with a goodbye");
	client_del(c);

	c = pair_up(&t, BR_TLS12);
	transport_close(&t);
	client_pump(c);
	ok(!client_is_open(c) && (c->eof || c->err), "a close before the handshake");
	client_del(c);
}

static void test_truncation(void)
{
	struct transport t;
	struct client *c = pair_up(&t, BR_TLS12);
	char got[100];

	fd_close(&c->fd);
	is_int(transport_recv(&t, got, 100), ERR_CLOSED, "an end before the handshake");
	client_del(c);
	transport_close(&t);

	c = pair_ready(&t);
	client_say(c, text, 10);
	fd_close(&c->fd);
	is_int(transport_recv(&t, got, 100), 10, "data");
	is_int(transport_recv(&t, got, 100), ERR_CLOSED, "cut off by anybody");
	is_int(put(&t, text, 10), 10, "sending to nobody");
	is_int(transport_flush(&t), -EPIPE, "fails in the end");
	client_del(c);
	transport_close(&t);
}

/* A FIN without close_notify: the peer may be a bad one, but it still listens. */
static void test_half_close(void)
{
	struct transport t;
	struct client *c = pair_ready(&t);
	char got[100];

	client_say(c, text, 10);
	shutdown(c->fd, SHUT_WR);
	is_int(transport_recv(&t, got, 10), 10, "data before half an end");
	ok(!transport_pending(&t), "which the socket tells of");
	is_int(put(&t, text, 1000), 1000, "an answer");
	is_int(transport_flush(&t), 0, "is sent");
	client_pump(c);
	is_mem(c->got.p, c->got.n, text, 1000, "and arrives");
	client_del(c);
	transport_close(&t);
}

static void test_not_tls(void)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct transport t;
	struct client *c = pair_up(&t, BR_TLS12);
	char got[100];

	if (send(c->fd, request, sizeof(request) - 1, 0) < 0)
		abort();
	is_int(transport_recv(&t, got, 100), ERR_TLS, "plain HTTP is no TLS");
	ok(transport_pending(&t), "for good");
	ok(strstr(transport_tls_error(&t), "not TLS at all"), "and is called so");
	is_int(put(&t, text, 10), ERR_TLS, "nothing can be sent");
	transport_end(&t);
	is_int(recv(c->fd, got, 100, 0), 0, "the peer sees an end");
	ok(!transport_pending(&t), "what the peer says is not of interest");
	ok(transport_recv(&t, got, 100) > 0, "the rest of the request can be dropped");
	is_int(transport_recv(&t, got, 100), -EAGAIN, "all of it");
	fd_close(&c->fd);
	is_int(transport_recv(&t, got, 100), 0, "until the peer ends");
	client_del(c);
	transport_close(&t);
}

static void test_old_version(void)
{
	struct transport t;
	struct client *c = pair_up(&t, BR_TLS11);
	ssize_t r = -EAGAIN;
	char got[100];

	c->deaf = true;
	client_pump(c);
	for (int i = 0; i < 10 && r == -EAGAIN; i++)
		r = transport_recv(&t, got, 100);
	is_int(r, ERR_TLS, "TLS 1.1 is refused");
	is_int(recv(c->fd, got, 100, 0), 7, "with an alert");
	ok(got[0] == 21 && got[5] == 2 && got[6] == 70, "protocol_version");
	client_del(c);
	transport_close(&t);
}

/* Each record costs a read, so the bytes of short ones do not bound a turn. */
static void test_short_records(void)
{
	enum { RECORDS = 1000, RECORD = 5 };
	static const char record[RECORD] = "\x16\x03\x01\0\0";
	struct transport t;
	struct client *c = pair_up(&t, BR_TLS12);
	char none, all[RECORDS * RECORD];
	int left = 0;

	for (int i = 0; i < RECORDS; i++)
		memcpy(all + i * RECORD, record, RECORD);
	if (send(c->fd, all, sizeof(all), MSG_NOSIGNAL) != sizeof(all))
		abort();
	is_int(transport_recv(&t, &none, 1), -EAGAIN, "empty records carry no data");
	ok(ioctl(t.fd, FIONREAD, &left) == 0 && left > RECORDS * RECORD / 2,
		"one turn reads the smaller part of many short records");
	transport_close(&t);
	client_del(c);
}

int main(void)
{
	make_credentials();
	for (size_t i = 0; i < MANY; i++)
		text[i] = (char)(i * 31 % 251);
	test_handshake_blocked();
	test_receive(1);
	test_receive(4096);
	test_receive(50000);
	test_send();
	test_gathering();
	test_pending();
	test_empty_records();
	test_short_records();
	test_end();
	test_end_talkative();
	test_close();
	test_truncation();
	test_half_close();
	test_not_tls();
	test_old_version();
	tls_credentials_del(credentials);
	return done_testing();
}
