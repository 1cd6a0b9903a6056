/*
 * Drives the run action over a real shell, in this process: a sandbox with one
 * session in an own, empty home, and one call per action. Include it in one
 * file of a program only.
 */
#ifndef TESTS_RUN_DRIVER_H
#define TESTS_RUN_DRIVER_H

#include "action/act.h"
#include "action/session.h"
#include "base/clock.h"
#include "base/fd.h"
#include "proc/children.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

enum { DRIVER_LIMIT_MS = 30000 };

#define WHAT_NOW \
	"You may wait longer to see additional output by sending empty command '', " \
	"send other commands to interact with the current process, send keys (\"C-c\", " \
	"\"C-z\", \"C-d\") to interrupt/kill the previous command before sending your " \
	"new command, or use the timeout parameter in execute_bash for future commands."
#define DONE(code) "\n[The command completed with exit code " #code ".]"
#define KEY_DONE(code, key) \
	"\n[The command completed with exit code " #code ". CTRL+" key " was sent.]"
#define TIMED_OUT(s) "\n[The command timed out after " s " seconds. " WHAT_NOW "]"
#define NO_CHANGE(s) "\n[The command has no new output after " s " seconds. " WHAT_NOW "]"
#define REFUSED(command) \
	"\n[Your command \"" command \
	"\" is NOT executed. The previous command is still " \
	"running - You CANNOT send new commands until the previous command is " \
	"completed. By setting `is_input` to `true`, you can interact with the current " \
	"process: " WHAT_NOW "]"
#define OF_PREVIOUS "[Below is the output of the previous command.]\n"
#define NOTHING_TO_READ "ERROR: No previous running command to retrieve logs from."
#define NOBODY_THERE "ERROR: No previous running command to interact with."

struct shell_row {
	const char *name;
	const char *arg0;
	enum shells_kind kind;
	const char *paths[4];
};

static const struct shell_row shell_rows[] = {
	{"bash", "bash", SHELLS_BASH, {"/bin/bash", "/usr/bin/bash"}},
	{"dash", "dash", SHELLS_POSIX, {"/bin/dash", "/usr/bin/dash"}},
	{"ash", "ash", SHELLS_ASH, {"/bin/busybox", "/usr/bin/busybox"}},
	{"mksh", "mksh", SHELLS_MKSH, {"/bin/mksh", "/usr/bin/mksh"}},
	{"zsh", "zsh", SHELLS_ZSH, {"/bin/zsh", "/usr/bin/zsh"}},
};

/* One request; what is left out is false, and no timeout at all. */
struct ask {
	const char *command;
	size_t n; /* of the command; 0: its strlen */
	bool is_input;
	bool blocking;
	bool hidden;
	bool is_static;
	const char *timeout; /* as JSON text */
};

/* An observation; the strings stay valid until the next action. */
struct seen {
	struct str observation, message, content, command, prefix, suffix;
	struct str working_dir, username, hostname, python; /* "(null)" for null */
	int64_t exit_code, pid;
	bool success, hidden;
};

static struct driver {
	struct loop *loop;
	struct store store;
	struct config config;
	struct box box;
	struct shell_setup setup;
	struct arena arena;
	struct buf in, out;
	struct json doc;
	const struct shell_row *row;
	char dir[64];  /* the home and the first working directory */
	char home[80]; /* HOME=... */
	const char *env[8];
	int go;
	bool ready;
	int waiting;  /* actions without an answer */
	bool running; /* inside loop_run: only then may it be stopped */
	bool overdue;
} drv = {.in = BUF_INIT(32 << 20), .out = BUF_INIT(64 << 20)};

static const char *shell_path(const struct shell_row *row)
{
	for (const char *const *p = row->paths; *p; p++)
		if (access(*p, X_OK) == 0)
			return *p;
	return NULL;
}

/* Whether to test it; if not, why is said. OD_TEST_SHELL names the only one there is
 * time for. */
static inline bool shell_wanted(const struct shell_row *row)
{
	const char *only = getenv("OD_TEST_SHELL");

	if (only && strcmp(only, row->name) != 0)
		skip(row->name, "another shell alone is wanted");
	else if (!shell_path(row))
		skip(row->name, "it is not installed");
	else
		return true;
	return false;
}

static void driver_stop(void)
{
	if (drv.running)
		loop_stop(drv.loop);
}

static void driver_overdue(struct timer *t)
{
	(void)t;
	drv.overdue = true;
	driver_stop();
}

/* Runs the loop until somebody stops it, or until fn is called after ms. */
static void driver_loop(uint64_t ms, timer_fn *fn)
{
	struct timer limit = {0};

	drv.running = true;
	timer_set(drv.loop, &limit, ms, fn);
	if (loop_run(drv.loop))
		ok(false, "the loop runs");
	timer_cancel(drv.loop, &limit);
	drv.running = false;
}

/* Runs the loop until somebody stops it; false, and a failed check, if nobody does. */
static bool driver_run(void)
{
	drv.overdue = false;
	driver_loop(DRIVER_LIMIT_MS, driver_overdue);
	if (drv.overdue)
		ok(false, "%s: an answer comes in time", drv.row->name);
	return !drv.overdue;
}

static void driver_pause(struct timer *t)
{
	(void)t;
	driver_stop();
}

/* Lets the loop look at what there is for ms. */
static inline void let_pass(uint64_t ms)
{
	driver_loop(ms, driver_pause);
}

/* Runs the loop until the shell of the first session is in this state. */
static inline void await_state(enum shell_state state)
{
	const uint64_t limit = clock_ms() + DRIVER_LIMIT_MS;

	while (shell_state(session_shell(drv.box.session)) != state && clock_ms() < limit)
		let_pass(5);
	is_int(shell_state(session_shell(drv.box.session)), state,
		"%s: the shell comes into the state", drv.row->name);
}

static void driver_done(struct act *a)
{
	(void)a;
	drv.waiting--;
	driver_stop();
}

static struct str text_of(struct json_val object, const char *key)
{
	struct str s = STR("(null)");

	if (json_str(json_get(object, key), &drv.arena, &s) < 0)
		return STR("(null)");
	return s;
}

static void put_request(struct buf *in, const struct ask *ask)
{
	struct jw w;

	buf_reset(in);
	jw_init(&w, in);
	jw_object(&w);
	jw_key(&w, "action");
	jw_cstr(&w, "run");
	jw_key(&w, "args");
	jw_object(&w);
	jw_key(&w, "command");
	jw_str(&w, str_make(ask->command, ask->n ? ask->n : strlen(ask->command)));
	jw_key(&w, "is_input");
	jw_bool(&w, ask->is_input);
	jw_key(&w, "blocking");
	jw_bool(&w, ask->blocking);
	jw_key(&w, "hidden");
	jw_bool(&w, ask->hidden);
	jw_key(&w, "is_static");
	jw_bool(&w, ask->is_static);
	jw_end(&w);
	jw_key(&w, "timeout");
	jw_raw(&w, str_c(ask->timeout ? ask->timeout : "20"));
	jw_end(&w);
}

static bool parse(struct json *doc, struct buf *text)
{
	static const struct json_caps caps = {.depth = 64, .tokens = 20000, .keys = 128};
	struct json_error e = {.why = ""};

	if (json_parse(doc, buf_view(text), &caps, &drv.arena, &e) == 0)
		return true;
	return ok(false, "JSON: %s at byte %zu", e.why, e.at);
}

static struct seen look(struct buf *out)
{
	struct json_val root, extras, meta;
	struct seen seen = {.exit_code = -99};

	if (!parse(&drv.doc, out))
		return seen;
	root = json_root(&drv.doc);
	extras = json_get(root, "extras");
	meta = json_get(extras, "metadata");
	seen.observation = text_of(root, "observation");
	seen.message = text_of(root, "message");
	seen.content = text_of(root, "content");
	seen.command = text_of(extras, "command");
	seen.prefix = text_of(meta, "prefix");
	seen.suffix = text_of(meta, "suffix");
	seen.working_dir = text_of(meta, "working_dir");
	seen.username = text_of(meta, "username");
	seen.hostname = text_of(meta, "hostname");
	seen.python = text_of(meta, "py_interpreter_path");
	if (json_i64(json_get(meta, "exit_code"), &seen.exit_code) < 0)
		seen.exit_code = -98;
	if (json_i64(json_get(meta, "pid"), &seen.pid) < 0)
		seen.pid = -98;
	if (json_bool(json_get(root, "success"), &seen.success) < 0)
		seen.success = false;
	if (json_bool(json_get(extras, "hidden"), &seen.hidden) < 0)
		seen.hidden = false;
	return seen;
}

/* Starts an action; act, in and out must stay until it is done. */
static int begin_ask(
	struct act *act, struct buf *in, struct buf *out, const struct ask *ask)
{
	struct json *doc = arena_alloc(&drv.arena, sizeof(*doc));
	struct act_call call = {0};
	const char *why = "";
	int r;

	put_request(in, ask);
	buf_reset(out);
	if (!doc || !parse(doc, in))
		return -1;
	drv.waiting++;
	r = act_read_call(json_root(doc), &drv.arena, &call, &why);
	*act = (struct act){
		.box = &drv.box,
		.arena = &drv.arena,
		.out = out,
		.name = call.name,
		.args = call.args,
		.timeout = call.timeout,
		.done = driver_done,
	};
	if (!r)
		r = act_start(act);
	if (r != ACT_WAIT)
		drv.waiting--;
	if (r < 0)
		ok(false, "the action is refused: %s", why);
	return r;
}

static struct seen run(struct ask ask)
{
	struct act act;

	arena_reset(&drv.arena);
	if (begin_ask(&act, &drv.in, &drv.out, &ask) == ACT_WAIT)
		while (drv.waiting > 0)
			if (!driver_run())
				exit(1);
	return look(&drv.out);
}

/* RUN("echo hi", .timeout = "0.5") */
#define RUN(text, ...) run((struct ask){.command = (text), ##__VA_ARGS__})
#define INPUT(text, ...) RUN(text, .is_input = true, ##__VA_ARGS__)
#define POLL(...) RUN("", ##__VA_ARGS__)

static void driver_ready(void *arg, int err, const char *why)
{
	(void)arg;
	if (err < 0)
		ok(false, "%s starts: %s", drv.row->name, why);
	drv.ready = true;
	driver_stop();
}

static inline bool contains(struct str s, const char *part)
{
	return str_find(s, str_c(part)) < s.n;
}

/* A file in the home. */
static inline const char *in_home(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", drv.dir, name);
	return path;
}

static inline void write_home(const char *name, const char *text)
{
	int fd = fd_open(in_home(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		ok(false, "a file can be written");
	fd_close(&fd);
}

/* Lets a command go on that reads a line of the fifo "go", now or later. */
static inline void go(void)
{
	if (fd_write_all(drv.go, "go\n", 3) < 0)
		ok(false, "%s: the command waits", drv.row->name);
}

static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

static void remove_tree(const char *dir)
{
	nftw(dir, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A session without a shell yet, in a loop of its own. */
static void make_session(void)
{
	int err = 0;

	drv.loop = loop_new(&err);
	if (!drv.loop || children_init(drv.loop) < 0)
		exit(1);
	drv.box = (struct box){
		.loop = drv.loop,
		.store = &drv.store,
		.config = &drv.config,
		.user_name = "tester",
		.host_name = "box",
		.shell_setup = &drv.setup,
	};
	drv.box.session = session_new(&drv.box, STR(SESSION_DEFAULT), &err);
	if (!drv.box.session)
		exit(1);
}

/* A new home for row's shell; what the test puts there counts for open_session. */
static void open_home(const struct shell_row *row)
{
	drv.row = row;
	drv.store.sock = -1;
	drv.config.no_change_s = 1;
	arena_init(&drv.arena, 256 << 20);
	snprintf(drv.dir, sizeof(drv.dir), "/tmp/od-run-XXXXXX");
	if (!mkdtemp(drv.dir) || mkfifo(in_home("go"), 0600) < 0)
		exit(1);
	/* Open for both, so that neither side waits for the other or sees it leave. */
	drv.go = fd_open(in_home("go"), O_RDWR | O_NONBLOCK, 0);
	snprintf(drv.home, sizeof(drv.home), "HOME=%s", drv.dir);
	drv.env[0] = drv.home;
	drv.env[1] = "PATH=/usr/local/bin:/usr/bin:/bin";
	drv.env[2] = "TERM=xterm-256color";
	drv.env[3] = "LC_ALL=C.UTF-8";
	drv.setup = (struct shell_setup){
		.path = shell_path(row),
		.arg0 = row->arg0,
		.kind = row->kind,
		.cwd = drv.dir,
		.env = drv.env,
	};
}

static void open_session(void)
{
	make_session();
	drv.ready = false;
	session_start(drv.box.session, driver_ready, NULL);
	while (!drv.ready)
		if (!driver_run())
			exit(1);
}

static void close_home(void)
{
	arena_reset(&drv.arena);
	fd_close(&drv.go);
	remove_tree(drv.dir);
}

static void close_session(void)
{
	session_del(drv.box.session);
	loop_del(drv.loop);
	close_home();
}

static inline void driver_free(void)
{
	buf_free(&drv.in);
	buf_free(&drv.out);
}

#endif
