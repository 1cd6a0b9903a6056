/* The text that tells by which process something was made, and whether that is gone. */
#include "inject/names/owner.h"

#include "base/buf.h"
#include "base/fd.h"
#include "tests/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 256 };

/* A child that writes its text and waits for the end of the pipe that it reads. */
static pid_t child_start(char text[ROOM], int hold[2])
{
	int said[2] = {-1, -1};
	ssize_t n;
	pid_t pid;

	if (!ok(pipe(said) == 0 && pipe(hold) == 0, "two pipes"))
		return -1;
	pid = fork();
	if (pid == 0) {
		char c;

		close(hold[1]);
		if (fd_write_all(said[1], owner_text(), strlen(owner_text())))
			_exit(1);
		close(said[1]);
		alarm(60);
		_exit(read(hold[0], &c, 1) != 0);
	}
	close(said[1]);
	close(hold[0]);
	n = fd_read_full(said[0], text, ROOM - 1);
	text[n > 0 ? n : 0] = '\0';
	close(said[0]);
	return pid;
}

static void test_life(char text[ROOM])
{
	siginfo_t info;
	int hold[2] = {-1, -1};
	pid_t pid = child_start(text, hold);

	if (pid < 0)
		return;
	ok(strlen(text) > 20, "a process has a text: %s", text);
	is_int(owner_find_state(str_c(text)), OWNER_ALIVE, "a running process lives");
	close(hold[1]);
	is_int(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0, "it has ended");
	is_int(owner_find_state(str_c(text)), OWNER_ENDED,
		"one whose parent does not wait is gone");
	is_int(waitpid(pid, NULL, 0), pid, "its parent has waited");
	is_int(owner_find_state(str_c(text)), OWNER_ENDED, "it is gone");
}

/* The text with another value for the field at. */
static enum owner_state look_with(const char *text, unsigned at, const char *value)
{
	struct buf b = BUF_INIT(1024);
	struct str rest = str_c(text);
	enum owner_state state;

	for (unsigned i = 0; rest.n; i++) {
		struct str field = str_cut(&rest, '.');

		buf_puts(&b, i ? "." : "");
		buf_str(&b, i == at ? str_c(value) : field);
	}
	state = owner_find_state(buf_view(&b));
	buf_free(&b);
	return state;
}

/* text is that of a process that is gone. */
static void test_others(const char *text)
{
	enum { MACHINE, BOOT, SPACE, PID, START, TIME };
	char old[ROOM];

	is_int(look_with(text, 9, ""), OWNER_ENDED, "a process that is gone");
	is_int(look_with(text, SPACE, "7"), OWNER_ALIVE,
		"one of another namespace may live");
	is_int(look_with(text, BOOT, "0123456789abcdef"), OWNER_ALIVE,
		"one before a boot, a moment ago, may be that of a copy of this machine");
	is_int(look_with(text, PID, "0"), OWNER_ALIVE, "a pid that is none");
	is_int(look_with(text, PID, "99999999999"), OWNER_ALIVE, "nor is this");
	is_int(look_with(text, START, "x"), OWNER_ALIVE, "a start that is no number");
	is_int(owner_find_state(STR("")), OWNER_ALIVE, "no text");
	is_int(owner_find_state(STR("a.b.1.2.3")), OWNER_ALIVE, "half a text");
	is_int(look_with(owner_text(), START, "2"), OWNER_ENDED,
		"a process that has this pid, but started at another time");
	snprintf(old, sizeof(old), "%.33s.1.2.3.1000", text);
	old[17] = old[17] == '0' ? '1' : '0';
	is_int(owner_find_state(str_c(old)), old[0] == '-' ? OWNER_ALIVE : OWNER_REBOOTED,
		"one before a boot, long ago");
	old[0] = old[0] == '0' ? '1' : '0';
	is_int(owner_find_state(str_c(old)), OWNER_ALIVE,
		"one of another machine may live");
}

static void test_places(void)
{
	is_view(owner_from_label(STR("box a.b"), STR("box")), "a.b",
		"a label of its own");
	is_view(owner_from_label(STR("box a.b"), STR("box2")), "", "an inherited label");
	is_view(owner_from_label(STR(""), STR("box")), "", "no label");
	ok(owner_is_label(STR("box " OWNER_UNKNOWN)), "an owner that the kernel hides");
	is_int(owner_find_state(STR(OWNER_UNKNOWN)), OWNER_ALIVE,
		"such an owner may live");
	ok(!owner_is_label(STR("a/b " OWNER_UNKNOWN)),
		"a label needs the name of a thing");
	is_view(owner_from_name(STR("od-runtime-12.a.b")), "a.b", "in a name");
	is_view(owner_from_name(STR("od-runtime-12")), "", "a name without an owner");
}

int main(void)
{
	char text[ROOM] = "";

	test_life(text);
	test_others(text);
	test_places();
	return done_testing();
}
