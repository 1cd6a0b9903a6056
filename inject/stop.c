#include "inject/stop.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t asked;
static int wake[2] = {-1, -1};
static uint64_t waited; /* microseconds */

static void on_signal(int signo)
{
	int saved = errno;
	char c = 0;

	if (!asked)
		asked = signo;
	/* A full pipe wakes as well as one byte more would. */
	if (write(wake[1], &c, 1) < 0)
		errno = saved;
	errno = saved;
}

int stop_init(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = on_signal};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int r = fd_pipe(wake);

	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		struct sigaction old;

		/* What nohup or a shell's background job ignores stays ignored. */
		if (sigaction(signals[i], NULL, &old) < 0)
			return -errno;
		if (old.sa_handler != SIG_IGN && sigaction(signals[i], &act, NULL) < 0)
			return -errno;
	}
	return sigaction(SIGPIPE, &ignore, NULL) < 0 ? -errno : 0;
}

int stop_signal(void)
{
	return asked;
}

static int remaining(uint64_t deadline)
{
	uint64_t now = clock_ms();

	if (!deadline)
		return -1;
	if (deadline <= now)
		return 0;
	return deadline - now > INT32_MAX ? INT32_MAX : (int)(deadline - now);
}

static int wait_for(int fd, short events, uint64_t deadline, bool calm)
{
	struct pollfd p[2] = {
		{.fd = fd, .events = events},
		{.fd = calm ? -1 : wake[0], .events = POLLIN},
	};
	int r;

	for (;;) {
		if (asked && !calm)
			return -EINTR;
		r = poll(p, 2, remaining(deadline));
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r > 0 && !p[1].revents)
			return p[0].revents;
		if (r == 0 && deadline && clock_ms() >= deadline)
			return 0;
	}
}

int stop_wait(int fd, short events, uint64_t deadline, bool calm)
{
	uint64_t from = clock_us();
	int r = wait_for(fd, events, deadline, calm);

	waited += clock_us() - from;
	return r;
}

uint64_t stop_waited_us(void)
{
	return waited;
}
