#include "browser/devtools/launch.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/fd.h"
#include "fs/root.h"
#include "proc/inspect.h"
#include "proc/pidwait.h"
#include "proc/spawn.h"
#include "proc/tree.h"
#include "proc/wait_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIPE = 1 << 20,       /* buffer of the kernel, for large trees */
	OUTPUT_BYTES = 16384, /* of its output that is stored, from the start */
	ARGS_MAX = 96,
	ENV_MAX = 1024,
	EXTRA_ARGS_BYTES = 4096,
	TEMP_MAX = 60,      /* longest path of a folder for sockets */
	KILLED_MS = 1000,   /* for its killed processes, which may write until they end */
	ORPHANS_MS = 10000, /* for processes that end by themselves */
	STATUS_MS = 100,    /* for the exit status after its pipe has ended */
};

/*
 * Chromium's own sandbox is off: containers forbid what it needs, and it does not run as
 * root. No start-up window, no back-forward cache (its pages fire no load event), no
 * site isolation (the frames of a page share one session), and no network requests by
 * the browser itself.
 */
static const char flags[] =
	"--headless=new\n"
	"--no-sandbox\n"
	"--disable-gpu\n"
	"--disable-quic\n"
	"--no-first-run\n"
	"--no-startup-window\n"
	"--hide-scrollbars\n"
	"--mute-audio\n"
	"--disable-background-networking\n"
	"--disable-component-update\n"
	"--disable-sync\n"
	"--disable-default-apps\n"
	"--disable-extensions\n"
	"--disable-back-forward-cache\n"
	"--disable-dev-shm-usage\n"
	"--disable-breakpad\n"
	"--disable-hang-monitor\n"
	"--disable-prompt-on-repost\n"
	"--disable-popup-blocking\n"
	"--disable-ipc-flooding-protection\n"
	"--disable-renderer-backgrounding\n"
	"--disable-background-timer-throttling\n"
	"--disable-backgrounding-occluded-windows\n"
	"--disable-field-trial-config\n"
	"--disable-client-side-phishing-detection\n"
	"--disable-component-extensions-with-background-pages\n"
	"--allow-pre-commit-input\n"
	"--disable-search-engine-choice-screen\n"
	"--force-color-profile=srgb\n"
	"--metrics-recording-only\n"
	"--password-store=basic\n"
	"--use-mock-keychain\n"
	"--no-service-autorun\n"
	"--no-default-browser-check\n"
	"--no-zygote\n"
	"--in-process-gpu\n"
	"--disable-site-isolation-trials\n"
	"--disable-features=IsolateOrigins,site-per-process,Translate,"
	"PaintHolding,HttpsUpgrades,MediaRouter,DialMediaRouteProvider,"
	"AcceptCHFrame,LensOverlay,GlobalMediaControls\n"
	"--remote-debugging-pipe\n";

/* --- The folder ------------------------------------------------------------------- */

static bool launch_remove_dir(int dir, const char *name)
{
	struct stat st;

	return root_remove(dir, name) == 0 &&
		fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

/*
 * Removes the folder after the last process of the browser has ended: until then the
 * processes may write to the folder, and create it again if it is removed. Each of them
 * has the browser's standard error.
 */
static bool launch_remove_profile(
	int dir, const char *name, const struct stat *words, uint64_t ms)
{
	uint64_t deadline = clock_ms() + ms;
	pid_t pid;

	while (words->st_ino && clock_ms() < deadline &&
		(pid = inspect_find_stderr(words->st_dev, words->st_ino)) > 0)
		pidwait_end(pid, deadline);
	return launch_remove_dir(dir, name);
}

/* These processes were not killed. They end when they detect the end of the browser. */
static void launch_on_cleanup(int dir, const char *name, const void *words)
{
	(void)!launch_remove_profile(dir, name, words, ORPHANS_MS);
}

/* All zero if the browser's standard error is not stored. */
static void launch_stat_output(const struct launch *l, struct stat *st)
{
	if (l->output_fd < 0 || fstat(l->output_fd, st) < 0)
		*st = (struct stat){0};
}

/* Returns the name of the folder, and opens the folder that contains it as *dir. */
static const char *launch_split_profile(const struct launch *l, int *dir)
{
	char above[FILE_PATH_MAX];
	const char *name = strrchr(l->folder, '/') + 1;

	snprintf(above, sizeof(above), "%.*s", (int)(name - l->folder), l->folder);
	*dir = fd_open(above, O_RDONLY | O_DIRECTORY, 0);
	return name;
}

/* PDF files become downloads: the browser's viewer would show none of their content. */
static int launch_write_preferences(const struct launch *l)
{
	static const char text[] =
		"{\"plugins\":{\"always_open_pdf_externally\":true}}\n";
	char path[FILE_PATH_MAX + 32];
	int fd, r;

	snprintf(path, sizeof(path), "%s/Default", l->folder);
	if (mkdir(path, 0700) < 0)
		return -errno;
	snprintf(path, sizeof(path), "%s/Default/Preferences", l->folder);
	fd = fd_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return fd;
	r = fd_write_all(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	return r;
}

/* Creates a folder with space for files: a disk may have space for the folder only. */
static int launch_make_profile(struct launch *l, const char *const *env)
{
	const char *const dirs[] = {env_value(env, "TMPDIR"), "/tmp", "/var/tmp",
		"/dev/shm", env_value(env, "HOME")};
	const char *name;
	int r = -ENOENT, dir;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (!dirs[i] || strlen(dirs[i]) > USER_PATH_MAX)
			continue;
		snprintf(l->folder, sizeof(l->folder), "%s/od-browser-XXXXXX", dirs[i]);
		if (!mkdtemp(l->folder)) {
			r = -errno;
			continue;
		}
		r = launch_write_preferences(l);
		if (!r)
			return 0;
		name = launch_split_profile(l, &dir);
		if (dir >= 0)
			launch_remove_dir(dir, name);
		fd_close(&dir);
	}
	l->folder[0] = '\0';
	return r;
}

static int launch_begin_profile(struct launch *l, const char *const *env)
{
	const char *name;
	struct stat words;
	int dir, r = launch_make_profile(l, env);

	if (r)
		return r;
	name = launch_split_profile(l, &dir);
	if (dir < 0)
		return dir;
	launch_stat_output(l, &words);
	cleanup_guard_begin(&l->broom, dir, name, launch_on_cleanup, &words);
	fd_close(&dir);
	return 0;
}

static void launch_end_profile(struct launch *l)
{
	const char *name;
	struct stat words;
	int dir;

	if (!l->folder[0])
		return;
	name = launch_split_profile(l, &dir);
	launch_stat_output(l, &words);
	cleanup_guard_end(&l->broom,
		dir >= 0 && launch_remove_profile(dir, name, &words, KILLED_MS));
	fd_close(&dir);
	l->folder[0] = '\0';
}

/* --- The process ------------------------------------------------------------------ */

/* HOME and TMPDIR are the browser's folder, so that all its files are there. */
static void launch_make_env(
	const char *const *env, const char *home, const char *temp, const char **out)
{
	size_t n = 0;

	for (; *env && n + 3 < ENV_MAX; env++)
		if (strncmp(*env, "HOME=", 5) != 0 && strncmp(*env, "XDG_", 4) != 0 &&
			(!temp || strncmp(*env, "TMPDIR=", 7) != 0))
			out[n++] = *env;
	out[n++] = home;
	if (temp)
		out[n++] = temp;
	out[n] = NULL;
}

static void launch_make_argv(
	const char *program, const char *profile, char *more, const char *argv[ARGS_MAX])
{
	size_t n = 0;

	argv[n++] = program;
	argv[n++] = profile;
	while (*more && n + 1 < ARGS_MAX) {
		char *end = strchrnul(more, '\n');

		if (end > more)
			argv[n++] = more;
		more = *end ? end + 1 : end;
		*end = '\0';
	}
	argv[n] = NULL;
}

static int launch_spawn_browser(struct launch *l, const char *program,
	const char *const *env, const char *more, const int to[2], const int from[2])
{
	const char *argv[ARGS_MAX], *own_env[ENV_MAX];
	char profile[FILE_PATH_MAX + 32], home[FILE_PATH_MAX + 8], temp[TEMP_MAX + 8];
	/* Sockets are created in a folder in TMPDIR. Their paths must not be long. */
	bool fits = strlen(l->folder) < TEMP_MAX;
	char words[sizeof(flags) + EXTRA_ARGS_BYTES];
	struct spawn_report report;
	struct spawn s = {
		.path = program,
		.argv = argv,
		.env = own_env,
		.cwd = l->folder,
		.tty = -1,
		.fds = {-1, l->output_fd, l->output_fd},
		.channel = to[0],
		.answers = from[1],
		.dies_with_parent = true,
		.orphans_leave = true,
	};
	int r;

	snprintf(profile, sizeof(profile), "--user-data-dir=%s", l->folder);
	snprintf(home, sizeof(home), "HOME=%s", l->folder);
	snprintf(temp, sizeof(temp), "TMPDIR=%.*s", TEMP_MAX, l->folder);
	snprintf(words, sizeof(words), "%s%s", flags, more ? more : "");
	launch_make_env(env, home, fits ? temp : NULL, own_env);
	launch_make_argv(program, profile, words, argv);
	r = spawn(&s, &l->pid, &report);
	spawn_report_close(&report);
	return r;
}

int launch_begin(
	struct launch *l, const char *program, const char *const *env, const char *more)
{
	int to[2] = {-1, -1}, from[2] = {-1, -1};
	int r;

	*l = (struct launch){.in = -1, .out = -1, .output_fd = -1};
	/* If this fails, only the reason of a failed start is lost; the start goes on. */
	l->output_fd = fd_create_memory("browser", OUTPUT_BYTES);
	r = launch_begin_profile(l, env);
	if (!r)
		r = fd_pipe(to);
	if (!r)
		r = fd_pipe(from);
	if (!r)
		r = launch_spawn_browser(l, program, env, more, to, from);
	/*
	 * Only the browser may hold its ends, or the end of the pipe would not be seen.
	 */
	fd_close(&to[0]);
	fd_close(&from[1]);
	if (r) {
		fd_close(&to[1]);
		fd_close(&from[0]);
		launch_end(l);
		return r;
	}
	fd_widen_pipe(from[0], PIPE);
	l->in = from[0];
	l->out = to[1];
	return 0;
}

int launch_wait_status(struct launch *l)
{
	uint64_t deadline = clock_ms() + STATUS_MS;
	int status = l->pid ? wait_child_poll(l->pid) : -1;

	while (l->pid && status < 0 && clock_ms() < deadline) {
		pidwait_end(l->pid, deadline);
		status = wait_child_poll(l->pid);
	}
	return status;
}

void launch_end(struct launch *l)
{
	if (l->pid) {
		tree_kill_now(l->pid);
		wait_child_reap(l->pid);
		l->pid = 0;
	}
	fd_close(&l->in);
	fd_close(&l->out);
	launch_end_profile(l);
	fd_close(&l->output_fd);
}

void launch_read_output(const struct launch *l, struct buf *out)
{
	char text[OUTPUT_BYTES];
	ssize_t n = l->output_fd < 0 ? -1 : pread(l->output_fd, text, sizeof(text), 0);
	struct str rest = str_make(text, n > 0 ? (size_t)n : 0), last = STR("");

	rest.n = str_find_byte(rest, '\0');
	while (rest.n) {
		struct str line = str_trim(str_cut(&rest, '\n'), " \r");

		if (line.n)
			last = line;
	}
	buf_str(out, last);
}
