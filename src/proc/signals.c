#include "proc/signals.h"

#include "base/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool signals_ignored(pid_t pid, int signo)
{
	static const char field[] = "\nSigIgn:";
	char path[32], text[4096];
	const char *at = NULL;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = fd_open(path, O_RDONLY, 0);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n > 0) {
		text[n] = '\0';
		at = strstr(text, field);
	}
	return at && strtoull(at + strlen(field), NULL, 16) >> (signo - 1) & 1;
}
