/* The files that a browser leaves in the working directory. */
#include "browser/drive_private.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	FETCH_MS = 10000,  /* longer downloads continue; a later action reports them */
	NAMES_MAX = 10000, /* number of names that are tried */
	MAGIC = 16,
};

/* --- Screenshots ------------------------------------------------------------------ */

/*
 * The name has the time in UTC. Time zones and strftime would add 11 KB of the C library
 * to the program.
 */
void drive_save_screenshot(
	const struct drive *d, struct str png, char path[FILE_PATH_MAX])
{
	struct timespec now;
	struct tm t;
	int fd = -1, n, r = -EINVAL;

	clock_gettime(CLOCK_REALTIME, &now);
	if (png.n && gmtime_r(&now.tv_sec, &t)) {
		n = snprintf(path, FILE_PATH_MAX, "%s/.browser_screenshots", d->cwd);
		if (n < FILE_PATH_MAX && (mkdir(path, 0777) == 0 || errno == EEXIST))
			r = 0;
	}
	if (!r) {
		n = snprintf(path, FILE_PATH_MAX,
			"%s/.browser_screenshots/"
			"screenshot_%04d%02d%02d_%02d%02d%02d_%06ld.png",
			d->cwd, t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
			t.tm_min, t.tm_sec, now.tv_nsec / 1000);
		r = n < FILE_PATH_MAX ? 0 : -ENAMETOOLONG;
	}
	if (!r)
		r = fd = fd_open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
	if (r >= 0) {
		r = fd_write_all(fd, png.p, png.n);
		if (r < 0)
			unlink(path);
	}
	fd_close(&fd);
	if (r < 0)
		path[0] = '\0';
}

/* --- Downloads -------------------------------------------------------------------- */

/*
 * The file name extension for the first bytes of a file. Chrome stores downloads without
 * an extension, under their GUID.
 */
static const char *drive_detect_extension(const char *path)
{
	static const struct {
		struct str magic;
		const char *ext;
	} kinds[] = {
		{{"%PDF-", 5}, ".pdf"},
		{{"\x89PNG\r\n\x1a\n", 8}, ".png"},
		{{"\xff\xd8\xff", 3}, ".jpg"},
		{{"GIF8", 4}, ".gif"},
		{{"PK\3\4", 4}, ".zip"},
		{{"\x1f\x8b", 2}, ".gz"},
		{{"BZh", 3}, ".bz2"},
		{{"\xfd"
		  "7zXZ",
			 5},
			".xz"},
		{{"7z\xbc\xaf\x27\x1c", 6}, ".7z"},
	};
	char text[MAGIC];
	int fd = fd_open(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	fd_close(&fd);
	for (size_t i = 0; n > 0 && i < ARRAY_LEN(kinds); i++)
		if (str_starts(str_make(text, (size_t)n), kinds[i].magic))
			return kinds[i].ext;
	return "";
}

static bool drive_is_download_over(void *arg)
{
	const struct browser *b = arg;

	return b->download.state != DOWNLOAD_STARTED;
}

/* Gives the file a new name. An existing file is never replaced. */
static int drive_rename_download(
	struct drive *d, const char *from, char path[FILE_PATH_MAX])
{
	const char *ext = drive_detect_extension(from);

	for (int i = 0; i < NAMES_MAX; i++) {
		d->files++;
		if (snprintf(path, FILE_PATH_MAX, "%s/file_%u%s", d->cwd, d->files,
			    ext) >= FILE_PATH_MAX)
			return ERR_REFUSED;
		if (link(from, path) == 0) {
			unlink(from);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	/* The file system may not support hard links. */
	return access(path, F_OK) < 0 && rename(from, path) == 0 ? 0 : ERR_REFUSED;
}

int drive_save_download(struct drive *d, char path[FILE_PATH_MAX])
{
	char from[FILE_PATH_MAX];
	struct browser *b = &d->browser;
	int r = browser_wait_until(b, drive_is_download_over, b, clock_ms() + FETCH_MS);
	bool done = b->download.state == DOWNLOAD_DONE;

	if (r && r != -ETIMEDOUT)
		return r;
	b->download.state = r ? DOWNLOAD_SLOW : DOWNLOAD_NONE;
	if (!done)
		return ERR_REFUSED;
	if (snprintf(from, sizeof(from), "%s/.downloads/%s", d->cwd, b->download.guid) >=
		FILE_PATH_MAX)
		return ERR_REFUSED;
	return drive_rename_download(d, from, path);
}
