/* Shells as services: their channels, ends and restarts. */
#include "proc/service.h"

#include "base/clock.h"
#include "tests/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 30000, OUT_MAX = 1 << 20 };

static struct loop *loop;
static struct service service;
static struct buf seen = BUF_INIT(1 << 20);
static const char *wanted; /* the loop ends when seen contains it; or NULL */
static size_t refused_at;  /* received refuses to have more bytes */

static void note(const char *text)
{
	buf_puts(&seen, text);
	if (wanted && strstr(buf_cstr(&seen), wanted))
		loop_stop(loop);
}

static void note_bytes(const char *what, struct str bytes)
{
	char text[512];

	snprintf(text, sizeof(text), "%s%.*s", what, (int)(bytes.n < 400 ? bytes.n : 400),
		bytes.p);
	note(text);
}

static void on_late(struct service *s)
{
	note("late ");
	service_kill(s, "it was late");
}

static int on_received(struct service *s, char *bytes, size_t n)
{
	note_bytes("<", str_make(bytes, n));
	if (!refused_at || seen.n < refused_at)
		return 0;
	service_kill(s, "it talks too much");
	return ERR_LIMIT;
}

static void on_printed(struct service *s, struct str text)
{
	(void)s;
	note_bytes("|", text);
}

static void on_ask(struct service *s)
{
	note("ask ");
	if (s->to.fd >= 0)
		service_close_input(s);
}

static void on_exited(struct service *s, const char *why, int status)
{
	char text[512];

	snprintf(text, sizeof(text), "exited%s %s %d%s%s.",
		s->state == SERVICE_OFF && !s->pid ? "" : " too early",
		WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		why ? ": " : "", why ? why : "");
	note(text);
}

static void on_restart(struct service *s)
{
	note(s->state == SERVICE_OFF ? "restart." : "restart in a wrong state.");
}

static const struct service_kind kind = {
	.pause_ms = 10,
	.pause_max_ms = 30,
	.steady_ms = 1000,
	.closed_ms = 200,
	.closed_why = "it has closed its channel",
	.late = on_late,
	.received = on_received,
	.printed = on_printed,
	.ask = on_ask,
	.exited = on_exited,
	.restart = on_restart,
};

static void on_limit(struct timer *t)
{
	(void)t;
	ok(false, "the loop ends in time");
	loop_stop(loop);
}

/* Runs the loop until what was noted contains text. */
static void wait_for(const char *text)
{
	struct timer limit = {0};

	if (seen.n && strstr(buf_cstr(&seen), text))
		return;
	wanted = text;
	timer_set(loop, &limit, LIMIT_MS, on_limit);
	if (loop_run(loop))
		ok(false, "the loop runs");
	timer_cancel(loop, &limit);
	wanted = NULL;
}

static void send_text(const char *text)
{
	buf_puts(&service.out, text);
	service_flush(&service);
}

static void begin(const char *path, const char *script, enum service_channel channel,
	uint64_t ready_ms)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
	const char *const argv[] = {path, "-c", script, NULL};
	const struct spawn sp = {
		.path = path,
		.argv = argv,
		.env = env,
		.tty = -1,
		.fds = {-1, -1, -1},
		.dies_with_parent = true,
	};

	buf_reset(&seen);
	refused_at = 0;
	is_int(service_start(&service, &sp, channel, ready_ms), 0, "%.60s", script);
}

static void start(const char *script, enum service_channel channel)
{
	begin("/bin/sh", script, channel, 0);
}

static void is_seen(const char *want, const char *name)
{
	is_view(buf_view(&seen), want, "%s", name);
}

static void has_seen(const char *want, const char *name)
{
	ok(strstr(buf_cstr(&seen), want), "%s", name);
}

static void check_channels(void)
{
	start("exec cat", SERVICE_STDIO);
	send_text("a line\n");
	wait_for("line\n");
	service_end(&service, SERVICE_ASK, 0, NULL);
	wait_for(".");
	is_seen("<a line\nask exited status 0.", "standard input and output");

	start("read word <&3; echo printed; echo got $word >&3; exit 3", SERVICE_SOCKET);
	send_text("it\n");
	wait_for(".");
	has_seen("<got it\n", "a socket");
	has_seen("|printed\n", "...and the output");
	has_seen("\nexited status 3.", "...all before the end");

	start("printf out; printf err >&2; kill -9 $$", SERVICE_PRINTS);
	wait_for(".");
	has_seen("|out", "output alone");
	has_seen("errexited signal 9.", "...also of standard error");

	start("exit 0", SERVICE_SILENT);
	wait_for(".");
	is_seen("exited status 0.", "no descriptors");
}

/* More than a socket holds, for a process that reads late. */
static void check_queue(void)
{
	start("read line <&3; head -c 400000 <&3 | wc -c >&3", SERVICE_SOCKET);
	service_signal(&service, SIGSTOP);
	for (int i = 0; i < 400001; i++)
		buf_putc(&service.out, i ? 'x' : '\n');
	service_flush(&service);
	ok(service.out.n > 0, "bytes that do not fit are kept");
	service_signal(&service, SIGCONT);
	wait_for(".");
	is_seen("<400000\nexited status 0.", "...and are sent later");
}

static void check_failures(void)
{
	begin("/nowhere", "no program", SERVICE_PRINTS, 0);
	wait_for(".");
	has_seen(": executing the program: ", "why names the step");

	begin("/bin/sh", "exec sleep 100", SERVICE_PRINTS, 50);
	wait_for(".");
	is_seen("late exited signal 9: it was late.", "a process that is not ready");

	start("yes >&3", SERVICE_SOCKET);
	refused_at = 1000;
	wait_for(".");
	has_seen("exited signal 9: it talks too much.", "refused bytes end the channel");

	start("exec 3>&-; exec sleep 100", SERVICE_SOCKET);
	wait_for(".");
	is_seen("exited signal 9: it has closed its channel.", "a closed channel");

	start("exec 0<&-; exec sleep 100", SERVICE_STDIO);
	wait_for(".");
	is_seen("exited signal 9: it has closed its channel.", "a closed input");

	start("exec 3>&-; sleep 0.05; exit 4", SERVICE_SOCKET);
	wait_for(".");
	is_seen("exited status 4.", "...is no reason if it ends by itself");
}

static void check_steps(void)
{
	pid_t grandchild;

	start("trap 'echo term; exit 5' TERM; echo on; while :; do sleep 0.05; done",
		SERVICE_PRINTS);
	wait_for("on");
	service_end(&service, SERVICE_ASK, 0, "it was stopped");
	is_int(service.state, SERVICE_ENDING, "it is being ended");
	wait_for(".");
	has_seen("ask |", "ask is the first step");
	has_seen("exited status 5: it was stopped.", "...SIGTERM the second");

	start("trap '' TERM; setsid sleep 100 & echo $! on; while :; do sleep 1; done",
		SERVICE_PRINTS);
	wait_for("on");
	grandchild = (pid_t)strtol(seen.p + 1, NULL, 10);
	service_end(&service, SERVICE_TERM, 0, NULL);
	wait_for(".");
	has_seen("exited signal 9", "SIGKILL follows SIGTERM");
	for (int i = 0; i < 1000 && kill(grandchild, 0) == 0; i++)
		usleep(10000);
	ok(kill(grandchild, 0) < 0, "...for all that come from it");

	start("trap '' TERM; echo on; while :; do sleep 1; done", SERVICE_PRINTS);
	wait_for("on");
	service_end(&service, SERVICE_TERM, 60000, "the first");
	service_kill(&service, "the second");
	wait_for(".");
	has_seen("exited signal 9: the first.",
		"a later step may be next, the first reason stays");
	service_kill(&service, "none");
	is_int(service.state, SERVICE_OFF, "nothing is ended twice");
}

static void check_restarts(void)
{
	static const uint64_t pauses[] = {10, 20, 30, 30};
	uint64_t before;

	for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
		start("exit 1", SERVICE_SILENT);
		service_set_ready(&service);
		wait_for(".");
		ok(service.was_ready, "it was ready");
		before = clock_ms();
		buf_reset(&seen);
		service_pause(&service);
		wait_for("restart.");
		is_int((int)service.pause, (int)pauses[i], "pause %d", (int)i);
		ok(clock_ms() - before >= pauses[i], "...is kept");
	}
	start("sleep 1.2", SERVICE_SILENT);
	service_set_ready(&service);
	wait_for(".");
	is_int((int)service.pause, 0, "a steady process resets it");
	start("sleep 0.2", SERVICE_SILENT);
	service_set_ready(&service);
	service_set_unready(&service);
	wait_for(".");
	ok(!service.was_ready, "a process that is ready no more was not ready");
}

static void check_forget(void)
{
	siginfo_t si;
	pid_t pid;

	start("exec yes", SERVICE_PRINTS);
	pid = service.pid;
	service_forget(&service, true);
	is_int(service.state, SERVICE_OFF, "a service is forgotten");
	start("echo on; read x <&3", SERVICE_SOCKET);
	wait_for("on");
	waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
	ok(true, "...killed");
	is_seen("|on\n", "...and nothing of it follows");
	service_set_deaf(&service, true);
	service_forget(&service, true);
	service_pause(&service);
	service_forget(&service, false);
	is_int(service.state, SERVICE_OFF, "a pause is, too");
}

static void on_moment(struct timer *t)
{
	(void)t;
	note("moment ");
}

static void check_deaf(void)
{
	struct timer t = {0};

	start("echo one; echo two >&3; read x <&3", SERVICE_SOCKET);
	service_set_deaf(&service, true);
	timer_set(loop, &t, 300, on_moment);
	wait_for("moment ");
	ok(!strstr(buf_cstr(&seen), "one"), "nothing is read");
	service_set_deaf(&service, false);
	wait_for("two");
	service_kill(&service, NULL);
	wait_for(".");
	has_seen("|one\n", "...until reading is resumed");
}

int main(void)
{
	int err;

	signal(SIGPIPE, SIG_IGN);
	loop = loop_new(&err);
	if (!loop || children_init(loop) < 0)
		return 1;
	service_init(&service, &kind, loop, OUT_MAX);
	check_channels();
	check_queue();
	check_failures();
	check_steps();
	check_restarts();
	check_forget();
	check_deaf();
	service_forget(&service, true);
	loop_del(loop);
	buf_free(&seen);
	return done_testing();
}
