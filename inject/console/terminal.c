#include "inject/console/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_there(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

int terminal_raw(struct terminal *t)
{
	struct termios raw;

	*t = (struct terminal){0};
	if (tcgetattr(STDIN_FILENO, &t->before) < 0)
		return -errno;
	raw = t->before;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return -errno;
	t->raw = true;
	return 0;
}

/* Does not wait for pending output: a terminal that hangs would block us here. */
void terminal_restore(struct terminal *t)
{
	if (t->raw && tcsetattr(STDIN_FILENO, TCSANOW, &t->before) < 0)
		return;
	t->raw = false;
}

void terminal_size(unsigned *rows, unsigned *columns)
{
	struct winsize w = {0};
	int r = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);

	*rows = r < 0 || !w.ws_row ? 24 : w.ws_row;
	*columns = r < 0 || !w.ws_col ? 80 : w.ws_col;
}
