#include "base/lock.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/time.h>

/* If a signal arrives just before flock, it interrupts nothing; the next one does. */
enum { ALARM_AGAIN_US = 10000 };

static void lock_on_alarm(int signo)
{
	(void)signo;
}

static void lock_set_alarm(uint64_t ms)
{
	struct itimerval timer = {
		.it_interval = {.tv_usec = ms ? ALARM_AGAIN_US : 0},
		.it_value = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)},
	};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static int lock_wait(int fd, uint64_t deadline)
{
	int r;

	do
		r = flock(fd, LOCK_EX) < 0 ? -errno : 0;
	while (r == -EINTR && clock_ms() < deadline);
	return r == -EINTR ? -EBUSY : r;
}

int lock_file(int fd, uint64_t deadline)
{
	struct sigaction act = {.sa_handler = lock_on_alarm}, old_act;
	sigset_t alarm_only, old_mask;
	uint64_t now;
	int r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;

	if (r != -EWOULDBLOCK)
		return r;
	now = clock_ms();
	if (now >= deadline)
		return -EBUSY;
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigaction(SIGALRM, &act, &old_act);
	sigprocmask(SIG_UNBLOCK, &alarm_only, &old_mask);
	lock_set_alarm(deadline - now);
	r = lock_wait(fd, deadline);
	lock_set_alarm(0);
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
	sigaction(SIGALRM, &old_act, NULL);
	return r;
}
