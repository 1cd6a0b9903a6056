/*
 * Functions here make every file descriptor of the program: CLOEXEC always, and NONBLOCK
 * for all that can block. -1 is the only "no fd"; 0 is a valid fd.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/str.h"

#include <sys/types.h>

/* Functions that make an fd return it or -errno. */
int fd_open(const char *path, int flags, mode_t mode) MUST_USE;
int fd_openat(int dir, const char *path, int flags, mode_t mode) MUST_USE;
/*
 * Opens path below dir, without following a symlink in any part of it. -ENOSYS if the
 * kernel, or a seccomp filter, does not support openat2.
 */
int fd_open_beneath(int dir, const char *path, int flags) MUST_USE;
int fd_pipe(int pair[2]) MUST_USE;
/* Sets the capacity of a pipe to n bytes, if the system allows so much. */
void fd_widen_pipe(int fd, int n);
/* A connected pair of AF_UNIX sockets; type is SOCK_STREAM or SOCK_SEQPACKET. */
int fd_socketpair(int type, int pair[2]) MUST_USE;
/* A pidfd: readable once the process has ended. -ESRCH; -ENOSYS before Linux 5.3. */
int fd_open_pidfd(pid_t pid) MUST_USE;
/* An instance of inotify. */
int fd_inotify(void) MUST_USE;
/* A copy with a number of at least min. */
int fd_dup(int fd, int min) MUST_USE;
/*
 * Anonymous memory of n zero bytes, or with n 0 a file that may grow: memfd, or an
 * unlinked file in /dev/shm or /tmp where the kernel has no memfd.
 */
int fd_create_memory(const char *name, size_t n) MUST_USE;

/*
 * A TCP listener on the IPv4 or IPv6 address (numeric text), with SO_REUSEADDR. A client
 * that vanishes without closing its connection is detected a minute later.
 */
int fd_listen_tcp(const char *address, uint16_t port, int backlog) MUST_USE;
/* A stream to a unix socket. Never waits: -EAGAIN when its queue is full. */
int fd_connect_unix(const char *path) MUST_USE;
/*
 * A TCP stream to a numeric address, TCP_NODELAY set. Never waits: after POLLOUT,
 * fd_connect_result gives 0 or the -errno of the failed connection.
 */
int fd_connect_tcp(const char *address, uint16_t port) MUST_USE;
int fd_connect_result(int fd) MUST_USE;
/* A UDP socket connected to one numeric address. */
int fd_connect_udp(const char *address, uint16_t port) MUST_USE;
/* The next connection, TCP_NODELAY set where it applies; -EAGAIN for none. */
int fd_accept(int listener) MUST_USE;

/*
 * Opens /dev/null for each closed descriptor of 0, 1 and 2, so that no descriptor of our
 * own is taken for them. To be called first in a program.
 */
void fd_open_standard(void);

/* Clears NONBLOCK, for an fd that a child shall inherit. */
int fd_set_blocking(int fd) MUST_USE;
/* Sets NONBLOCK on an fd that was made elsewhere. */
int fd_set_nonblocking(int fd) MUST_USE;

/* Closes *fd unless it is -1, once (close is never retried), and sets it to -1. */
void fd_close(int *fd);

/*
 * The error of written bytes that close would report: network file systems and quotas
 * detect a full disk no sooner. 0 or -errno; fd stays open.
 */
int fd_flush(int fd) MUST_USE;
/* Waits until the disk has the names in the folder path below dir. 0 or -errno. */
int fd_sync_folder(int dir, const char *path) MUST_USE;

/* Waits for events of fd until deadline, in monotonic ms: 1; 0: the deadline; -errno. */
int fd_wait(int fd, short events, uint64_t deadline) MUST_USE;

/* All n bytes, waiting as long as it takes; for blocking fds and files. */
int fd_write_all(int fd, const void *p, size_t n) MUST_USE;

/* Up to n bytes of a file, fewer only at its end; for blocking fds. Or -errno. */
ssize_t fd_read_full(int fd, void *p, size_t n) MUST_USE;
/* As fd_read_full, starting at offset at. */
ssize_t fd_read_at(int fd, uint64_t at, void *p, size_t n) MUST_USE;
/* Reads exactly n bytes at offset at: 0; ERR_CLOSED when there are fewer; -errno. */
int fd_read_all_at(int fd, uint64_t at, void *p, size_t n) MUST_USE;

/*
 * A record with up to one fd attached over a SOCK_SEQPACKET socket. pass is -1 for none.
 * fd_recv_record returns the record's length, 0 at the end of the stream, or -errno; *fd
 * is -1 or an fd that the caller now owns.
 */
int fd_send_record(int sock, const void *p, size_t n, int pass) MUST_USE;
ssize_t fd_recv_record(int sock, void *p, size_t n, int *fd) MUST_USE;

#endif
