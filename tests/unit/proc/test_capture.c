/* Programs that are asked one thing, and those that answer badly. */
#include "proc/capture.h"

#include "base/clock.h"
#include "tests/tap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int interrupt_at; /* the number of waits after which one is -EINTR; 0: none */

static int wait_poll(int fd, short events, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t now = clock_ms();
	int r;

	if (interrupt_at && --interrupt_at == 0)
		return -EINTR;
	r = poll(&p, 1, deadline > now ? (int)(deadline - now) : 0);
	return r < 0 ? -errno : r ? p.revents : 0;
}

static int ask(
	const char *script, struct str input, uint32_t ms, struct buf *out, int *code)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	const char *const env[] = {"A=b", NULL};
	struct capture c = {
		.path = "/bin/sh",
		.argv = argv,
		.env = env,
		.input = input,
		.ms = ms,
		.wait = wait_poll,
	};

	buf_reset(out);
	return capture(&c, out, code);
}

static void no_child_left(void)
{
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left");
}

int main(void)
{
	static char large[CAPTURE_INPUT_MAX + 1];
	struct buf out = BUF_INIT(100);
	int code = -1;

	signal(SIGPIPE, SIG_IGN);
	is_int(ask("cat; echo $A", STR("in"), 10000, &out, &code), 0, "an answer");
	is_view(buf_view(&out), "inb\n", "its words");
	is_int(code, 0, "its code");
	is_int(ask("echo no >&2; exit 7", STR(""), 10000, &out, &code), 0, "a refusal");
	is_view(buf_view(&out), "", "standard error is dropped");
	is_int(code, 7, "its code");
	is_int(ask("kill -9 $$", STR(""), 10000, &out, &code), 0, "a death");
	is_int(code, 137, "its code");
	memset(large, 'x', sizeof(large));
	is_int(ask("exec <&-; echo a", str_make(large, CAPTURE_INPUT_MAX), 10000, &out,
		       &code),
		0, "one that does not listen");
	is_int(ask("cat", str_make(large, sizeof(large)), 10000, &out, &code), ERR_LIMIT,
		"too long a question");
	code = -1;
	is_int(ask("exec sleep 100", STR(""), 50, &out, &code), -ETIMEDOUT,
		"one that hangs");
	no_child_left();
	is_int(ask("exec >&-; exec sleep 100", STR(""), 50, &out, &code), -ETIMEDOUT,
		"one that hangs at its end");
	no_child_left();
	is_int(ask("sleep 100 & wait", STR(""), 50, &out, &code), -ETIMEDOUT,
		"one that has others hang");
	no_child_left();
	is_int(ask("while :; do echo aaaaaaaa; done", STR(""), 10000, &out, &code),
		ERR_LIMIT, "one without an end");
	no_child_left();
	interrupt_at = 1;
	is_int(ask("exec sleep 100", STR(""), 10000, &out, &code), -EINTR,
		"an interruption");
	no_child_left();
	is_int(code, -1, "none of these has a code");
	{
		const char *const argv[] = {"none", NULL};
		struct capture c = {.path = "/none/such",
			.argv = argv,
			.env = argv + 1,
			.ms = 10000,
			.wait = wait_poll};

		buf_reset(&out);
		is_int(capture(&c, &out, &code), -ENOENT, "one that is not there");
	}
	no_child_left();
	buf_free(&out);
	return done_testing();
}
