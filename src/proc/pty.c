#include "proc/pty.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCSIG
#define TIOCSIG _IOW('T', 0x36, int)
#endif
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/*
 * Opens the slave by an ioctl of the master, which needs no /dev/pts; else by its name.
 */
static int pty_open_slave(int master)
{
	char path[32];
	unsigned number;
	int fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (ioctl(master, TIOCGPTN, &number) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/dev/pts/%u", number);
	return fd_open(path, O_RDWR, 0);
}

/* The kernel's defaults; 0 disables a key. */
static const cc_t keys[NCCS] = {
	[VINTR] = 0x03,
	[VQUIT] = 0x1c,
	[VERASE] = 0x7f,
	[VKILL] = 0x15,
	[VEOF] = 0x04,
	[VMIN] = 1,
	[VSTART] = 0x11,
	[VSTOP] = 0x13,
	[VSUSP] = 0x1a,
	[VREPRINT] = 0x12,
	[VDISCARD] = 0x0f,
	[VWERASE] = 0x17,
	[VLNEXT] = 0x16,
};

void pty_reset_modes(int master)
{
	struct termios before, t;

	if (tcgetattr(master, &before) < 0)
		return;
	t = before;
	t.c_iflag = ICRNL | IXON | IUTF8;
	t.c_oflag = OPOST | ONLCR;
	t.c_lflag = ICANON | ISIG | IEXTEN | ECHOCTL | ECHOKE;
	memcpy(t.c_cc, keys, sizeof(t.c_cc));
	/* The modes rarely differ, and setting them takes every lock of the terminal. */
	if (t.c_iflag != before.c_iflag || t.c_oflag != before.c_oflag ||
		t.c_lflag != before.c_lflag ||
		memcmp(t.c_cc, before.c_cc, sizeof(t.c_cc)) != 0)
		tcsetattr(master, TCSANOW, &t);
}

int pty_resize(int master, uint16_t rows, uint16_t columns)
{
	struct winsize size = {.ws_row = rows, .ws_col = columns};

	return ioctl(master, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

void pty_set_echo(int master)
{
	struct termios t;

	if (tcgetattr(master, &t) < 0)
		return;
	t.c_lflag |= ECHO | ECHOE | ECHOK;
	tcsetattr(master, TCSANOW, &t);
}

bool pty_has_signals(int master)
{
	struct termios t;

	return tcgetattr(master, &t) == 0 && (t.c_lflag & ISIG);
}

int pty_key_signal(char key)
{
	return key == 'C' ? SIGINT : key == 'Z' ? SIGTSTP : SIGQUIT;
}

/*
 * Flushes at the slave. TCSAFLUSH at the master would wait for the output of a program
 * that prints without end, while the program waits for us to read; no signal ends that
 * wait in the kernel.
 */
static void pty_flush_input(int master)
{
	int slave = pty_open_slave(master);

	if (slave < 0)
		return;
	tcflush(slave, TCIFLUSH);
	fd_close(&slave);
}

int pty_raise(int master, char key)
{
	/* Flushes the input in transit, and the input in the terminal's own queue. */
	tcflush(master, TCOFLUSH);
	pty_flush_input(master);
	return ioctl(master, TIOCSIG, pty_key_signal(key)) < 0 ? -errno : 0;
}

bool pty_is_canonical(int master)
{
	struct termios t;

	return tcgetattr(master, &t) == 0 && (t.c_lflag & ICANON);
}

int pty_open(uint16_t rows, uint16_t columns, int *master, int *slave)
{
	struct winsize size = {.ws_row = rows, .ws_col = columns};
	int unlocked = 0;
	int m = fd_open("/dev/ptmx", O_RDWR | O_NONBLOCK, 0);
	int s;

	if (m < 0)
		return m;
	s = ioctl(m, TIOCSPTLCK, &unlocked) < 0 ? -errno : pty_open_slave(m);
	if (s < 0) {
		fd_close(&m);
		return s;
	}
	ioctl(m, TIOCSWINSZ, &size);
	pty_reset_modes(m);
	*master = m;
	*slave = s;
	return 0;
}

int pty_open_socket(int *ours, int *theirs)
{
	int pair[2];
	int r = fd_socketpair(SOCK_STREAM, pair);

	if (r < 0)
		return r;
	r = fd_set_blocking(pair[1]);
	if (r < 0) {
		fd_close(&pair[0]);
		fd_close(&pair[1]);
		return r;
	}
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

pid_t pty_foreground(int master)
{
	int group;

	return ioctl(master, TIOCGPGRP, &group) < 0 ? -errno : group;
}
