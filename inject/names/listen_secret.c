#include "inject/names/listen_secret.h"

#include "base/fd.h"
#include "inject/console/out.h"
#include "inject/names/listen_token.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void listen_file_warn(const char *origin, const char *path, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & S_IRWXO)
		out_note("warning: %s %s: other users of this machine can access it "
			 "(mode %03o); run chmod 600 on it",
			origin, path, st.st_mode & 07777U);
}

int listen_file_read(const char *origin, const char *path, struct buf *text)
{
	int fd = fd_open(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? fd : 1;

	while (n > 0) {
		/*
		 * Allocates all space at once: a buffer that grows would leave copies of
		 * a secret.
		 */
		char *room = buf_reserve(text, text->max - text->n);

		n = room ? read(fd, room, text->max - text->n) : text->err;
		if (n > 0)
			buf_commit(text, (size_t)n);
		else if (room && n < 0)
			n = -errno;
		if (n > 0 && text->n == text->max)
			n = ERR_LIMIT;
	}
	if (n >= 0 && text->secret)
		listen_file_warn(origin, path, fd);
	fd_close(&fd);
	return n < 0 ? out_fail("give a file that this user can read", "%s %s: %s",
			       origin, path, err_text((int)n))
		     : 0;
}

int listen_secret_load(const char *origin, const char *path, struct buf *secret)
{
	int r = listen_file_read(origin, path, secret);
	struct str trimmed = str_trim(buf_view(secret), " \t\r\n");

	if (!r && trimmed.n < LISTEN_SECRET_MIN)
		return out_fail_usage("create a secret: openssl rand -hex 32 >FILE",
			"%s %s: the secret has %zu bytes, but needs at least %d", origin,
			path, trimmed.n, LISTEN_SECRET_MIN);
	return r;
}
