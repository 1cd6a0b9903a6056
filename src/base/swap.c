#include "base/swap.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SWAP_TRIES = 16 };

/* A new file beside the target; O_EXCL makes guessing its name worthless. */
static int neighbour(int dir, char name[SWAP_NAME])
{
	uint64_t salt = clock_us();
	int fd = -EEXIST;

	for (unsigned i = 0; i < SWAP_TRIES && fd == -EEXIST; i++) {
		snprintf(name, SWAP_NAME, ".od-%d-%llx", (int)getpid(),
			(unsigned long long)(salt + i));
		fd = fd_openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	}
	return fd;
}

/* The owner first: chown takes the set-id bits away. */
static int dress(int fd, const struct swap_attr *attr)
{
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_uid != attr->uid || st.st_gid != attr->gid) &&
		fchown(fd, attr->uid, attr->gid) < 0)
		r = -errno;
	if (fchmod(fd, attr->mode) < 0 && !r)
		r = -errno;
	return r;
}

static int fill(int fd, const struct str *parts, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = fd_write_all(fd, parts[i].p, parts[i].n);
	return r;
}

int swap_begin(struct swap *s, int dir)
{
	struct swap made = {.dir = dir};

	made.fd = neighbour(dir, made.name);
	if (made.fd < 0)
		return made.fd;
	*s = made;
	return 0;
}

int swap_commit(
	struct swap *s, const char *name, const struct swap_attr *attr, int *attr_err)
{
	int dressed = dress(s->fd, attr);
	int fd = s->fd;

	if (dressed && !attr_err)
		return dressed;
	s->fd = -1;
	/* A network file system tells of a full disk no sooner than here. */
	if (close(fd) < 0 && errno != EINTR)
		return -errno;
	if (renameat(s->dir, s->name, s->dir, name) < 0)
		return -errno;
	s->name[0] = '\0';
	if (attr_err)
		*attr_err = dressed;
	return 0;
}

void swap_end(struct swap *s)
{
	if (s->name[0])
		unlinkat(s->dir, s->name, 0);
	s->name[0] = '\0';
	fd_close(&s->fd);
}

int swap_file(int dir, const char *name, const struct swap_attr *attr,
	const struct str *parts, size_t n, int *attr_err)
{
	struct swap s;
	int r = swap_begin(&s, dir);

	if (r)
		return r;
	r = fill(s.fd, parts, n);
	if (!r)
		r = swap_commit(&s, name, attr, attr_err);
	swap_end(&s);
	return r;
}
