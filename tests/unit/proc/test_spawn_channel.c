/* What a child may be given beside its standard descriptors, and how it is held. */
#include "base/buf.h"
#include "base/fd.h"
#include "proc/spawn.h"
#include "tests/support/spawn_run.h"
#include "tests/tap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptor 3 is the other end of a channel, or closed. */
static void check_channel(void)
{
	static const char script[] =
		"if read x <&3; then echo got $x >&3; else echo none; fi; "
		"ls /proc/self/fd | tr '\\n' ' '";
	static const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct spawn s = program(argv);
	struct spawn_report e;
	int pair[2], pipe[2];
	char answer[16] = "";
	pid_t pid;

	is_int(fd_socketpair(SOCK_STREAM, pair), 0, "a pair");
	is_int(fd_pipe(pipe), 0, "a pipe");
	s.channel = pair[1];
	s.fds[1] = pipe[1];
	is_int(start(&s, &pid, &e), 0, "a child with a channel");
	fd_close(&pair[1]);
	fd_close(&pipe[1]);
	is_int(fd_write_all(pair[0], "hi\n", 3), 0, "a line for it");
	is_int(end_of(pid), 0, "it ends");
	is_int(read(pair[0], answer, sizeof(answer) - 1), 7, "and has answered");
	is_str(answer, "got hi\n", "through the channel");
	read_all(pipe[0]);
	is_view(buf_view(&out), "0 1 2 3 4 ", "no other descriptor (the last is of ls)");
	fd_close(&pair[0]);
	fd_close(&pipe[0]);
	is_int(fd_pipe(pipe), 0, "a pipe");
	s.channel = 0;
	s.fds[1] = pipe[1];
	is_int(start(&s, &pid, &e), 0, "one without a channel");
	fd_close(&pipe[1]);
	end_of(pid);
	read_all(pipe[0]);
	ok(str_find(buf_view(&out), STR("none\n0 1 2 3 ")) < out.n, "has no 3");
	fd_close(&pipe[0]);
}

/* The other of two pipes: what comes by 3 goes out by 4. */
static void check_answers(void)
{
	static const char *const argv[] = {"/bin/sh", "-c", "cat <&3 >&4", NULL};
	struct spawn s = program(argv);
	struct spawn_report e;
	int to[2], from[2];
	pid_t pid;

	is_int(fd_pipe(to), 0, "a pipe there");
	is_int(fd_pipe(from), 0, "and a pipe back");
	s.channel = to[0];
	s.answers = from[1];
	is_int(start(&s, &pid, &e), 0, "a child with both");
	fd_close(&to[0]);
	fd_close(&from[1]);
	is_int(fd_write_all(to[1], "hi\n", 3), 0, "a line for it");
	fd_close(&to[1]);
	is_int(end_of(pid), 0, "it ends");
	read_all(from[0]);
	is_view(buf_view(&out), "hi\n", "and has sent it back");
	fd_close(&from[0]);
}

/* In a process of its own: who has started a child, says its number and ends. */
static void leave_behind(bool dies, int to)
{
	static const char *const argv[] = {"/bin/sleep", "100", NULL};
	struct spawn s = program(argv);
	struct spawn_report e;
	pid_t pid = 0;

	s.dies_with_parent = dies;
	if (start(&s, &pid, &e) != 0 || fd_write_all(to, &pid, sizeof(pid)) < 0)
		_exit(1);
	_exit(0);
}

static void check_death(void)
{
	for (int dies = 0; dies < 2; dies++) {
		int pipe[2];
		pid_t child = 0, parent;
		bool gone = false;

		is_int(fd_pipe(pipe), 0, "a pipe");
		parent = fork();
		if (parent == 0)
			leave_behind(dies, pipe[1]);
		is_int(end_of(parent), 0, "a parent that ends");
		is_int(read(pipe[0], &child, sizeof(child)), sizeof(child), "its child");
		for (int i = 0; i < (dies ? 1000 : 1) && !gone && child > 0; i++) {
			gone = kill(child, 0) < 0 || waitpid(child, NULL, WNOHANG) > 0;
			poll(NULL, 0, gone ? 0 : 5);
		}
		ok(gone == dies, dies ? "which ends with it" : "which goes on");
		if (!gone && child > 0)
			kill(child, SIGKILL);
		fd_close(&pipe[0]);
		fd_close(&pipe[1]);
	}
}

int main(void)
{
	spawn_save_limits();
	check_channel();
	check_answers();
	check_death();
	buf_free(&out);
	return done_testing();
}
