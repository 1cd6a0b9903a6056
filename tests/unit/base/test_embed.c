/* Files in the program are what they are in the tree. */
#include "base/embed.h"

#include "base/fd.h"
#include "kernel/driver.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	static char text[1 << 17], path[4096];
	const char *source = getenv("OD_SOURCE");
	struct embed bad = {(const unsigned char *)"\x1f\x8b\x08zzzzzzzz\x03\0\0",
		&(const uint32_t){15}, {NULL, 0}};
	struct str got = driver_text();
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/src/kernel/driver.py", source ? source : ".");
	fd = fd_open(path, O_RDONLY, 0);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	fd_close(&fd);
	if (n <= 0)
		skip("the text of the driver", "the source is not here");
	else
		is_mem(got.p, got.n, text, (size_t)n, "the text of the driver");
	is_int(got.p[got.n], 0, "a NUL behind it");
	ok(driver_text().p == got.p, "it is unpacked once");
	is_int(embed_text(&bad).n, 0, "what cannot be unpacked is empty");
	return done_testing();
}
