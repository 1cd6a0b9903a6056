#include "inject/image/cache.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, TURN_MS = 20 };

/* Makes the folder and opens it; only this user may have access to it. */
static int cache_open_folder(char *path, size_t room)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct stat st;
	int fd, n;

	if (cache && *cache == '/')
		n = snprintf(path, room, "%s", cache);
	else if (home && *home == '/')
		n = snprintf(path, room, "%s/.cache", home);
	else
		return -ENOENT;
	if (n < 0 || (size_t)n + sizeof("/od-runtime") > room)
		return -ENAMETOOLONG;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	memcpy(path + n, "/od-runtime", sizeof("/od-runtime"));
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = fd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	fd_close(&fd);
	return -EPERM;
}

/* Whether the file holds p's bytes: 0, or negative if it has to be made again. */
static int cache_check_file(int dir, const char *name, const struct program *p)
{
	static char chunk[CHUNK];
	struct str want = buf_view(&p->bytes);
	struct stat st;
	ssize_t n = 0;
	int fd = fd_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 07777) != 0555 ||
		st.st_uid != geteuid() || (uint64_t)st.st_size != want.n)
		n = -1;
	while (n >= 0 && want.n) {
		n = read(fd, chunk, sizeof(chunk));
		if (n <= 0 || (size_t)n > want.n || memcmp(chunk, want.p, (size_t)n) != 0)
			n = -1;
		else
			want = str_skip(want, (size_t)n);
	}
	fd_close(&fd);
	return n < 0 ? -EIO : 0;
}

/* Makes the file atomically: another od-runtime may be about to use it. */
static int cache_write_file(int dir, const char *name, const struct program *p)
{
	char temp[] = ".0123456789abcdef";
	uint8_t random[8];
	int fd, r = random_bytes(random, sizeof(random));

	if (r)
		return r;
	hex_encode(random, sizeof(random), temp + 1);
	fd = fd_openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0500);
	if (fd < 0)
		return fd;
	r = fd_write_all(fd, p->bytes.p, p->bytes.n);
	if (!r && fchmod(fd, 0555) < 0)
		r = -errno;
	fd_close(&fd);
	if (!r && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (r)
		unlinkat(dir, temp, 0);
	return r;
}

int cache_put_file(const struct program *p, const char *name, char *path, size_t room)
{
	struct statvfs fs;
	int dir = cache_open_folder(path, room);
	size_t n = dir < 0 ? 0 : strlen(path);
	int r = dir < 0 ? dir : 0, m;

	if (!r && (fstatvfs(dir, &fs) < 0 || (fs.f_flag & ST_NOEXEC)))
		r = -EACCES;
	if (!r) {
		m = snprintf(
			path + n, room - n, "/%s-%.32s-%s", name, p->sha256, p->arch);
		r = m < 0 || (size_t)m >= room - n ? -ENAMETOOLONG : 0;
	}
	if (!r && cache_check_file(dir, path + n + 1, p) < 0)
		r = cache_write_file(dir, path + n + 1, p);
	fd_close(&dir);
	return r;
}

int cache_lock(struct str name, int *fd)
{
	char path[FILE_PATH_MAX];
	uint8_t hash[SHA256_LEN];
	struct flock one = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int dir = cache_open_folder(path, sizeof(path)), waited = 0, got, r;

	*fd = -1;
	if (dir < 0)
		return 0;
	got = fd_openat(dir, "turns", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	fd_close(&dir);
	if (got < 0)
		return 0;
	/*
	 * Locks a byte of an empty file, chosen by the hash of the name: no files
	 * accumulate.
	 */
	sha256_compute(name, hash);
	for (size_t i = 0; i < 6; i++)
		one.l_start = one.l_start << 8 | hash[i];
	while (fcntl(got, F_OFD_SETLK, &one) < 0 &&
		(errno == EAGAIN || errno == EACCES)) {
		if (!waited)
			out_step("waiting for another od-runtime that builds the same "
				 "image");
		waited = 1;
		r = stop_wait(-1, 0, clock_ms() + TURN_MS, false);
		if (r < 0) {
			fd_close(&got);
			return r;
		}
	}
	out_step_end();
	*fd = got;
	return waited;
}
