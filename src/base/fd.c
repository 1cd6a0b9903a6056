#include "base/fd.h"

#include "base/clock.h"
#include "base/str.h"
#include "limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int fd_check_result(int r)
{
	return r < 0 ? -errno : r;
}

int fd_open(const char *path, int flags, mode_t mode)
{
	return fd_openat(AT_FDCWD, path, flags, mode);
}

int fd_openat(int dir, const char *path, int flags, mode_t mode)
{
	int fd;

	do
		fd = openat(dir, path, flags | O_CLOEXEC | O_NOCTTY, mode);
	while (fd < 0 && errno == EINTR);
	return fd_check_result(fd);
}

int fd_open_beneath(int dir, const char *path, int flags)
{
#ifdef SYS_openat2
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOCTTY),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	do
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	/* An old seccomp filter answers EPERM where it means ENOSYS. */
	return fd < 0 && errno == EPERM ? -ENOSYS : fd_check_result(fd);
#else
	(void)dir, (void)path, (void)flags;
	return -ENOSYS;
#endif
}

int fd_pipe(int pair[2])
{
	return fd_check_result(pipe2(pair, O_CLOEXEC | O_NONBLOCK));
}

void fd_widen_pipe(int fd, int n)
{
	fcntl(fd, F_SETPIPE_SZ, n);
}

int fd_socketpair(int type, int pair[2])
{
	return fd_check_result(
		socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
}

int fd_inotify(void)
{
	return fd_check_result(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
}

int fd_dup(int fd, int min)
{
	return fd_check_result(fcntl(fd, F_DUPFD_CLOEXEC, min));
}

/* For kernels and filters without memfd: a file without a name. */
static int fd_open_unlinked(void)
{
	static const char *const dirs[] = {"/dev/shm", "/tmp", "/var/tmp", "/run"};
	char path[64];
	int fd = -ENOENT;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		snprintf(path, sizeof(path), "%s/.od-%d", dirs[i], (int)getpid());
		fd = fd_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd >= 0) {
			unlink(path);
			return fd;
		}
	}
	return fd;
}

int fd_create_memory(const char *name, size_t n)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	/* An old seccomp filter answers EPERM where it means ENOSYS. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = fd_open_unlinked();
	else if (fd < 0)
		fd = -errno;
	if (fd < 0)
		return fd;
	if (n == 0)
		return fd;
	if (ftruncate(fd, (off_t)n) == 0) {
		/*
		 * A process that finds the file in /proc must not truncate it while we
		 * map it.
		 */
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
		return fd;
	}
	err = -errno;
	fd_close(&fd);
	return err;
}

struct address {
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un un;
	};
	socklen_t n;
};

static int fd_parse_address(struct address *a, const char *text, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		a->n = sizeof(a->v4);
		return 0;
	}
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons(port);
		a->n = sizeof(a->v6);
		return 0;
	}
	return -EINVAL;
}

static int fd_make_socket(int family, int type)
{
	return fd_check_result(socket(family, type | SOCK_CLOEXEC, 0));
}

/*
 * Keepalive detects a client that vanishes while it waits for an answer. Accepted sockets
 * inherit the options. A failure to set them is ignored.
 */
static void fd_set_keepalive(int listener)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, PEER_IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, PEER_ASK_S},
		{IPPROTO_TCP, TCP_KEEPCNT, PEER_ASKS},
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		setsockopt(listener, options[i].level, options[i].name, &options[i].value,
			sizeof(options[i].value));
}

int fd_listen_tcp(const char *address, uint16_t port, int backlog)
{
	struct address a;
	int on = 1;
	int r = fd_parse_address(&a, address, port);
	int fd;

	if (r)
		return r;
	fd = fd_make_socket(a.sa.sa_family, SOCK_STREAM);
	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	fd_set_keepalive(fd);
	if (bind(fd, &a.sa, a.n) == 0 && listen(fd, backlog) == 0)
		r = fd_set_nonblocking(fd);
	else
		r = -errno;
	if (r)
		fd_close(&fd);
	return r ? r : fd;
}

static int fd_connect_address(const struct address *a, int type)
{
	int fd = fd_make_socket(a->sa.sa_family, type);
	int r;

	if (fd < 0)
		return fd;
	r = fd_set_nonblocking(fd);
	if (!r && connect(fd, &a->sa, a->n) < 0 && errno != EINPROGRESS)
		r = -errno;
	if (r)
		fd_close(&fd);
	return r ? r : fd;
}

int fd_connect_result(int fd)
{
	int err = 0;
	socklen_t n = sizeof(err);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0)
		return -errno;
	return -err;
}

int fd_connect_unix(const char *path)
{
	struct address a = {.un.sun_family = AF_UNIX, .n = sizeof(a.un)};
	size_t n = strlen(path);

	if (n >= sizeof(a.un.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.un.sun_path, path, n + 1);
	return fd_connect_address(&a, SOCK_STREAM);
}

int fd_connect_tcp(const char *address, uint16_t port)
{
	struct address a;
	int r = fd_parse_address(&a, address, port), on = 1;

	if (!r)
		r = fd_connect_address(&a, SOCK_STREAM);
	if (r >= 0)
		setsockopt(r, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return r;
}

int fd_connect_udp(const char *address, uint16_t port)
{
	struct address a;
	int r = fd_parse_address(&a, address, port);

	return r ? r : fd_connect_address(&a, SOCK_DGRAM);
}

int fd_accept(int listener)
{
	int on = 1;
	int fd;

	do
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		return -errno;
	/* On a socket that is not TCP the call fails without effect. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

void fd_open_standard(void)
{
	int fd;

	do
		fd = fd_open("/dev/null", O_RDWR, 0);
	while (fd >= 0 && fd <= STDERR_FILENO);
	fd_close(&fd);
}

static int fd_update_nonblock(int fd, int on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int fd_set_blocking(int fd)
{
	return fd_update_nonblock(fd, 0);
}

int fd_set_nonblocking(int fd)
{
	return fd_update_nonblock(fd, 1);
}

void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int fd_flush(int fd)
{
	int copy = fd_dup(fd, 0);

	if (copy < 0)
		return copy;
	return close(copy) < 0 && errno != EINTR ? -errno : 0;
}

int fd_sync_folder(int dir, const char *path)
{
	int fd = fd_openat(dir, path, O_RDONLY | O_DIRECTORY, 0);
	int r = fd < 0 ? fd : fsync(fd) < 0 ? -errno : 0;

	fd_close(&fd);
	return r;
}

int fd_open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
	return fd_check_result((int)syscall(SYS_pidfd_open, pid, 0));
#else
	(void)pid;
	return -ENOSYS;
#endif
}

int fd_wait(int fd, short events, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = events};
	int r;

	do {
		uint64_t now = clock_ms(), left = now < deadline ? deadline - now : 0;

		r = poll(&p, 1, left < INT_MAX ? (int)left : INT_MAX);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

int fd_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t put = write(fd, at, n);

		if (put >= 0) {
			at += put;
			n -= (size_t)put;
		} else if (errno == EAGAIN) {
			struct pollfd w = {.fd = fd, .events = POLLOUT};

			poll(&w, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

ssize_t fd_read_full(int fd, void *p, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = read(fd, (char *)p + got, n - got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

ssize_t fd_read_at(int fd, uint64_t at, void *p, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = pread(fd, (char *)p + got, n - got, (off_t)(at + got));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

int fd_read_all_at(int fd, uint64_t at, void *p, size_t n)
{
	ssize_t got = fd_read_at(fd, at, p, n);

	if (got < 0)
		return (int)got;
	return (size_t)got == n ? 0 : ERR_CLOSED;
}

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int fd_send_record(int sock, const void *p, size_t n, int pass)
{
	struct iovec part = {.iov_base = (void *)(uintptr_t)p, .iov_len = n};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	union control c;
	ssize_t put;

	if (pass >= 0) {
		memset(&c, 0, sizeof(c));
		c.head.cmsg_level = SOL_SOCKET;
		c.head.cmsg_type = SCM_RIGHTS;
		c.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&c.head), &pass, sizeof(int));
		m.msg_control = &c;
		m.msg_controllen = sizeof(c.room);
	}
	do
		put = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return -errno;
	return (size_t)put == n ? 0 : -EMSGSIZE;
}

ssize_t fd_recv_record(int sock, void *p, size_t n, int *fd)
{
	struct iovec part = {.iov_base = p, .iov_len = n};
	union control c;
	struct msghdr m = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &c,
		.msg_controllen = sizeof(c.room),
	};
	struct cmsghdr *h;
	ssize_t got;

	do
		got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	*fd = -1;
	h = CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(h), sizeof(int));
	return got;
}
