/*
 * Attached processes beside their floors, for attaches.py. Each prints a JSON object.
 *
 *   attach floor BYTES      as many bytes to a cat and back, which has a connection of
 *                           the loopback as stdin and stdout
 *   attach cat PORT BYTES   the same through an attached process of the client at PORT
 *   attach true PORT N      N times, each on a connection of its own: true is started,
 *                           attached to, and exits
 *   attach spawn N          N times: fork, exec of true, wait
 */
#include "codec/process_frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 20, READ = 1 << 18, SAMPLES_MAX = 10000 };

static char piece[PIECE], input[READ];

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int dial(unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* --- A peer that sends and receives at once ---------------------------------------- */

struct peer {
	int fd;
	bool framed;
	uint64_t to_send, sent, got;
	uint64_t credit; /* with frames: bytes of stdin that may be sent in all */
	uint64_t window;
	uint8_t head[PROCESS_FRAME_HEAD];
	size_t head_left, left; /* of the frame that is being sent */
	bool ended, exited;
	struct process_frames frames;
};

static size_t smaller(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* Begins a frame; false: there is no credit. */
static bool begin_frame(struct peer *p)
{
	p->left = smaller(smaller(p->to_send - p->sent, PIECE), p->credit - p->sent);
	if (!p->left)
		return false;
	p->head_left = p->framed ? sizeof(p->head) : 0;
	process_frame_write_head(p->head, PROCESS_FRAME_STDIN, p->left);
	return true;
}

/* The end of stdin is short, and the socket has space by then. */
static void send_end(struct peer *p)
{
	static const char end[] = "\4\0\0\0\0\0\0\x0e{\"type\":\"end\"}";

	p->ended = true;
	if (!p->framed)
		shutdown(p->fd, SHUT_WR);
	else if (send(p->fd, end, sizeof(end) - 1, 0) != sizeof(end) - 1)
		die("send of the end");
}

static void send_some(struct peer *p)
{
	struct iovec v[2] = {
		{p->head + sizeof(p->head) - p->head_left, p->head_left},
		{piece, p->left},
	};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	ssize_t n = sendmsg(p->fd, &m, MSG_DONTWAIT);
	size_t head;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0)
		die("send");
	head = smaller(p->head_left, (size_t)n);
	p->head_left -= head;
	p->left -= (size_t)n - head;
	p->sent += (size_t)n - head;
	if (p->sent == p->to_send)
		send_end(p);
}

static void take_control(struct peer *p, struct str text)
{
	static const struct str bytes = STR("\"bytes\":"), window = STR("\"window\":");
	size_t at = str_find(text, bytes);

	if (str_find(text, STR("\"exited\"")) < text.n) {
		p->exited = true;
	} else if (at < text.n) {
		p->credit = strtoull(text.p + at + bytes.n, NULL, 10) + p->window;
	} else if ((at = str_find(text, window)) < text.n) {
		p->window = strtoull(text.p + at + window.n, NULL, 10);
		p->credit = p->window;
	} else {
		die("%.*s", STR_ARG(text));
	}
}

static void take(struct peer *p, struct str in)
{
	struct process_frame f;
	int r = 0;

	if (!p->framed)
		p->got += in.n;
	while (p->framed && (r = process_frames_next(&p->frames, &in, &f)) == 0) {
		if (f.type == PROCESS_FRAME_CONTROL)
			take_control(p, f.bytes);
		else
			p->got += f.bytes.n;
	}
	if (r < 0)
		die("a frame is malformed");
}

static void receive_some(struct peer *p)
{
	ssize_t n = recv(p->fd, input, sizeof(input), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0)
		die("recv");
	if (n == 0)
		p->exited = true;
	else
		take(p, str_make(input, (size_t)n));
}

static void talk(struct peer *p)
{
	while (!p->exited) {
		bool sends = p->sent < p->to_send &&
			(p->left || p->head_left || begin_frame(p));
		struct pollfd w = {
			.fd = p->fd, .events = (short)(POLLIN | (sends ? POLLOUT : 0))};

		if (poll(&w, 1, 60000) <= 0)
			die("nothing moves");
		if (w.revents & POLLOUT)
			send_some(p);
		if (w.revents & ~POLLOUT)
			receive_some(p);
	}
}

/* --- Floors ------------------------------------------------------------------------- */

/* A cat with the other end of a connection of the loopback. */
static pid_t cat_behind(int *fd)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), other;
	pid_t pid;

	if (bind(listener, (struct sockaddr *)&a, n) < 0 || listen(listener, 1) < 0 ||
		getsockname(listener, (struct sockaddr *)&a, &n) < 0)
		die("listen");
	*fd = dial(ntohs(a.sin_port));
	other = accept(listener, NULL, NULL);
	pid = fork();
	if (pid == 0) {
		dup2(other, 0);
		dup2(other, 1);
		execlp("cat", "cat", NULL);
		_exit(127);
	}
	close(other);
	close(listener);
	return pid;
}

static void run_floor(uint64_t bytes)
{
	struct peer p = {.to_send = bytes, .credit = UINT64_MAX};
	pid_t pid = cat_behind(&p.fd);
	double from = now_s();

	talk(&p);
	if (p.got != bytes)
		die("%llu bytes came back", (unsigned long long)p.got);
	printf("{\"seconds\": %.6f}\n", now_s() - from);
	waitpid(pid, NULL, 0);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print_median(double *samples, size_t n)
{
	qsort(samples, n, sizeof(*samples), compare);
	printf("{\"p50_ms\": %.4f, \"p99_ms\": %.4f}\n", samples[n / 2] * 1000,
		samples[n * 99 / 100] * 1000);
}

static void run_spawn(size_t n)
{
	static double samples[SAMPLES_MAX];

	for (size_t i = 0; i < n; i++) {
		double from = now_s();
		pid_t pid = fork();

		if (pid == 0) {
			execlp("true", "true", NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
		samples[i] = now_s() - from;
	}
	print_median(samples, n);
}

/* --- Ours ------------------------------------------------------------------------- */

/* Sends a request, reads the head of the answer, and its body if it has one. */
static struct str ask(int fd, const char *head, const char *body, bool has_body)
{
	size_t got = 0, head_n, length = 0;
	struct str all;

	dprintf(fd, "%sContent-Length: %zu\r\n\r\n%s", head, strlen(body), body);
	for (;;) {
		ssize_t n = recv(fd, input + got, 1, 0);

		if (n <= 0 || got + 1 == sizeof(input))
			die("an answer");
		all = str_make(input, ++got);
		if (str_ends(all, STR("\r\n\r\n")))
			break;
	}
	head_n = got;
	input[got] = '\0';
	if (has_body) {
		const char *at = strstr(input, "ontent-length: ");

		length = at ? strtoul(at + 15, NULL, 10) : 0;
	}
	while (got < head_n + length) {
		ssize_t n = recv(fd, input + got, head_n + length - got, 0);

		if (n <= 0)
			die("the body of an answer");
		got += (size_t)n;
	}
	input[got] = '\0';
	return str_make(input, got);
}

/* Starts the process and attaches the connection to it. */
static void attach(struct peer *p, unsigned port, const char *spec)
{
	char head[256];
	const char *id;

	p->fd = dial(port);
	p->framed = true;
	process_frames_init(&p->frames, false, PROCESS_FRAME_MAX);
	ask(p->fd,
		"POST /v1/processes HTTP/1.1\r\nHost: localhost\r\n"
		"Content-Type: application/json\r\n",
		spec, true);
	id = strstr(input, "\"id\":\"");
	if (!id)
		die("%s", input);
	snprintf(head, sizeof(head),
		"GET /v1/processes/%.*s/attach HTTP/1.1\r\nHost: localhost\r\n"
		"Connection: Upgrade\r\nUpgrade: od.process.v1\r\n",
		(int)strcspn(id + 6, "\""), id + 6);
	if (!str_starts(ask(p->fd, head, "", false), STR("HTTP/1.1 101")))
		die("%s", input);
}

static void run_cat(unsigned port, uint64_t bytes)
{
	struct peer p = {.to_send = bytes};
	double from;

	attach(&p, port,
		"{\"argv\":[\"cat\"],\"stdin\":true,\"when_full\":\"wait\","
		"\"on_disconnect\":\"kill\"}");
	from = now_s();
	talk(&p);
	if (p.got != bytes)
		die("%llu bytes came back", (unsigned long long)p.got);
	printf("{\"seconds\": %.6f}\n", now_s() - from);
}

static void run_true(unsigned port, size_t n)
{
	static double samples[SAMPLES_MAX];

	for (size_t i = 0; i < n; i++) {
		struct peer p = {0};
		double from = now_s();

		attach(&p, port, "{\"argv\":[\"true\"],\"on_disconnect\":\"kill\"}");
		talk(&p);
		samples[i] = now_s() - from;
		close(p.fd);
		process_frames_free(&p.frames);
	}
	print_median(samples, n);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	uint64_t a = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t b = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

	memset(piece, 'x', sizeof(piece));
	if (!strcmp(mode, "floor") && a)
		run_floor(a);
	else if (!strcmp(mode, "spawn") && a && a <= SAMPLES_MAX)
		run_spawn((size_t)a);
	else if (!strcmp(mode, "cat") && a && b)
		run_cat((unsigned)a, b);
	else if (!strcmp(mode, "true") && a && b && b <= SAMPLES_MAX)
		run_true((unsigned)a, (size_t)b);
	else
		die("usage: attach floor BYTES | cat PORT BYTES | true PORT N | spawn N");
	return 0;
}
