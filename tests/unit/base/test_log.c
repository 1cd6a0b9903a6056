/* The log: lines as they are, and nobody waits for its reader. */
#include "base/fd.h"
#include "base/log.h"
#include "tests/tap.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static ssize_t take(int fd, char *to, size_t room)
{
	ssize_t n = read(fd, to, room - 1);

	to[n > 0 ? n : 0] = '\0';
	return n;
}

int main(void)
{
	char text[4096];
	size_t all = 0;
	int ends[2], lines = 0;
	ssize_t n;

	ok(fd_pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0, "stderr is a pipe");
	log_set_name("here");
	log_warn("a\nb%c", 0x1b);
	take(ends[0], text, sizeof(text));
	is_str(text, "here: warning: a?b?\n", "a line, without control bytes");
	alarm(20);
	for (; lines < 20000; lines++)
		log_info("%0100d", lines);
	is_int(lines, 20000, "a reader that has stopped stops nobody");
	if (fd_set_nonblocking(ends[0]))
		return 1;
	while ((n = take(ends[0], text, sizeof(text))) > 0)
		all += (size_t)n;
	ok(all > 4096 && all % 107 == 0, "what is there is whole lines, %zu bytes", all);
	log_info("again");
	take(ends[0], text, sizeof(text));
	is_str(text, "here: again\n", "and when there is room it goes on");
	return done_testing();
}
