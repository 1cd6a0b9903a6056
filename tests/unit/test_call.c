/* Connecting: what nobody takes must not be waited for without end. */
#include "inject/call.h"

#include "base/clock.h"
#include "base/fd.h"
#include "tests/tap.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SHORT_MS = 30, LONG_MS = 10000, CROWD = 8 };

static void test_unix(void)
{
	char dir[] = "/tmp/test_call.XXXXXX";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int crowd[CROWD], fd = -1, n = 0;
	uint64_t from;

	if (!mkdtemp(dir))
		return;
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock", dir);
	is_int(call_connect_unix(a.sun_path, LONG_MS, false), -ENOENT, "no socket");
	ok(bind(listener, (struct sockaddr *)&a, sizeof(a)) == 0, "a socket");
	is_int(call_connect_unix(a.sun_path, LONG_MS, false), -ECONNREFUSED,
		"nobody listens");
	ok(listen(listener, 0) == 0, "somebody listens");
	while (n < CROWD && fd != -EAGAIN) {
		fd = fd_connect_unix(a.sun_path);
		if (fd >= 0)
			crowd[n++] = fd;
	}
	is_int(fd, -EAGAIN, "until the queue is full");
	from = clock_ms();
	is_int(call_connect_unix(a.sun_path, SHORT_MS, false), -ETIMEDOUT,
		"one who takes no more");
	ok(clock_ms() - from >= SHORT_MS, "is waited for");
	fd = fd_accept(listener);
	ok(fd >= 0, "one is taken");
	fd_close(&fd);
	fd = call_connect_unix(a.sun_path, LONG_MS, true);
	ok(fd >= 0, "which makes room");
	fd_close(&fd);
	while (n)
		fd_close(&crowd[--n]);
	fd_close(&listener);
	unlink(a.sun_path);
	rmdir(dir);
}

static void test_tcp(void)
{
	int listener = fd_listen_tcp("127.0.0.1", 0, 0);
	struct sockaddr_in a;
	socklen_t a_n = sizeof(a);
	int crowd[CROWD], fd;
	uint16_t port;

	if (!ok(getsockname(listener, (struct sockaddr *)&a, &a_n) == 0, "a listener"))
		return;
	port = ntohs(a.sin_port);
	fd = call_connect_tcp(port, LONG_MS);
	ok(fd >= 0, "takes a connection");
	for (int i = 0; i < CROWD; i++)
		crowd[i] = fd_connect_tcp("127.0.0.1", port);
	is_int(call_connect_tcp(port, SHORT_MS), -ETIMEDOUT,
		"and no more than it has room for");
	fd_close(&fd);
	for (int i = 0; i < CROWD; i++)
		fd_close(&crowd[i]);
	fd_close(&listener);
	is_int(call_connect_tcp(port, LONG_MS), -ECONNREFUSED, "nobody listens");
}

int main(void)
{
	test_unix();
	test_tcp();
	return done_testing();
}
