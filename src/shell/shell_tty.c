#include "shell/shell_tty.h"

#include "base/fd.h"
#include "limits.h"
#include "proc/pty.h"
#include "proc/tree.h"
#include "shell/script.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void shell_tty_init(struct shell_tty *t, struct loop *l, io_fn *ready)
{
	*t = (struct shell_tty){.loop = l, .ready = ready, .fd = -1, .io.fd = -1};
	buf_init(&t->typed, SHELL_INPUT_MAX);
}

/*
 * gVisor's /dev/tty fails for all processes. Linux reports ENXIO to this process, which
 * has no terminal.
 */
static bool shell_tty_has_dev_tty(void)
{
	int fd = fd_open("/dev/tty", O_RDONLY | O_NOCTTY, 0);
	bool has = fd != -EIO && fd != -ENOENT;

	fd_close(&fd);
	return has;
}

int shell_tty_open(struct shell_tty *t, int *other, const char **why)
{
	int r = pty_open(SHELL_ROWS, SHELL_COLUMNS, &t->fd, other);

	*why = "no pseudo-terminal can be opened";
	/* A shortage is temporary, so the session must not go on without a terminal. */
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		return r;
	t->no_pty = r;
	t->poor = !shell_tty_has_dev_tty();
	if (r == 0)
		return 0;
	*why = "neither a pseudo-terminal (/dev/ptmx) nor a socket in its place can "
	       "be created";
	return pty_open_socket(&t->fd, other);
}

int shell_tty_watch(struct shell_tty *t)
{
	if (t->io.fd >= 0)
		return 0;
	return loop_add(t->loop, &t->io, t->fd, EPOLLIN, t->ready);
}

void shell_tty_close(struct shell_tty *t)
{
	loop_remove(t->loop, &t->io);
	fd_close(&t->fd);
	buf_free(&t->typed);
}

bool shell_tty_is_reachable(const struct shell_tty *t)
{
	return !t->no_pty && !t->poor;
}

bool shell_tty_is_raw(const struct shell_tty *t)
{
	return t->fd >= 0 && !t->no_pty && !pty_is_canonical(t->fd);
}

bool shell_tty_has_signal(const struct shell_tty *t, char key)
{
	return strchr("CZ\\", key) && pty_has_signals(t->fd);
}

bool shell_tty_needs_signal(const struct shell_tty *t, char key)
{
	return t->no_pty ||
		(shell_tty_has_signal(t, key) && pty_foreground(t->fd) == -ENOTTY);
}

pid_t shell_tty_get_foreground(const struct shell_tty *t, pid_t pid)
{
	pid_t group = pty_foreground(t->fd);

	if (group != -ENOTTY || t->no_pty || pid <= 0)
		return group;
	return tree_guess_foreground(pid);
}

bool shell_tty_is_foreground(const struct shell_tty *t, pid_t pid)
{
	if (!t->no_pty)
		return shell_tty_get_foreground(t, pid) == pid;
	return tree_signal(pid, 0) == 0;
}

int shell_tty_flush(struct shell_tty *t, bool waits)
{
	while (t->typed.n && !waits) {
		ssize_t n = write(t->fd, t->typed.p, t->typed.n);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			buf_consume(&t->typed, (size_t)n);
	}
	loop_set_events(
		t->loop, &t->io, t->typed.n && !waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
	if (t->typed.n == 0)
		buf_free(&t->typed);
	return 0;
}

/* A terminal in canonical mode cuts a longer line without an error. */
static bool shell_tty_cuts_line(struct str bytes)
{
	while (bytes.n)
		if (str_cut(&bytes, '\n').n > TTY_LINE_MAX)
			return true;
	return false;
}

int shell_tty_queue(struct shell_tty *t, struct str bytes)
{
	if (t->fd < 0)
		return -EIO;
	if (pty_is_canonical(t->fd) && shell_tty_cuts_line(bytes))
		return -EMSGSIZE;
	if (bytes.n > SHELL_INPUT_MAX - t->typed.n)
		return ERR_LIMIT;
	buf_str(&t->typed, bytes);
	return t->typed.err;
}

void shell_tty_drop_input(struct shell_tty *t)
{
	buf_free(&t->typed);
}

/* The kernel takes 2,048 bytes at a time, and a signal may come in between. */
int shell_tty_type_line(struct shell_tty *t, struct str line)
{
	/* Only a real terminal handles the kill key at the start of the line. */
	if (!shell_tty_is_reachable(t) && str_starts(line, STR(SCRIPT_KILL_LINE)))
		line = str_skip(line, strlen(SCRIPT_KILL_LINE));
	while (line.n) {
		ssize_t n = write(t->fd, line.p, line.n);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			line = str_skip(line, (size_t)n);
	}
	return 0;
}
