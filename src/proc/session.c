#include "proc/session.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 8, STAT_ROOM = 512 };

static pid_t number(struct str text)
{
	uint64_t pid;

	return str_u64(text, INT32_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

/* The session of a process, from "PID (NAME) STATE PPID PGRP SESSION ..."; or 0. */
static pid_t session_of(const char *pid)
{
	char path[64], text[STAT_ROOM];
	struct str rest;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = fd_open(path, O_RDONLY, 0);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	fd_close(&fd);
	if (n <= 0)
		return 0;
	/* The name may hold anything, parentheses too. */
	rest = str_make(text, (size_t)n);
	while (rest.n && rest.p[rest.n - 1] != ')')
		rest.n--;
	rest = str_skip(str_make(text, (size_t)n), rest.n + 1);
	for (int field = 0; field < 3; field++)
		str_cut(&rest, ' ');
	return number(str_cut(&rest, ' '));
}

/* How many processes of the session were there. */
static size_t one_round(pid_t leader, int signo)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t found = 0;

	while (d && (e = readdir(d))) {
		pid_t pid = number(str_c(e->d_name));

		if (pid <= 0 || session_of(e->d_name) != leader)
			continue;
		if (kill(pid, signo) == 0)
			found++;
	}
	if (d)
		closedir(d);
	return found;
}

void session_kill(pid_t leader, int signo)
{
	size_t before = 0;

	kill(-leader, signo);
	for (int i = 0; i < ROUNDS; i++) {
		size_t found = one_round(leader, signo);

		/* The dead are listed until they are reaped; only new ones matter. */
		if (found <= before)
			break;
		before = found;
	}
}
