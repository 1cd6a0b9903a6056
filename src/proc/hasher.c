#include "proc/hasher.h"

#include "base/fd.h"
#include "proc/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HASHER_PIECE = 65536, /* bytes read by the hashing process at once */
	HASHER_MS = 5000,     /* then the process counts as stopped: a lead of 9 GB */
};

/* --- In the hashing process: lengths of the file come at 0, the digest goes to 1 ---- */

/* 1 with *n, 0 at the end, -1. */
static int hasher_read_length(uint64_t *n)
{
	ssize_t got;

	do
		got = read(0, n, sizeof(*n));
	while (got < 0 && errno == EINTR);
	return got == sizeof(*n) ? 1 : got == 0 ? 0 : -1;
}

static int hasher_hash_file(struct hasher *h, uint64_t end)
{
	char piece[HASHER_PIECE];

	while (h->n < end) {
		uint64_t left = end - h->n;
		size_t most = left < sizeof(piece) ? (size_t)left : sizeof(piece);
		ssize_t got = pread(2, piece, most, (off_t)h->n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		sha256_update(&h->h, piece, (size_t)got);
		h->n += (uint64_t)got;
	}
	return 0;
}

static _Noreturn void hasher_run_child(struct hasher *h, int in, int out)
{
	uint8_t digest[SHA256_LEN];
	uint64_t end;
	int r = -1;

	if (dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(h->file, 2) == 2 &&
		fd_set_blocking(0) == 0 && fd_set_blocking(1) == 0) {
		spawn_close_from(3);
		while ((r = hasher_read_length(&end)) == 1)
			if (hasher_hash_file(h, end) < 0)
				_exit(1);
	}
	if (r)
		_exit(1);
	sha256_final(&h->h, digest);
	_exit(write(1, digest, sizeof(digest)) != sizeof(digest));
}

/* --- In the writing process -------------------------------------------------------- */

void hasher_begin(struct hasher *h, int fd)
{
	*h = (struct hasher){.file = fd, .to = -1, .from = -1};
	sha256_init(&h->h);
}

/* If no process can be started, this one goes on hashing. */
static void hasher_start_child(struct hasher *h)
{
	int in[2], out[2];
	pid_t pid;

	if (fd_pipe(in) < 0)
		return;
	if (fd_pipe(out) < 0) {
		fd_close(&in[0]);
		fd_close(&in[1]);
		return;
	}
	pid = fork();
	if (pid == 0)
		hasher_run_child(h, in[0], out[1]);
	fd_close(&in[0]);
	fd_close(&out[1]);
	if (pid < 0) {
		fd_close(&in[1]);
		fd_close(&out[0]);
		return;
	}
	h->pid = pid;
	h->to = in[1];
	h->from = out[0];
	h->sent_n = h->n;
}

/* A full pipe loses nothing: the next length includes this one. */
static void hasher_send_length(struct hasher *h)
{
	if (write(h->to, &h->n, sizeof(h->n)) == sizeof(h->n))
		h->sent_n = h->n;
}

void hasher_put(struct hasher *h, struct str piece)
{
	h->n += piece.n;
	if (h->pid) {
		if (h->n - h->sent_n >= HASHER_STEP)
			hasher_send_length(h);
		return;
	}
	sha256_update(&h->h, piece.p, piece.n);
	/* After a failed start, the next attempt follows much later. */
	if (h->n >= HASHER_FROM && h->n - h->sent_n >= HASHER_FROM) {
		h->sent_n = h->n;
		hasher_start_child(h);
	}
}

/* The other process ends by itself after the last length and the end of its input. */
static int hasher_recv_digest(struct hasher *h, uint8_t digest[SHA256_LEN])
{
	struct pollfd p = {.fd = h->from, .events = POLLIN};
	ssize_t n;
	int r;

	hasher_send_length(h);
	fd_close(&h->to);
	if (h->sent_n != h->n)
		return -ETIMEDOUT;
	do
		r = poll(&p, 1, HASHER_MS);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		return r ? -errno : -ETIMEDOUT;
	n = read(h->from, digest, SHA256_LEN);
	return n == SHA256_LEN ? 0 : n < 0 ? -errno : ERR_CLOSED;
}

int hasher_end(struct hasher *h, uint8_t digest[SHA256_LEN])
{
	int r = 0;

	if (h->pid)
		r = hasher_recv_digest(h, digest);
	else
		sha256_final(&h->h, digest);
	hasher_drop(h);
	return r;
}

void hasher_drop(struct hasher *h)
{
	if (!h->pid)
		return;
	/*
	 * The sandbox user may have stopped the process; waitpid would then never return.
	 */
	kill(h->pid, SIGKILL);
	fd_close(&h->to);
	fd_close(&h->from);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	h->pid = 0;
}
