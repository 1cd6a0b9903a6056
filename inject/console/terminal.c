#include "inject/console/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_attached(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

int terminal_set_raw(struct terminal *t)
{
	struct termios raw;

	*t = (struct terminal){0};
	if (tcgetattr(STDIN_FILENO, &t->saved) < 0)
		return -errno;
	raw = t->saved;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return -errno;
	t->raw = true;
	return 0;
}

/* Does not wait for pending output: a terminal that hangs would block us here. */
void terminal_restore(struct terminal *t)
{
	if (t->raw && tcsetattr(STDIN_FILENO, TCSANOW, &t->saved) < 0)
		return;
	t->raw = false;
}

void terminal_get_size(unsigned *rows, unsigned *columns)
{
	struct winsize w = {0};
	int r = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);

	*rows = r < 0 || !w.ws_row ? 24 : w.ws_row;
	*columns = r < 0 || !w.ws_col ? 80 : w.ws_col;
}
