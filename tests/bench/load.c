/*
 * What tests/bench/figures.py measures with, in C because an interpreter would
 * measure itself. Each mode prints one JSON object.
 *
 *   load pty N COMMAND     N round trips to a bash on a raw pty: the floor of run
 *   load run PORT N COMMAND        N run actions on one connection
 *   load cat FILE          a pty that cat FILE writes to, read to its end
 *   load many PORT SESSIONS N      N actions in each of that many sessions at once,
 *                          each answer compared with what it must be
 *   load start N CLIENT    N starts of CLIENT until /alive answers
 *   load alive PORT CONNS SECONDS   GET /alive on that many connections
 *   load floor PORT        a server that answers without reading: the floor of alive
 *   load spent PROGRAM...  what the program costs, on a line behind what it prints
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

enum { ROOM = 65536, CONNS_MAX = 1000, SAMPLES_MAX = 1000000, WARM_UP = 20 };

static const char ready_line[] = "Runtime client initialized.\n";
static const char alive_request[] = "GET /alive HTTP/1.1\r\nHost: localhost\r\n\r\n";
static const char alive_reply[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
				  "Content-Length: 15\r\n\r\n{\"status\":\"ok\"}";
static double samples[SAMPLES_MAX];
static size_t samples_n;

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void sample(double us)
{
	if (samples_n < SAMPLES_MAX)
		samples[samples_n++] = us;
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

static void print_samples(const char *more)
{
	qsort(samples, samples_n, sizeof(*samples), by_value);
	printf("{\"n\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f%s}\n",
		samples_n, quantile(0.5), quantile(0.99), quantile(1), more);
}

static void put(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t w = write(fd, text, n);

		if (w < 0)
			die("write");
		text += w;
		n -= (size_t)w;
	}
}

/* Reads until mark has come; what came is in room. */
static void read_until(int fd, char *room, const char *mark)
{
	size_t n = 0;

	room[0] = '\0';
	while (!strstr(room, mark)) {
		ssize_t r = read(fd, room + n, ROOM - 1 - n);

		if (r <= 0)
			die("waiting for %s", mark);
		n += (size_t)r;
		room[n] = '\0';
	}
}

static int dial(uint16_t port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* --- pty ------------------------------------------------------------------ */

/* A terminal without echo, so that the mark seen is the one that bash prints. */
static int bash_on_pty(pid_t *pid)
{
	struct termios t;
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0 || tcgetattr(slave, &t) < 0)
		die("openpty");
	t.c_lflag &= ~(tcflag_t)ECHO;
	tcsetattr(slave, TCSANOW, &t);
	*pid = fork();
	if (*pid < 0)
		die("fork");
	if (*pid == 0) {
		close(master);
		login_tty(slave);
		setenv("PS1", "", 1);
		execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i",
			(char *)NULL);
		_exit(127);
	}
	close(slave);
	return master;
}

static void mode_pty(int n, const char *command)
{
	static char room[ROOM];
	double began = now_us(), started;
	pid_t pid;
	int master = bash_on_pty(&pid);
	char more[64], line[256];
	size_t len = (size_t)snprintf(line, sizeof(line), "%s; echo $?-MARK\n", command);

	put(master, line, len);
	read_until(master, room, "0-MARK\r\n");
	started = now_us() - began;
	for (int i = 0; i < n + WARM_UP; i++) {
		double t = now_us();

		put(master, line, len);
		read_until(master, room, "0-MARK\r\n");
		if (i >= WARM_UP)
			sample(now_us() - t);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(more, sizeof(more), ",\"start_us\":%.1f", started);
	print_samples(more);
}

/* --- cat ------------------------------------------------------------------ */

static void mode_cat(const char *file)
{
	static char room[ROOM];
	double began = now_us();
	size_t bytes = 0;
	int master, slave;
	ssize_t r;
	pid_t pid;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0)
		die("openpty");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(master);
		login_tty(slave);
		execlp("cat", "cat", file, (char *)NULL);
		_exit(127);
	}
	close(slave);
	while ((r = read(master, room, sizeof(room))) > 0)
		bytes += (size_t)r;
	waitpid(pid, NULL, 0);
	printf("{\"bytes\":%zu,\"seconds\":%.4f}\n", bytes, (now_us() - began) / 1e6);
}

/* --- run ------------------------------------------------------------------ */

/* A run action; session may be NULL. Returns its length in out, of ROOM bytes. */
static size_t write_run(char *out, const char *session, const char *command)
{
	char body[1024], extra[128] = "";
	int n;

	if (session)
		snprintf(extra, sizeof(extra), ",\"session\":\"%s\"", session);
	n = snprintf(body, sizeof(body),
		"{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"%s\"%s},"
		"\"timeout\":60.0}}",
		command, extra);
	return (size_t)snprintf(out, ROOM,
		"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		n, body);
}

static void mode_run(uint16_t port, int n, const char *command)
{
	static char request[ROOM], room[ROOM];
	size_t len = write_run(request, NULL, command);
	int fd = dial(port);

	for (int i = 0; i < n + WARM_UP; i++) {
		double t = now_us();

		put(fd, request, len);
		read_until(fd, room, "\"success\":true}");
		if (i >= WARM_UP)
			sample(now_us() - t);
	}
	print_samples("");
}

/* --- many ----------------------------------------------------------------- */

struct talker {
	int fd, number, asked;
	double sent;
	size_t got;
	char room[4096];
};

static int wrong;

static void talk(struct talker *t)
{
	static char request[ROOM];
	char session[32], command[64];

	snprintf(session, sizeof(session), "s%d", t->number);
	snprintf(command, sizeof(command), "echo %d-%d", t->number, ++t->asked);
	t->got = 0;
	t->sent = now_us();
	put(t->fd, request, write_run(request, session, command));
}

/* True when the answer is there, right or wrong. */
static int listen_to(struct talker *t)
{
	char want[64];
	ssize_t r = read(t->fd, t->room + t->got, sizeof(t->room) - 1 - t->got);

	if (r <= 0)
		die("the server closed a connection");
	t->got += (size_t)r;
	t->room[t->got] = '\0';
	if (!strstr(t->room, "\"success\":"))
		return 0;
	sample(now_us() - t->sent);
	snprintf(want, sizeof(want), "\"content\":\"%d-%d\",", t->number, t->asked);
	if (!strstr(t->room, want)) {
		fprintf(stderr, "wanted %s, got %s\n", want, t->room);
		wrong++;
	}
	return 1;
}

static void mode_many(uint16_t port, int sessions, int n)
{
	static struct talker all[CONNS_MAX];
	struct pollfd fds[CONNS_MAX];
	double began = now_us();
	int busy = sessions = sessions < CONNS_MAX ? sessions : CONNS_MAX;
	char more[64];

	for (int i = 0; i < sessions; i++) {
		all[i] = (struct talker){.fd = dial(port), .number = i};
		fds[i] = (struct pollfd){.fd = all[i].fd, .events = POLLIN};
		talk(&all[i]);
	}
	while (busy > 0 && poll(fds, (nfds_t)sessions, 60000) > 0)
		for (int i = 0; i < sessions; i++) {
			if (!fds[i].revents || !listen_to(&all[i]))
				continue;
			if (all[i].asked < n) {
				talk(&all[i]);
			} else {
				fds[i].fd = -1;
				busy--;
			}
		}
	snprintf(more, sizeof(more), ",\"wrong\":%d,\"unanswered\":%d,\"seconds\":%.1f",
		wrong, busy, (now_us() - began) / 1e6);
	print_samples(more);
}

/* --- start ---------------------------------------------------------------- */

static uint16_t free_port(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&a, n) < 0 ||
		getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		die("bind");
	close(fd);
	return ntohs(a.sin_port);
}

static void start_once(const char *client)
{
	static char room[ROOM];
	char text[8];
	uint16_t port = free_port();
	int out[2], fd;
	double t;
	pid_t pid;

	snprintf(text, sizeof(text), "%u", port);
	if (pipe(out) < 0)
		die("pipe");
	t = now_us();
	pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl(client, client, "init", text, "--address", "127.0.0.1",
			(char *)NULL);
		_exit(127);
	}
	close(out[1]);
	read_until(out[0], room, ready_line);
	fd = dial(port);
	put(fd, alive_request, sizeof(alive_request) - 1);
	read_until(fd, room, "{\"status\":\"ok\"}");
	sample(now_us() - t);
	close(fd);
	close(out[0]);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static void mode_start(int n, const char *client)
{
	for (int i = 0; i < n; i++)
		start_once(client);
	print_samples("");
}

/* --- alive ---------------------------------------------------------------- */

struct conn {
	int fd;
	size_t got;
	double sent;
	char room[512];
};

static void ask(struct conn *c)
{
	c->got = 0;
	c->sent = now_us();
	put(c->fd, alive_request, sizeof(alive_request) - 1);
}

static void take(struct conn *c)
{
	ssize_t r = read(c->fd, c->room + c->got, sizeof(c->room) - 1 - c->got);

	if (r <= 0)
		die("the server closed a connection");
	c->got += (size_t)r;
	c->room[c->got] = '\0';
	if (!strstr(c->room, "{\"status\":\"ok\"}"))
		return;
	sample(now_us() - c->sent);
	ask(c);
}

static void mode_alive(uint16_t port, int conns, double seconds)
{
	static struct conn all[CONNS_MAX];
	struct epoll_event events[CONNS_MAX];
	int ep = epoll_create1(EPOLL_CLOEXEC);
	double end;
	char more[64];

	if (conns > CONNS_MAX)
		conns = CONNS_MAX;
	for (int i = 0; i < conns; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};

		all[i].fd = dial(port);
		if (epoll_ctl(ep, EPOLL_CTL_ADD, all[i].fd, &e) < 0)
			die("epoll_ctl");
		ask(&all[i]);
	}
	end = now_us() + seconds * 1e6;
	while (now_us() < end) {
		int n = epoll_wait(ep, events, CONNS_MAX, 1000);

		for (int i = 0; i < n; i++)
			take(events[i].data.ptr);
	}
	snprintf(more, sizeof(more), ",\"per_second\":%.0f", (double)samples_n / seconds);
	print_samples(more);
}

/* --- floor ---------------------------------------------------------------- */

static void mode_floor(uint16_t port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct epoll_event events[64], e = {.events = EPOLLIN};
	int on = 1, ep = epoll_create1(0), listener = socket(AF_INET, SOCK_STREAM, 0);
	char room[4096];

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
		listen(listener, 512) < 0)
		die("listen");
	e.data.fd = listener;
	epoll_ctl(ep, EPOLL_CTL_ADD, listener, &e);
	put(1, ready_line, sizeof(ready_line) - 1);
	for (;;) {
		int n = epoll_wait(ep, events, 64, -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd == listener) {
				fd = accept(listener, NULL, NULL);
				setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
				e.data.fd = fd;
				epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
			} else if (read(fd, room, sizeof(room)) <= 0) {
				close(fd);
			} else {
				put(fd, alive_reply, sizeof(alive_reply) - 1);
			}
		}
	}
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Here, because a child of an interpreter begins with the interpreter's peak. */
static void mode_spent(char **argv)
{
	double began = now_us();
	struct rusage u;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid || status != 0)
		die("%s fails", argv[0]);
	printf("{\"wall\":%.3f,\"user\":%.3f,\"system\":%.3f,\"peak_kib\":%ld}\n",
		(now_us() - began) / 1e6, seconds_of(&u.ru_utime),
		seconds_of(&u.ru_stime), u.ru_maxrss);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int one = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && !strcmp(mode, "pty"))
		mode_pty(one, argv[3]);
	else if (argc == 5 && !strcmp(mode, "run"))
		mode_run((uint16_t)one, (int)strtol(argv[3], NULL, 10), argv[4]);
	else if (argc == 3 && !strcmp(mode, "cat"))
		mode_cat(argv[2]);
	else if (argc == 5 && !strcmp(mode, "many"))
		mode_many((uint16_t)one, (int)strtol(argv[3], NULL, 10),
			(int)strtol(argv[4], NULL, 10));
	else if (argc == 4 && !strcmp(mode, "start"))
		mode_start(one, argv[3]);
	else if (argc == 5 && !strcmp(mode, "alive"))
		mode_alive((uint16_t)one, (int)strtol(argv[3], NULL, 10),
			strtod(argv[4], NULL));
	else if (argc == 3 && !strcmp(mode, "floor"))
		mode_floor((uint16_t)one);
	else if (argc > 2 && !strcmp(mode, "spent"))
		mode_spent(argv + 2);
	else {
		fprintf(stderr, "usage: see the head of tests/bench/load.c\n");
		return 100;
	}
	return 0;
}
