#include "base/fd.h"
#include "proc/pty.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int master = -1, slave = -1;

/* What can be read within ms, "" for nothing. */
static const char *got(int fd, int ms)
{
	static char text[256];
	struct pollfd w = {.fd = fd, .events = POLLIN};
	ssize_t n = -1;

	if (poll(&w, 1, ms) == 1)
		n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ok(false, "the terminal takes what is written");
}

static void check_open(void)
{
	struct winsize size = {0};

	is_int(pty_open(1000, 999, &master, &slave), 0, "a pty");
	ok(isatty(master) && isatty(slave), "both ends are terminals");
	ok(fcntl(master, F_GETFD) & FD_CLOEXEC, "the master is CLOEXEC");
	ok(fcntl(slave, F_GETFD) & FD_CLOEXEC, "the slave is CLOEXEC");
	ok(fcntl(master, F_GETFL) & O_NONBLOCK, "the master is NONBLOCK");
	ok(!(fcntl(slave, F_GETFL) & O_NONBLOCK), "the slave blocks");
	ioctl(slave, TIOCGWINSZ, &size);
	is_int(size.ws_row, 1000, "rows");
	is_int(size.ws_col, 999, "columns");
	ok(tcgetsid(slave) != getsid(0), "it has not become our controlling terminal");
}

static void check_echo(void)
{
	put(master, "typed\n");
	is_str(got(slave, 1000), "typed\n", "what is typed arrives");
	is_str(got(master, 0), "", "and is not echoed");
	put(slave, "a\nb");
	is_str(got(master, 1000), "a\r\nb", "what is printed comes back with CR LF");
	put(master, "\003x\n");
	is_str(got(slave, 1000), "x\n", "a key is no input");
	is_str(got(master, 0), "", "nor shown");
}

/* As "stty raw -echo" leaves it, and worse. */
static void spoil(void)
{
	struct termios t;

	tcgetattr(slave, &t);
	cfmakeraw(&t);
	t.c_iflag |= INLCR | IGNCR | ISTRIP | IGNBRK;
	t.c_lflag |= ECHO | ECHONL;
	for (int i = 0; i < NCCS; i++)
		t.c_cc[i] = 'x';
	tcsetattr(slave, TCSANOW, &t);
}

static void check_reset(void)
{
	struct termios t;

	ok(pty_has_signals(master), "keys raise signals");
	spoil();
	ok(!pty_has_signals(master), "not in raw mode");
	pty_reset_modes(master);
	ok(pty_has_signals(master), "they do again after a reset");
	tcgetattr(slave, &t);
	is_int(t.c_lflag & (ICANON | ISIG | IEXTEN), ICANON | ISIG | IEXTEN,
		"lines are lines");
	is_int(t.c_lflag & (ECHO | ECHOE | ECHOK | ECHONL), 0, "the echo is off again");
	is_int(t.c_cc[VINTR], 3, "C-c");
	is_int(t.c_cc[VQUIT], 034, "C-\\");
	is_int(t.c_cc[VSUSP], 032, "C-z");
	is_int(t.c_cc[VEOF], 4, "C-d");
	is_int(t.c_cc[VKILL], 025, "C-u");
	check_echo();
	put(master, "lost\025\xc3\xa9\n");
	is_str(got(slave, 1000), "\xc3\xa9\n",
		"C-u takes a line away, all eight bits pass");
}

/* A line may hold any byte that some key could be, after whatever stty did. */
static void check_letters(void)
{
	char all[128];
	size_t n = 0;

	spoil();
	pty_reset_modes(master);
	for (char c = ' '; c < 0x7f; c++)
		all[n++] = c;
	all[n++] = '\n';
	all[n] = '\0';
	put(master, all);
	is_str(got(slave, 1000), all, "no letter is a key after a reset");
}

static void check_foreground(void)
{
	ok(pty_foreground(master) <= 0, "a terminal without a session has no foreground");
	is_int(pty_foreground(-1), -EBADF, "what is no descriptor has none either");
}

/* Prints without end, in the foreground of the terminal. */
static void print_on(int fd)
{
	static char much[1 << 20];

	alarm(5);
	signal(SIGINT, SIG_DFL); /* ignored by what runs behind a shell */
	if (setsid() < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
		_exit(1);
	while (write(fd, much, sizeof(much)) > 0)
		;
	_exit(2);
}

static void check_raise(void)
{
	int ours = -1, theirs = -1, status = 0, r;
	struct pollfd w = {.events = POLLIN};
	pid_t pid;

	put(master, "unread\n");
	put(slave, "printed");
	r = pty_raise(master, 'C');
	if (r == -ENOSYS) {
		skip("a signal in place of a key", "the emulator has none");
		is_str(got(master, 1000), "printed", "output is not forgotten");
		return;
	}
	is_int(r, 0, "a signal in place of a key");
	is_str(got(slave, 0), "", "input that nobody has read is forgotten");
	is_str(got(master, 1000), "printed", "output is not");
	is_int(pty_open(24, 80, &ours, &theirs), 0, "another pty");
	pid = fork();
	if (pid == 0)
		print_on(theirs);
	w.fd = ours;
	is_int(poll(&w, 1, 5000), 1, "somebody prints more than is read");
	is_int(pty_raise(ours, 'C'), 0, "he does not keep the signal");
	is_int(waitpid(pid, &status, 0), pid, "and ends");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT, "by it");
	fd_close(&ours);
	fd_close(&theirs);
}

static void check_hang_up(void)
{
	struct pollfd w = {.fd = slave, .events = POLLIN};
	char c;

	fd_close(&master);
	is_int(poll(&w, 1, 1000), 1, "the end of the master is told");
	is_int(read(slave, &c, 1), 0, "as an end of input");
	ok(!pty_has_signals(-1), "no terminal has no signals");
	pty_reset_modes(-1);
	fd_close(&slave);
}

static void check_socket(void)
{
	int ours = -1, theirs = -1;
	char byte;

	is_int(pty_open_socket(&ours, &theirs), 0, "a socket instead of a pty");
	ok(fcntl(ours, F_GETFD) & FD_CLOEXEC, "our end is CLOEXEC");
	ok(fcntl(theirs, F_GETFD) & FD_CLOEXEC, "theirs is CLOEXEC");
	ok(fcntl(ours, F_GETFL) & O_NONBLOCK, "our end is NONBLOCK");
	ok(!(fcntl(theirs, F_GETFL) & O_NONBLOCK), "theirs blocks");
	put(ours, "typed\003\n");
	is_str(got(theirs, 1000), "typed\003\n", "what is typed arrives as it is");
	is_str(got(ours, 0), "", "and is not echoed");
	put(theirs, "a\nb");
	is_str(got(ours, 1000), "a\nb", "what is printed comes as it is");
	pty_reset_modes(ours);
	ok(!pty_has_signals(ours) && !pty_is_canonical(ours), "it has no modes");
	is_int(pty_foreground(ours), -ENOTTY, "and no foreground");
	fd_close(&theirs);
	is_int(read(ours, &byte, 1), 0, "its end is an end of file");
	fd_close(&ours);
}

static void check_failure(void)
{
	struct rlimit before, low;
	int m = 41, s = 42;

	getrlimit(RLIMIT_NOFILE, &before);
	low = before;
	low.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &low);
	is_int(pty_open(1, 1, &m, &s), -EMFILE, "no descriptor for the master");
	low.rlim_cur = 4;
	setrlimit(RLIMIT_NOFILE, &low);
	is_int(pty_open(1, 1, &m, &s), -EMFILE, "nor for the slave");
	low.rlim_cur = 5;
	setrlimit(RLIMIT_NOFILE, &low);
	is_int(pty_open_socket(&m, &s), 0, "two are enough for a socket");
	fd_close(&m);
	fd_close(&s);
	low.rlim_cur = 4;
	setrlimit(RLIMIT_NOFILE, &low);
	m = 41;
	s = 42;
	is_int(pty_open_socket(&m, &s), -EMFILE, "one is not");
	low.rlim_cur = 5;
	setrlimit(RLIMIT_NOFILE, &low);
	is_int(m * s, 41 * 42, "failures leave the results alone");
	is_int(pty_open(1, 1, &m, &s), 0, "and no descriptor behind");
	setrlimit(RLIMIT_NOFILE, &before);
	fd_close(&m);
	fd_close(&s);
}

int main(void)
{
	/* Whatever else is open here would count against the limits below. */
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	check_open();
	check_echo();
	check_reset();
	check_letters();
	check_foreground();
	check_raise();
	check_hang_up();
	check_socket();
	check_failure();
	return done_testing();
}
