#include "tests/support/init_stage.h"

/* --- Without init, and with one that is gone --- */

static void check_no_init(void)
{
	struct store s = {.sock = -1};
	struct store_record r = {.op = STORE_PUT};
	int fd = 5;

	is_int(store_put(&s, "name", 0, 0), 0,
		"without init nothing is kept, and that is well");
	store_drop(&s, "name");
	is_int(store_next(&s, &r, &fd), -EAGAIN, "nothing comes");
	is_int(fd, -1, "no descriptor either");
	is_int(store_wait_next(&s, &r, &fd), 0, "what comes back");
	is_int(r.op, STORE_END, "is nothing");
}

static void check_gone(void)
{
	struct store_record r = {.op = STORE_PUT};
	struct store s;
	int pair[2], fd = 5;

	if (fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return;
	s.sock = pair[0];
	is_int(store_next(&s, &r, &fd), -EAGAIN, "init has said nothing yet");
	if (fd_send_record(pair[1], "short", 5, 0) == 0)
		is_int(store_next(&s, &r, &fd), -EBADMSG, "a record of another size");
	is_int(fd, -1, "its descriptor is closed");
	fd_close(&pair[1]);
	is_int(store_next(&s, &r, &fd), ERR_CLOSED, "init is gone");
	is_int(store_wait_next(&s, &r, &fd), ERR_CLOSED, "at start-up too");
	is_int(store_put(&s, "name", 0, 0), -EPIPE, "nobody keeps anything");
	store_drop(&s, "name");
	fd_close(&pair[0]);
}

/* --- Entries --- */

static int keeps(struct store *s, void *arg)
{
	(void)arg;
	if (new_life() == 1) {
		take_all(s);
		shared->fds = count_fds();
		put(s, "first", "1", 0);
		put(s, "second", "old", 0);
		put(s, "third", "3", 0);
		put(s, "second", "new", 0);
		store_drop(s, "first");
		store_drop(s, "never put");
		put(s, "fourth", "4", 0);
		store_drop(s, "fourth");
		die(SIGKILL);
	}
	if (count_fds() != shared->fds)
		return 2;
	take_all(s);
	return 0;
}

static void check_entries(void)
{
	is_int(run_init(keeps), 0, "a server is killed and started again");
	is_int(shared->life, 2, "in its second life");
	is_int(shared->taken, 2, "it gets back what it has not dropped");
	ok(!strcmp(shared->names[0], "second") != !strcmp(shared->names[1], "second"),
		"the replaced entry once");
	is_int(shared->number, -EAGAIN, "and nothing more");
}

static int replaces(struct store *s, void *arg)
{
	(void)arg;
	if (new_life() == 1) {
		put(s, "name", "old", 0);
		put(s, "name", "new", 0);
		die(SIGKILL);
	}
	take_all(s);
	return shared->taken;
}

static void check_replaced(void)
{
	is_int(run_init(replaces), 1, "an entry that was put twice comes back once");
	is_str(shared->text, "new", "as it was put last");
}

static int long_names(struct store *s, void *arg)
{
	char name[STORE_NAME + 1];

	(void)arg;
	memset(name, 'n', STORE_NAME);
	name[STORE_NAME] = '\0';
	if (new_life() == 1) {
		shared->number = store_put(s, name, 0, 0);
		if (shared->number != -ENAMETOOLONG)
			return 1;
		name[STORE_NAME - 1] = '\0';
		put(s, name, "x", 0);
		die(SIGKILL);
	}
	take_all(s);
	return shared->taken == 1 && strlen(shared->names[0]) == STORE_NAME - 1 ? 0 : 2;
}

/* Dies in the middle of taking: nothing may be missing the next time. */
static int dies_taking(struct store *s, void *arg)
{
	struct store_record r;
	char name[32];
	int life = new_life(), fd;

	(void)arg;
	for (int i = 0; life == 1 && i < 5; i++) {
		snprintf(name, sizeof(name), "entry %d", i);
		put(s, name, "x", 0);
	}
	for (int i = 0; i < life - 1 && life < 6; i++)
		if (store_wait_next(s, &r, &fd) < 0 || r.op != STORE_PUT)
			return 1;
	if (life < 6)
		die(SIGKILL);
	take_all(s);
	return shared->taken == 5 ? 0 : 2;
}

/* Dies over and over while init is still sending, each time a bit later. */
static int dies_at_once(struct store *s, void *arg)
{
	char name[32];
	int life = new_life();
	uint64_t end = clock_us() + 20 * (uint64_t)life;

	(void)arg;
	for (int i = 0; life == 1 && i < 200; i++) {
		snprintf(name, sizeof(name), "entry %d", i);
		put(s, name, "x", 0);
	}
	while (life < LIVES && clock_us() < end)
		;
	if (life < LIVES)
		die(SIGKILL);
	take_all(s);
	return shared->taken == 200 ? 0 : 2;
}

/* More than init keeps: the rest is let go of, what is kept stays. */
static int too_many(struct store *s, void *arg)
{
	struct store_record r;
	char name[32];
	int life = new_life(), fd = with_text("x");

	(void)arg;
	for (int i = 0; life == 1 && i < NAMES; i++) {
		snprintf(name, sizeof(name), "entry %d", i);
		if (store_put(s, name, fd, 0) < 0)
			return 1;
	}
	if (life == 1) {
		/* Room for one that was refused before. */
		store_drop(s, "entry 500");
		put(s, "last", "x", 0);
		die(SIGKILL);
	}
	for (fd = -1; store_wait_next(s, &r, &fd) == 0 && r.op != STORE_END;
		fd_close(&fd))
		memcpy(shared->names[shared->taken++], r.name, STORE_NAME);
	return 0;
}

static void check_too_many(void)
{
	struct rlimit before, low;
	bool last = false;

	getrlimit(RLIMIT_NOFILE, &before);
	low = before;
	low.rlim_cur = 64;
	if (low.rlim_max < 6200) {
		skip("more entries than init keeps", "needs more descriptors");
		return;
	}
	/* As many as it may have, whatever it was started with. */
	setrlimit(RLIMIT_NOFILE, &low);
	is_int(run_init(too_many), 0, "more entries than init keeps");
	setrlimit(RLIMIT_NOFILE, &before);
	is_int(shared->taken, 6144, "those that it does keep come back");
	for (int i = 0; i < shared->taken; i++)
		last |= !strcmp(shared->names[i], "last");
	ok(last, "a dropped one makes room");
}

static void check_few_descriptors(void)
{
	struct rlimit few = {.rlim_cur = 64, .rlim_max = 64};
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_NOFILE, &few);
		_exit(init_run(too_many, NULL));
	}
	is_int(end_of(pid), 0, "without descriptors for more entries init goes on");
	is_int(shared->life, 2, "and serve is started again");
	ok(shared->taken > 32 && shared->taken < 64, "with what could be kept: %d",
		shared->taken);
}

/* --- Processes of entries --- */

/* A child that ends with code when the last writer of the pipe is gone, or at a byte. */
static pid_t lingering(const int pair[2], int code)
{
	pid_t pid = fork();
	char c;

	if (pid == 0) {
		close(pair[1]);
		fcntl(pair[0], F_SETFL, 0);
		_exit(read(pair[0], &c, 1) < 0 ? 95 : code);
	}
	return pid;
}

static int loses_a_child(struct store *s, void *arg)
{
	siginfo_t si;
	int pair[2];

	(void)arg;
	if (new_life() == 1) {
		if (fd_pipe(pair) < 0)
			return 1;
		shared->pids[0] = lingering(pair, 42);
		put(s, "child", "x", shared->pids[0]);
		put(s, "other", "y", 0);
		/* It has ended, but we do not get to reap it. */
		fd_close(&pair[1]);
		waitid(P_PID, (id_t)shared->pids[0], &si, WEXITED | WNOWAIT);
		die(SIGKILL);
	}
	take_all(s);
	return 0;
}

static void check_died_meanwhile(void)
{
	is_int(run_init(loses_a_child), 0, "a child ends with the server");
	is_int(shared->taken, 2, "its entry comes back");
	is_int(shared->exits, 1, "with a status");
	ok(WIFEXITED(shared->status) && WEXITSTATUS(shared->status) == 42,
		"which is right");
}

static int learns_later(struct store *s, void *arg)
{
	struct pollfd w = {.fd = s->sock, .events = POLLIN};
	struct store_record r;
	int pair[2], fd;

	(void)arg;
	if (new_life() == 1) {
		if (fd_pipe(pair) < 0)
			return 1;
		shared->pids[0] = lingering(pair, 43);
		if (store_put(s, "writer", pair[1], shared->pids[0]) < 0)
			return 2;
		die(SIGKILL);
	}
	if (store_wait_next(s, &r, &fd) < 0 || r.op != STORE_PUT || r.exited ||
		r.pid != shared->pids[0])
		return 3;
	if (write(fd, "x", 1) != 1)
		return 4;
	if (store_wait_next(s, &r, &fd) < 0)
		return 5;
	if (r.op != STORE_END)
		return 6;
	if (poll(&w, 1, 10000) != 1 || store_next(s, &r, &fd) < 0 || fd != -1)
		return 7;
	if (r.op != STORE_EXIT || strcmp(r.name, "writer") || r.pid != shared->pids[0])
		return 8;
	shared->status = r.status;
	return store_next(s, &r, &fd) == -EAGAIN ? 0 : 9;
}

static void check_learns_later(void)
{
	is_int(run_init(learns_later), 0,
		"a child of an earlier life ends: the server is told");
	ok(WIFEXITED(shared->status) && WEXITSTATUS(shared->status) == 43, "its status");
}

static int killed_child(struct store *s, void *arg)
{
	(void)arg;
	if (new_life() == 1) {
		siginfo_t si;
		pid_t pid = fork();

		while (pid == 0)
			pause();
		put(s, "child", "x", pid);
		kill(pid, SIGTERM);
		waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
		die(SIGKILL);
	}
	if (shared->life == 2)
		die(SIGKILL);
	take_all(s);
	return shared->exits == 1 && WIFSIGNALED(shared->status)
		? WTERMSIG(shared->status)
		: 0;
}

int main(void)
{
	if (!stage_open())
		return 1;
	check_no_init();
	check_gone();
	check_entries();
	check_replaced();
	is_int(run_init(long_names), 0, "names have 47 bytes at most");
	is_int(run_init(dies_taking), 0, "killed while it takes: nothing is missing");
	is_int(run_init(dies_at_once), 0,
		"killed while init is sending: nothing is missing");
	check_too_many();
	check_few_descriptors();
	check_died_meanwhile();
	check_learns_later();
	is_int(run_init(killed_child), SIGTERM, "a status waits through two lives");
	return done_testing();
}
