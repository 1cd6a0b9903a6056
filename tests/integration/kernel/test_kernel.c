/* Kernels of this machine where there are any, and programs that are none. */
#include "base/clock.h"
#include "base/fd.h"
#include "kernel/kernel.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 200 };

static char top[] = "/tmp/od-test-kernel-XXXXXX";
static char data[64] = "JUPYTER_DATA_DIR=";
static const char *const env[] = {
	"PATH=/usr/bin:/bin", data, "HOME=/tmp", "LANG=C.UTF-8", NULL};

static struct loop *loop;
static struct kernel kernel;
static struct kernelspec spec;
static struct arena arena;

/* What was told since the last wait. */
static struct buf seen = BUF_INIT(8 << 20);
static uint64_t told_at;

static void tell(const char *what)
{
	buf_puts(&seen, what);
	told_at = clock_us();
	loop_stop(loop);
}

static void ready(struct kernel *k)
{
	(void)k;
	tell("ready");
}

static void message(struct kernel *k, const struct jmsg *m, struct arena *a)
{
	struct str text = STR("?");

	(void)k;
	if (m->type == JMSG_STREAM) {
		buf_str(&seen, m->stream.text);
		/* A cell that has more to do lets itself be waited for. */
		if (str_find(m->stream.text, STR("[on]")) < m->stream.text.n)
			tell("");
	}
	if (m->type == JMSG_EXECUTE_RESULT || m->type == JMSG_DISPLAY_DATA) {
		if (json_str(json_get(m->data, "text/plain"), a, &text) == 0)
			buf_str(&seen, text);
	}
	if (m->type == JMSG_ERROR)
		buf_fmt(&seen, "<%.*s>", STR_ARG(m->error.name));
}

static void lost(struct kernel *k, uint64_t bytes)
{
	(void)k;
	buf_puts(&seen, bytes > ZMTP_MESSAGE_MAX ? "lost " : "lost? ");
}

static void done(struct kernel *k, enum jmsg_outcome outcome)
{
	static const char *const words[] = {[JMSG_OK] = "|ok",
		[JMSG_FAILED] = "|failed",
		[JMSG_ABORTED] = "|aborted"};

	(void)k;
	tell(words[outcome]);
}

static void silent(struct kernel *k)
{
	(void)k;
	tell("silent");
}

static void ended(struct kernel *k, const char *why, int status)
{
	(void)k;
	buf_fmt(&seen, "%s, %s %d", why, WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	tell("");
}

static const struct kernel_events events = {ready, message, lost, done, silent, ended};

static void late(struct timer *t)
{
	(void)t;
	tell("[too late]");
}

/* Runs the loop until something is told that stops it. */
static void wait_for(uint64_t ms)
{
	struct timer t = {0};

	buf_reset(&seen);
	timer_set(loop, &t, ms, late);
	if (loop_run(loop))
		buf_puts(&seen, "[no loop]");
	timer_cancel(loop, &t);
}

static bool begin(const char *name, uint64_t start_ms)
{
	struct kernelspec_places p = {env, NULL};
	struct kernel_setup s = {
		.loop = loop,
		.events = &events,
		.spec = &spec,
		.env = env,
		.tmp = top,
		.cwd = "/",
		.start_ms = start_ms,
	};
	const char *why;

	arena_rewind(&arena);
	if (kernelspec_find(&p, str_c(name), &arena, &spec, &why))
		return false;
	kernel_init(&kernel, &s);
	return true;
}

static void run(const char *code)
{
	is_int(kernel_run(&kernel, str_c(code)), 0, "%.40s", code);
	wait_for(20000);
}

/* How many entries of that name's beginning are in the folder. */
static int entries(const char *folder, const char *prefix)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
	if (d)
		closedir(d);
	return n;
}

static bool swept(void)
{
	return entries(top, "od-kernel-") == 0;
}

static void put_spec(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/kernels/%s", top, name);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/kernels/%s/kernel.json", top, name);
	f = fopen(path, "w");
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

static void test_no_kernels(void)
{
	put_spec("nowhere", "{\"argv\":[\"no-such-program\"]}");
	put_spec("missing", "{\"argv\":[\"/no/such\"]}");
	put_spec("false", "{\"argv\":[\"false\"]}");
	put_spec("mute", "{\"argv\":[\"sleep\",\"100\"],\"language\":\"python\"}");
	put_spec("mute-tcp", "{\"argv\":[\"sleep\",\"100\"]}");
	ok(begin("nowhere", 1000), "a program that is nowhere");
	is_int(kernel_start(&kernel), -ENOENT, "does not start");
	kernel_free(&kernel);
	ok(begin("missing", 1000), "a path that is missing");
	is_int(kernel_start(&kernel), 0, "starts a child");
	wait_for(10000);
	ok(str_ends(buf_view(&seen), STR(", status 127")) && seen.n > 13,
		"that tells where it failed: %.*s", STR_ARG(buf_view(&seen)));
	kernel_free(&kernel);
	ok(begin("false", 1000), "a program that ends");
	is_int(kernel_start(&kernel), 0, "starts");
	wait_for(10000);
	is_view(buf_view(&seen), "it ended by itself, status 1", "and is seen");
	is_int(kernel_start(&kernel), 0, "it can be started again");
	wait_for(10000);
	is_view(buf_view(&seen), "it ended by itself, status 1", "and ends again");
	kernel_free(&kernel);
	for (int i = 0; i < 2; i++) {
		ok(begin(i ? "mute" : "mute-tcp", 200), "a program that never listens");
		is_int(kernel_start(&kernel), 0, "starts");
		wait_for(10000);
		is_view(buf_view(&seen), "it was not ready in time, signal 15",
			"and ends");
		kernel_free(&kernel);
	}
	ok(begin("mute", 10000), "the same");
	is_int(kernel_start(&kernel), 0, "starts");
	kernel_stop(&kernel);
	wait_for(10000);
	is_view(buf_view(&seen), "it was stopped, signal 15", "and is stopped meanwhile");
	is_int(kernel_start(&kernel), 0, "starts");
	kernel_free(&kernel);
	ok(swept(), "no folder is left");
}

/* Peers that listen where a kernel would, and do not speak as one. */
static void test_strangers(void)
{
	static const struct {
		const char *name, *does, *want;
	} cases[] = {
		{"http", "c.sendall(b'HTTP/1.1 400 no')",
			"it does not greet as ZeroMQ does, signal 9"},
		{"hangs-up", "c.close()", "it was not ready in time, signal 15"},
		{"says-nothing", "pass", "it was not ready in time, signal 15"},
	};
	char text[1024];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(text, sizeof(text),
			"{\"argv\":[\"/usr/bin/python3\",\"-c\",\"import "
			"json,select,socket,sys\\n"
			"f=json.load(open(sys.argv[1]))\\n"
			"l=[socket.create_server((f['ip'],f[p])) for p in f if "
			"p[-5:]=='_port']\\n"
			"k=[]\\n"
			"while True:\\n"
			"  for s in select.select(l,[],[])[0]:\\n"
			"    c=s.accept()[0]; k.append(c); %s\","
			"\"{connection_file}\"]}",
			cases[i].does);
		put_spec(cases[i].name, text);
		ok(begin(cases[i].name, 1500), "a stranger: %s", cases[i].name);
		is_int(kernel_start(&kernel), 0, "starts");
		wait_for(10000);
		is_view(buf_view(&seen), cases[i].want, "and is found out");
		kernel_free(&kernel);
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(const char *name)
{
	static uint64_t took[RUNS];
	size_t wrong = 0;

	for (int i = 0; i < RUNS; i++) {
		uint64_t from = clock_us();

		if (kernel_run(&kernel, STR("1+1")))
			return;
		wait_for(20000);
		took[i] = told_at - from;
		wrong += !str_starts(buf_view(&seen), STR("2|")) &&
			!str_starts(buf_view(&seen), STR("[1] 2|"));
	}
	qsort(took, RUNS, sizeof(took[0]), by_size);
	is_int(wrong, 0, "1+1 %d times", RUNS);
	printf("# %s: 1+1 p50 %.2f ms, p99 %.2f ms\n", name,
		(double)took[RUNS / 2] / 1000, (double)took[RUNS * 99 / 100] / 1000);
}

static bool start_and_time(const char *name)
{
	uint64_t from = clock_us();

	if (!is_int(kernel_start(&kernel), 0, "%s starts", name))
		return false;
	wait_for(60000);
	printf("# %s: ready in %.0f ms\n", name, (double)(told_at - from) / 1000);
	return is_view(buf_view(&seen), "ready", "%s is ready", name);
}

static void test_python_deaths(void)
{
	uint64_t from;

	run("import os; os._exit(3)");
	is_view(buf_view(&seen), "it ended by itself, status 3", "os._exit");
	if (!start_and_time("python3"))
		return;
	from = clock_us();
	run("print('last words', flush=True); import time; time.sleep(.3); "
	    "os = __import__('os'); os.kill(os.getpid(), 11)");
	is_view(buf_view(&seen), "last words\nit ended by itself, signal 11",
		"a crash, and what came before it");
	printf("# its end was told %.0f ms after it began\n",
		(double)(told_at - from) / 1000 - 300);
	/* A second, and as much for a machine that does other things as well. */
	ok(told_at - from < 2300000, "seen within a second");
	if (!start_and_time("python3"))
		return;
	from = clock_us();
	is_int(kernel_run(&kernel, STR("import os; os.kill(os.getpid(), 19)")), 0,
		"SIGSTOP");
	wait_for(20000);
	is_view(buf_view(&seen), "silent", "it falls silent");
	printf("# told after %.0f ms\n", (double)(told_at - from) / 1000);
	ok(told_at - from < 3000000, "in about a second");
	kernel_kill(&kernel);
	wait_for(20000);
	is_view(buf_view(&seen), "it was killed, signal 9", "and is killed");
}

static void test_python(const char *name)
{
	if (!begin(name, 60000)) {
		skip("python3", "no kernelspec of that name: python3-ipykernel");
		return;
	}
	if (!start_and_time(name))
		return;
	run("print('a'); 1+1");
	is_view(buf_view(&seen), "a\n2|ok", "output, then the result");
	run("1/0");
	is_view(buf_view(&seen), "<ZeroDivisionError>|failed", "an error");
	run("print('next')");
	is_view(buf_view(&seen), "next\n|ok", "does not abort the next");
	run("input()");
	is_view(buf_view(&seen), "<StdinNotImplementedError>|failed",
		"there is no stdin");
	run("");
	is_view(buf_view(&seen), "|ok", "nothing");
	run("print('\\udc80\\u00e9')");
	ok(str_ends(buf_view(&seen), STR("|ok")) ||
			str_ends(buf_view(&seen), STR("|failed")),
		"a lone surrogate");
	measure(name);
	is_int(kernel_run(&kernel,
		       STR("import time; print('[on]', flush=True)\nwhile True: "
			   "time.sleep(.01)")),
		0, "an endless loop");
	wait_for(20000);
	is_view(buf_view(&seen), "[on]\n", "has begun");
	wait_for(3 * KERNEL_BEAT_MS);
	is_view(buf_view(&seen), "[too late]", "runs on, with its heartbeat");
	kernel_interrupt(&kernel);
	wait_for(20000);
	is_view(buf_view(&seen), "<KeyboardInterrupt>|failed", "and is interrupted");
	run("'after'");
	is_view(buf_view(&seen), "'after'|ok", "the next is not aborted");
	run("print('x' * (40 << 20))");
	is_view(buf_view(&seen), "lost |ok", "too much at once is told of");
	run("'after'");
	is_view(buf_view(&seen), "'after'|ok", "and costs nothing more");
	test_python_deaths();
	if (start_and_time(name)) {
		kernel_stop(&kernel);
		wait_for(20000);
		is_view(buf_view(&seen), "it was stopped, status 0",
			"it ends when asked");
	}
	ok(swept(), "no folder is left");
	kernel_free(&kernel);
}

static void test_nobody(void)
{
	static const struct spawn_user nobody = {.uid = 65534, .gid = 65534};

	if (geteuid() != 0 || !begin("python3", 60000)) {
		skip("as nobody", "needs root and the kernelspec python3");
		return;
	}
	kernel.setup.user = &nobody;
	if (!start_and_time("python3 as nobody"))
		return;
	run("import os; os.getuid()");
	is_view(buf_view(&seen), "65534|ok", "whose rights it has");
	kernel_free(&kernel);
	ok(swept(), "no folder is left");
}

static void test_r(void)
{
	if (!begin("ir", 60000)) {
		skip("ir", "no kernelspec of that name: r-cran-irkernel");
		return;
	}
	if (!start_and_time("ir"))
		return;
	run("1+1");
	is_view(buf_view(&seen), "[1] 2|ok", "a result");
	run("stop('no')");
	ok(str_ends(buf_view(&seen), STR("|failed")), "an error");
	measure("ir");
	is_int(kernel_run(&kernel, STR("cat('[on]')\nwhile (TRUE) Sys.sleep(0.01)")), 0,
		"an endless loop");
	wait_for(20000);
	is_view(buf_view(&seen), "[on]", "has begun");
	kernel_interrupt(&kernel);
	wait_for(20000);
	is_int(kernel.state, KERNEL_IDLE, "is interrupted");
	kernel_stop(&kernel);
	wait_for(20000);
	is_view(buf_view(&seen), "it was stopped, status 0", "it ends when asked");
	kernel_free(&kernel);
}

int main(void)
{
	char path[64];
	int err = 0, fds;

	/* Passable, for a kernel of somebody else. */
	if (!mkdtemp(top) || chmod(top, 0711) < 0)
		return 1;
	snprintf(data + strlen(data), sizeof(data) - strlen(data), "%s", top);
	snprintf(path, sizeof(path), "%s/kernels", top);
	mkdir(path, 0755);
	loop = loop_new(&err);
	if (!loop || children_init(loop))
		return 1;
	spawn_save_limits();
	fds = entries("/proc/self/fd", "");
	arena_init(&arena, 1 << 20);
	test_no_kernels();
	if (access("/usr/bin/python3", X_OK) == 0)
		test_strangers();
	else
		skip("strangers", "no /usr/bin/python3");
	test_python("python3");
	test_nobody();
	/* The same kernel over TCP, interrupted by messages. */
	put_spec("tcp",
		"{\"argv\":[\"/usr/bin/python3\",\"-m\",\"ipykernel_launcher\",\"-f\","
		"\"{connection_file}\"],\"language\":\"other\",\"interrupt_mode\":"
		"\"message\"}");
	if (access("/usr/share/jupyter/kernels/python3", F_OK) == 0)
		test_python("tcp");
	test_r();
	is_int(entries("/proc/self/fd", ""), fds, "no descriptor is left");
	arena_reset(&arena);
	buf_free(&seen);
	loop_del(loop);
	snprintf(path, sizeof(path), "rm -r %s", top);
	return done_testing() | (system(path) != 0);
}
