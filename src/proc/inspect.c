#include "proc/inspect.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The beginning of /proc/PID/NAME; "" where it cannot be read. */
static void inspect_read_file(pid_t pid, const char *name, char *text, size_t room)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = fd_open(path, O_RDONLY, 0);
	if (fd >= 0)
		n = read(fd, text, room - 1);
	fd_close(&fd);
	text[n > 0 ? n : 0] = '\0';
}

/* A field of /proc/PID/status, 0 where there is none. */
static unsigned long long inspect_read_status(pid_t pid, const char *field, int base)
{
	char text[4096];
	const char *at;

	inspect_read_file(pid, "status", text, sizeof(text));
	at = strstr(text, field);
	return at ? strtoull(at + strlen(field), NULL, base) : 0;
}

bool inspect_ignores_signal(pid_t pid, int signo)
{
	return inspect_read_status(pid, "\nSigIgn:", 16) >> (signo - 1) & 1;
}

pid_t inspect_find_stderr(dev_t dev, ino_t ino)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		char path[32 + sizeof(e->d_name)];
		struct stat st;
		uint64_t pid;

		if (str_u64(str_c(e->d_name), INT32_MAX, &pid) < 0 ||
			(pid_t)pid == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fd/2", e->d_name);
		if (stat(path, &st) == 0 && st.st_dev == dev && st.st_ino == ino)
			found = (pid_t)pid;
	}
	if (d)
		closedir(d);
	return found;
}

static bool inspect_executes_file(pid_t pid, const char *program)
{
	struct stat a, b;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat(path, &a) == 0 && stat(program, &b) == 0 && a.st_dev == b.st_dev &&
		a.st_ino == b.st_ino;
}

/* "NUMBER ARGUMENT... STACK COUNTER", or a word if the process does not sleep. */
static bool inspect_is_endless_wait(const char *call)
{
	enum { NUMBER, ADDRESS, OPERATION, VALUE, TIMEOUT, FIELDS };
	unsigned long long v[FIELDS], command;

	for (size_t i = 0; i < FIELDS; i++) {
		char *end;

		v[i] = strtoull(call, &end, 0);
		if (end == call)
			return false;
		call = end;
	}
	command = v[OPERATION] & (unsigned)FUTEX_CMD_MASK;
	/*
	 * A futex in shared memory is not private: another process may wake the sleeper.
	 */
	return v[NUMBER] == SYS_futex && v[OPERATION] & FUTEX_PRIVATE_FLAG &&
		(command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) &&
		v[TIMEOUT] == 0;
}

bool inspect_is_deadlocked(pid_t pid, const char *program, char where[INSPECT_TEXT_MAX])
{
	inspect_read_file(pid, "syscall", where, INSPECT_TEXT_MAX);
	return inspect_is_endless_wait(where) &&
		inspect_read_status(pid, "\nThreads:", 10) == 1 &&
		inspect_executes_file(pid, program);
}
