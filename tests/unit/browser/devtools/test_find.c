/* Where a browser is looked for, and which of several is taken. */
#include "browser/devtools/find.h"

#include "base/fd.h"
#include "fs/root.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/od-find-XXXXXX";

static void put(const char *path, const char *text)
{
	char whole[4096];
	int fd;

	snprintf(whole, sizeof(whole), "%s/%s", top, path);
	for (char *slash = whole + sizeof(top); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(whole, 0755) < 0 && errno != EEXIST)
			printf("# %s: no folder\n", whole);
		*slash = '/';
	}
	fd = fd_open(whole, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		printf("# %s: no file\n", whole);
	fd_close(&fd);
}

/* Those that are found below top, without it. */
static const char *found(const char *const *env, struct buf *places)
{
	static char text[4096];
	const char **list = NULL;
	struct arena a;

	text[0] = '\0';
	arena_init(&a, 1 << 20);
	if (find_browsers(env, NULL, &a, places, &list) == 0)
		for (; *list; list++)
			if (!strncmp(*list, top, strlen(top)))
				snprintf(text + strlen(text), sizeof(text) - strlen(text),
					"%s ", *list + strlen(top) + 1);
	arena_reset(&a);
	return text;
}

int main(void)
{
	static char home[4096], path[4096], named[4096], cache[4096];
	const char *const env[] = {home, path, named, cache, NULL};
	const char *const none[] = {NULL};
	struct buf places = BUF_INIT(65536), small = BUF_INIT(8);
	int dir;

	if (!mkdtemp(top))
		return 1;
	snprintf(home, sizeof(home), "HOME=%s/home", top);
	snprintf(path, sizeof(path), "PATH=%s/bin", top);
	snprintf(named, sizeof(named), "CHROME_PATH=%s/named", top);
	snprintf(cache, sizeof(cache), "PLAYWRIGHT_BROWSERS_PATH=%s/pw", top);
	is_str(found(env, &places), "", "nothing is there");
	ok(str_find(buf_view(&places), STR("chromium on the PATH\n")) < places.n,
		"the places are told");
	is_str(found(none, &places), "", "without any environment");
	put("bin/chromium",
		"\x7f"
		"ELF");
	put("bin/chromium-browser", "#!/bin/sh\nexec snap run chromium\n");
	put("bin/headless_shell",
		"\x7f"
		"ELF");
	put("pw/chromium_headless_shell-99/chrome-linux/headless_shell", "x");
	put("pw/chromium_headless_shell-1187/chrome-linux/headless_shell", "x");
	put("pw/chromium-1187/chrome-linux/chrome", "x");
	put("home/.cache/puppeteer/chrome/linux-131.0.1/chrome-linux64/chrome", "x");
	put("home/.cache/puppeteer/chrome/linux-131.0.10/chrome-linux64/chrome", "x");
	put("named", "x");
	is_str(found(env, &places),
		"named pw/chromium_headless_shell-1187/chrome-linux/headless_shell "
		"bin/headless_shell pw/chromium-1187/chrome-linux/chrome bin/chromium "
		"home/.cache/puppeteer/chrome/linux-131.0.10/chrome-linux64/chrome ",
		"named, headless, whole; the newest, and no stub");
	is_str(found(env, &small), "", "no room for the places");
	is_int(small.err, ERR_LIMIT, "...is told");
	dir = fd_open("/tmp", O_RDONLY | O_DIRECTORY, 0);
	is_int(root_remove(dir, top + strlen("/tmp/")), 0, "tidy");
	fd_close(&dir);
	buf_free(&places);
	buf_free(&small);
	return done_testing();
}
