#include "browser/devtools/find.h"

#include "base/env.h"
#include "base/fd.h"
#include "fs/root.h"
#include "limits.h"
#include "proc/which.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FOUND_MAX = 32, SCRIPT_READ = 4096, NAME_ROOM = 256 };

struct browser_search {
	const char *const *env;
	struct arena *a;
	struct buf *places;
	const char **found;
	size_t n;
	int err;
};

/* Whether path is Ubuntu's script that starts a snap, which containers do not have. */
static bool find_browser_is_stub(const char *path)
{
	char text[SCRIPT_READ];
	int fd = fd_open(path, O_RDONLY | O_NONBLOCK, 0);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	struct str s = str_make(text, n > 0 ? (size_t)n : 0);

	fd_close(&fd);
	return str_starts(s, STR("#!")) && str_find(s, STR("snap")) < s.n;
}

static void find_browser_add(struct browser_search *f, const char *path)
{
	if (!which_is_program(path) || find_browser_is_stub(path) || f->n == FOUND_MAX)
		return;
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->found[i], path))
			return;
	f->found[f->n] = arena_cstr(f->a, str_c(path));
	if (f->found[f->n])
		f->n++;
	else
		f->err = -ENOMEM;
}

static void find_browser_check_path(struct browser_search *f, const char *path)
{
	buf_fmt(f->places, "%s\n", path);
	find_browser_add(f, path);
}

/* Checks a path in dir. dir may be NULL. */
static void find_browser_check_dir(
	struct browser_search *f, const char *dir, const char *path)
{
	char whole[FILE_PATH_MAX];

	if (dir && snprintf(whole, sizeof(whole), "%s/%s", dir, path) < FILE_PATH_MAX)
		find_browser_check_path(f, whole);
}

static void find_browser_search_path(struct browser_search *f, const char *name)
{
	char path[FILE_PATH_MAX];

	buf_fmt(f->places, "%s on the PATH\n", name);
	if (which_find(name, env_value(f->env, "PATH"), path) == 0)
		find_browser_add(f, path);
}

/* Whether a names a newer version than b. Digits are compared as numbers. */
static bool find_browser_is_newer(const char *a, const char *b)
{
	while (*a && *b) {
		size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");
		int order = x != y ? (x < y ? -1 : 1) : memcmp(a, b, x ? x : 1);

		if (order)
			return order > 0;
		a += x ? x : 1;
		b += y ? y : 1;
	}
	return *a;
}

/* Checks dir/NEWEST/path. NEWEST is the newest entry of dir that starts with prefix. */
static void find_browser_check_newest(
	struct browser_search *f, const char *dir, const char *prefix, const char *path)
{
	char best[NAME_ROOM] = "", whole[FILE_PATH_MAX];
	struct dirent *entry;
	DIR *list;

	/* dir may be a symbolic link. */
	if (!dir || snprintf(whole, sizeof(whole), "%s/.", dir) >= FILE_PATH_MAX ||
		root_list(AT_FDCWD, whole, &list) < 0)
		return;
	while ((entry = readdir(list)))
		if (entry->d_name[0] != '.' &&
			!strncmp(entry->d_name, prefix, strlen(prefix)) &&
			find_browser_is_newer(entry->d_name, best))
			snprintf(best, sizeof(best), "%s", entry->d_name);
	closedir(list);
	if (best[0] && snprintf(whole, sizeof(whole), "%s/%s", dir, best) < FILE_PATH_MAX)
		find_browser_check_dir(f, whole, path);
}

static void find_browser_from_env(struct browser_search *f)
{
	static const char *const names[] = {"OD_BROWSER", "OHRT_BROWSER",
		"PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH", "PUPPETEER_EXECUTABLE_PATH",
		"CHROME_PATH", "CHROME_BIN"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *path = env_value(f->env, names[i]);

		if (path)
			find_browser_check_path(f, path);
	}
}

/* The folders that Playwright fills; /opt/playwright-browsers is OpenHands' own. */
static void find_browser_playwright(
	struct browser_search *f, const char *home, bool shells)
{
	static const char *const headless[] = {"chrome-linux/headless_shell",
		"chrome-headless-shell-linux64/chrome-headless-shell"};
	static const char *const whole[] = {
		"chrome-linux/chrome", "chrome-linux64/chrome"};
	char cache[FILE_PATH_MAX];
	const char *const dirs[] = {env_value(f->env, "PLAYWRIGHT_BROWSERS_PATH"),
		"/opt/playwright-browsers", "/ms-playwright", cache};

	snprintf(cache, sizeof(cache), "%s/.cache/ms-playwright", home ? home : "");
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (!dirs[i])
			continue;
		buf_fmt(f->places, "%s\n", dirs[i]);
		for (size_t k = 0; k < ARRAY_LEN(headless); k++)
			if (shells)
				find_browser_check_newest(f, dirs[i],
					"chromium_headless_shell-", headless[k]);
			else
				find_browser_check_newest(
					f, dirs[i], "chromium-", whole[k]);
	}
}

static void find_browser_cached(struct browser_search *f, const char *home)
{
	static const struct {
		const char *dir, *path;
	} caches[] = {
		{".cache/puppeteer/chrome-headless-shell",
			"chrome-headless-shell-linux64/chrome-headless-shell"},
		{".cache/puppeteer/chrome", "chrome-linux64/chrome"},
		{".cache/selenium/chrome/linux64", "chrome"},
	};
	char dir[FILE_PATH_MAX];

	for (size_t i = 0; home && i < ARRAY_LEN(caches); i++) {
		snprintf(dir, sizeof(dir), "%s/%s", home, caches[i].dir);
		buf_fmt(f->places, "%s\n", dir);
		find_browser_check_newest(f, dir, "", caches[i].path);
	}
}

/*
 * Browsers of distribution packages. Debian's /usr/bin/chromium is a script; the program
 * that it starts comes before it.
 */
static void find_browser_installed(struct browser_search *f)
{
	static const char *const paths[] = {"/usr/lib/chromium/chromium",
		"/usr/lib64/chromium-browser/chromium-browser",
		"/usr/lib/chromium-browser/chromium-browser", "/opt/google/chrome/chrome",
		"/opt/microsoft/msedge/msedge"};
	static const char *const names[] = {"chromium", "chromium-browser",
		"google-chrome-stable", "google-chrome", "chrome"};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		find_browser_check_path(f, paths[i]);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		find_browser_search_path(f, names[i]);
}

int find_browsers(const char *const *env, const char *own, struct arena *a,
	struct buf *places, const char ***found)
{
	struct browser_search f = {.env = env,
		.a = a,
		.places = places,
		.found = arena_array(a, FOUND_MAX + 1, sizeof(*f.found))};
	const char *home = env_value(env, "HOME");

	if (!f.found)
		return -ENOMEM;
	find_browser_from_env(&f);
	find_browser_check_dir(&f, own, "browser");
	find_browser_playwright(&f, home, true);
	find_browser_check_path(&f, "/usr/lib/chromium/chromium-headless-shell");
	find_browser_check_path(&f, "/headless-shell/headless-shell");
	find_browser_search_path(&f, "chrome-headless-shell");
	find_browser_search_path(&f, "headless_shell");
	find_browser_search_path(&f, "chromium-headless-shell");
	find_browser_playwright(&f, home, false);
	find_browser_installed(&f);
	find_browser_cached(&f, home);
	*found = f.found;
	return f.err ? f.err : places->err;
}
