/* Processes of one session (as of setsid), found in /proc. */
#ifndef PROC_SESSION_H
#define PROC_SESSION_H

#include <sys/types.h>

/*
 * Sends signo to the process group and to every process of the session that
 * leader has made. Those that fork meanwhile are looked for again, a few times;
 * those that have made a session of their own are not found. Without /proc only
 * the group is reached.
 */
void session_kill(pid_t leader, int signo);

#endif
