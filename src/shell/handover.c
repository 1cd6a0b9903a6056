#include "shell/handover.h"

#include "base/fd.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int handover_write_in(const char *dir, struct str content, const char *end,
	const struct spawn_user *owner, char path[HANDOVER_PATH])
{
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];
	int r = random_bytes(random, sizeof(random));
	int fd;

	if (r < 0)
		return r;
	hex_encode(random, sizeof(random), hex);
	snprintf(path, HANDOVER_PATH, "%s/.od-%s", dir, hex);
	fd = fd_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	if (owner && owner->uid != (uid_t)-1 && fchown(fd, owner->uid, owner->gid) < 0)
		r = -errno;
	if (r == 0)
		r = fd_write_all(fd, content.p, content.n);
	if (r == 0)
		r = fd_write_all(fd, end, strlen(end));
	if (r < 0)
		unlink(path);
	fd_close(&fd);
	return r;
}

int handover_write(struct str content, const char *end, const struct spawn_user *owner,
	char path[HANDOVER_PATH])
{
	static const char *const dirs[] = {"/dev/shm", "/tmp", "/run", "/var/tmp"};
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		r = handover_write_in(dirs[i], content, end, owner, path);
		if (r == 0)
			return 0;
	}
	path[0] = '\0';
	return r;
}
