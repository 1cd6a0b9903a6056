/*
 * Measures the wait of a new peer while many others hold connections. Prints a JSON
 * object with the time from connect to the answer of /alive, each on a connection of its
 * own.
 *
 *   crowd PORT PEERS SECONDS idle     each peer has had an answer and is silent then;
 *                                     a peer that is closed stays so
 *   crowd PORT PEERS SECONDS again    the same, but it connects again at once
 *   crowd PORT PEERS SECONDS silent   it connects again at once and never sends a byte
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCH = 256,
	SAMPLES_MAX = 100000,
	SOURCES = 200,    /* addresses of the loopback: a pair has 28,000 ports */
	ANSWER_MS = 30000 /* then a probe counts as not answered */
};

static const char alive_request[] = "GET /alive HTTP/1.1\r\nHost: localhost\r\n\r\n";
static double samples[SAMPLES_MAX];
static size_t samples_n, unanswered;

static __attribute__((noreturn)) void crowd_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static double crowd_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A socket whose connection is under way. */
static int crowd_dial(uint16_t port)
{
	static unsigned next;
	struct linger now = {.l_onoff = 1};
	struct sockaddr_in from = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 256 + next++ % SOURCES),
	};
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		crowd_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
		crowd_die("bind");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		crowd_die("connect");
	return fd;
}

/* --- Peers -------------------------------------------------------------------- */

struct crowd {
	int ep;
	uint16_t port;
	bool again, silent;
	size_t connects, answers;
};

static void peer_open(struct crowd *c)
{
	struct epoll_event e = {.events = c->silent ? EPOLLIN : EPOLLOUT};

	e.data.fd = crowd_dial(c->port);
	if (epoll_ctl(c->ep, EPOLL_CTL_ADD, e.data.fd, &e) < 0)
		crowd_die("epoll_ctl");
	c->connects++;
}

static void peer_close(struct crowd *c, int fd)
{
	close(fd);
	if (c->again)
		peer_open(c);
}

static void peer_event(struct crowd *c, const struct epoll_event *e)
{
	struct epoll_event in = {.events = EPOLLIN, .data.fd = e->data.fd};
	int fd = e->data.fd;
	char answer[4096];
	ssize_t n;

	if (!(e->events & (EPOLLERR | EPOLLHUP | EPOLLIN)) && e->events & EPOLLOUT) {
		n = send(fd, alive_request, sizeof(alive_request) - 1, MSG_NOSIGNAL);
		if (n < 0 || epoll_ctl(c->ep, EPOLL_CTL_MOD, fd, &in) < 0)
			peer_close(c, fd);
		return;
	}
	n = recv(fd, answer, sizeof(answer), 0);
	if (n > 0)
		c->answers++;
	else if (n == 0 || errno != EAGAIN)
		peer_close(c, fd);
}

static void crowd_serve(struct crowd *c, int ms)
{
	struct epoll_event events[BATCH];
	int n = epoll_wait(c->ep, events, BATCH, ms);

	for (int i = 0; i < n; i++)
		peer_event(c, &events[i]);
}

/* Opens the peers, tells out when they are there, and serves them until it is killed. */
static __attribute__((noreturn)) void crowd_run(struct crowd *c, int peers, int out)
{
	double end;

	c->ep = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < peers; i++) {
		peer_open(c);
		if (i % 64 == 63)
			crowd_serve(c, 0);
	}
	end = crowd_now_us() + 10e6;
	while (!c->silent && c->answers < (size_t)peers && crowd_now_us() < end)
		crowd_serve(c, 10);
	if (write(out, &c->answers, sizeof(c->answers)) < 0)
		crowd_die("write");
	for (;;)
		crowd_serve(c, -1);
}

/* --- Probes ------------------------------------------------------------------- */

/* Waits until events come or the deadline has passed. */
static bool probe_wait(int fd, short events, double end)
{
	struct pollfd p = {.fd = fd, .events = events};
	double left = (end - crowd_now_us()) / 1000;

	return left > 0 && poll(&p, 1, (int)left + 1) > 0;
}

static bool probe_answer(int fd, double end)
{
	char answer[4096];
	ssize_t n;

	if (!probe_wait(fd, POLLOUT, end) ||
		send(fd, alive_request, sizeof(alive_request) - 1, MSG_NOSIGNAL) < 0 ||
		!probe_wait(fd, POLLIN, end))
		return false;
	n = recv(fd, answer, sizeof(answer) - 1, 0);
	answer[n > 0 ? n : 0] = '\0';
	return strstr(answer, "{\"status\":\"ok\"}");
}

static void probe(uint16_t port)
{
	double began = crowd_now_us();
	int fd = crowd_dial(port);

	if (probe_answer(fd, began + ANSWER_MS * 1e3))
		samples[samples_n++] = crowd_now_us() - began;
	else
		unanswered++;
	close(fd);
	/* 200 probes a second, so that probes are not the crowd. */
	poll(NULL, 0, 5);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double q)
{
	return samples_n ? samples[(size_t)(q * (double)(samples_n - 1))] : 0;
}

int main(int argc, char **argv)
{
	struct rlimit files;
	struct crowd c = {0};
	size_t answers = 0;
	double end;
	int out[2];
	pid_t pid;

	if (argc != 5) {
		fprintf(stderr, "usage: see the head of tests/bench/crowd.c\n");
		return 100;
	}
	c.port = (uint16_t)strtol(argv[1], NULL, 10);
	c.silent = !strcmp(argv[4], "silent");
	c.again = c.silent || !strcmp(argv[4], "again");
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (pipe(out) < 0 || (pid = fork()) < 0)
		crowd_die("fork");
	if (pid == 0)
		crowd_run(&c, (int)strtol(argv[2], NULL, 10), out[1]);
	close(out[1]);
	if (read(out[0], &answers, sizeof(answers)) != sizeof(answers))
		crowd_die("the crowd");
	end = crowd_now_us() + strtod(argv[3], NULL) * 1e6;
	while (crowd_now_us() < end && samples_n < SAMPLES_MAX)
		probe(c.port);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	qsort(samples, samples_n, sizeof(*samples), by_value);
	printf("{\"n\":%zu,\"unanswered\":%zu,\"answers\":%zu,\"p50_us\":%.1f,"
	       "\"p99_us\":%.1f,\"max_us\":%.1f}\n",
		samples_n, unanswered, answers, quantile(0.5), quantile(0.99),
		quantile(1));
	return 0;
}
