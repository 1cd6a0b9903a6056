#include "inject/console/stop.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t asked, resized;
static int wake[2] = {-1, -1};
static uint64_t waited; /* microseconds */
static uint64_t limit;  /* monotonic milliseconds; 0: none */

static const int collectable[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static volatile sig_atomic_t collecting, collected[ARRAY_LEN(collectable)];

/* If the pipe is full, its bytes wake the poll as well. */
static void stop_wake_poll(void)
{
	int saved = errno;
	char c = 0;

	if (write(wake[1], &c, 1) < 0)
		errno = saved;
	errno = saved;
}

static void stop_on_signal(int signo)
{
	for (size_t i = 0; collecting && i < ARRAY_LEN(collectable); i++)
		if (collectable[i] == signo)
			collected[i] = 1;
	if (!asked && !collecting)
		asked = signo;
	stop_wake_poll();
}

/* Handles a signal unless it is ignored, as under nohup and in background jobs. */
static int stop_handle_signal(int signo)
{
	struct sigaction act = {.sa_handler = stop_on_signal}, old;

	if (sigaction(signo, NULL, &old) < 0)
		return -errno;
	if (old.sa_handler != SIG_IGN && sigaction(signo, &act, NULL) < 0)
		return -errno;
	return 0;
}

int stop_init(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int r = fd_pipe(wake);

	for (size_t i = 0; i < ARRAY_LEN(signals) && !r; i++)
		r = stop_handle_signal(signals[i]);
	if (!r && sigaction(SIGPIPE, &ignore, NULL) < 0)
		r = -errno;
	return r;
}

int stop_collect_signals(void)
{
	collecting = 1;
	return stop_handle_signal(SIGQUIT);
}

void stop_end_collecting(void)
{
	collecting = 0;
}

static bool stop_has_collected(void)
{
	for (size_t i = 0; i < ARRAY_LEN(collectable); i++)
		if (collected[i])
			return true;
	return false;
}

int stop_next_signal(void)
{
	for (size_t i = 0; i < ARRAY_LEN(collectable); i++) {
		if (!collected[i])
			continue;
		collected[i] = 0;
		return collectable[i];
	}
	return 0;
}

int stop_get_signal(void)
{
	return asked;
}

void stop_set_limit(uint64_t deadline)
{
	limit = deadline;
}

bool stop_is_expired(void)
{
	return limit && clock_ms() >= limit;
}

bool stop_is_requested(bool calm)
{
	return !calm && (asked || stop_is_expired());
}

static int stop_get_timeout(uint64_t deadline)
{
	uint64_t now = clock_ms();

	if (!deadline)
		return -1;
	if (deadline <= now)
		return 0;
	return deadline - now > INT32_MAX ? INT32_MAX : (int)(deadline - now);
}

/* Empties the pipe after a change of size or a collected signal. */
static void stop_drain_pipe(void)
{
	char bytes[64];

	while (read(wake[0], bytes, sizeof(bytes)) > 0)
		continue;
}

static int stop_poll_until(
	struct pollfd *fds, size_t n, uint64_t deadline, bool calm, bool sizes)
{
	uint64_t until = deadline;
	int r;

	if (!calm && limit && (!until || limit < until))
		until = limit;
	fds[0] = (struct pollfd){.fd = calm ? -1 : wake[0], .events = POLLIN};
	for (;;) {
		if (stop_is_requested(calm))
			return -EINTR;
		if (sizes && (resized || stop_has_collected()))
			return 0;
		r = poll(fds, n, stop_get_timeout(until));
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r > 0 && !fds[0].revents)
			return r;
		if (r > 0 && !asked)
			stop_drain_pipe();
		if (r == 0 && deadline && clock_ms() >= deadline)
			return 0;
	}
}

int stop_poll_n(struct pollfd *fds, size_t n, uint64_t deadline, bool calm)
{
	return stop_poll_until(fds, n, deadline, calm, true);
}

int stop_poll(struct pollfd *fds, uint64_t deadline, bool calm)
{
	return stop_poll_n(fds, STOP_FDS, deadline, calm);
}

int stop_wait(int fd, short events, uint64_t deadline, bool calm)
{
	struct pollfd fds[STOP_FDS] = {
		[1] = {.fd = fd, .events = events}, [2] = {.fd = -1}};
	uint64_t from = clock_us();
	/* The next stop_poll reports a change of the terminal's size. */
	int r = stop_poll_until(fds, STOP_FDS, deadline, calm, false);

	waited += clock_us() - from;
	return r > 0 ? fds[1].revents : r;
}

static void stop_on_resize(int signo)
{
	(void)signo;
	resized = 1;
	stop_wake_poll();
}

int stop_watch_size(void)
{
	struct sigaction act = {.sa_handler = stop_on_resize};

	return sigaction(SIGWINCH, &act, NULL) < 0 ? -errno : 0;
}

bool stop_is_resized(void)
{
	bool was = resized;

	resized = 0;
	if (was && !asked)
		stop_drain_pipe();
	return was;
}

uint64_t stop_get_wait_us(void)
{
	return waited;
}
