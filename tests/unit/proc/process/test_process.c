#include "tests/support/process_stage.h"

static void check_exits(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process_info i;
	struct process *p = shell("echo out; echo err >&2; exit 3");

	wait_for(p, is_over);
	is_int(WEXITSTATUS(process_get_exit(p)->status), 3, "an exit code");
	is_view(output_of(p, 0), "out\n", "stdout");
	is_view(output_of(p, 1), "err\n", "stderr");
	process_info(p, &i);
	is_str(i.id, "p1", "the first id");
	is_int((long long)i.argv_n, 3, "three arguments");
	is_str(i.argv + strlen(i.argv) + 1, "-c", "as they were given");
	is_str(i.user, "tester", "the user of the sandbox");
	is_int((long long)p->out[0].fd, -1, "its pipe is closed");
	remove_it(p);
	ok(!process_find(all, STR("p1")), "a removed one is not found");

	p = shell("kill -TERM $$");
	wait_for(p, is_over);
	is_int(WTERMSIG(process_get_exit(p)->status), SIGTERM, "a signal");
	remove_it(p);

	spec.tag = "a tag";
	p = begin_shell("exit 0", &spec);
	process_info(p, &i);
	is_str(i.tag, "a tag", "a tag");
	is_str(i.id, "p3", "numbers go on");
	wait_for(p, is_over);
	is_int((long long)p->record->out[0].at_exit, 0, "nothing was written");
	remove_it(p);
	is_int((long long)all->output_bytes, 0, "nothing is kept any more");
}

static void check_failure(
	const char *const *argv, const char *cwd, const char *user, int reason)
{
	struct process_spec spec = spec_of(argv);
	struct wait w = {.follower.waiter.fn = told, .is_there = has_started};
	enum process_reason got;
	const char *detail;
	struct process *p;

	spec.cwd = cwd;
	spec.user = user;
	p = begin(&spec);
	process_follow(p, &w.follower);
	if (!has_started(p) && loop_run(loop) < 0)
		ok(false, "the loop runs");
	is_int(process_state(p), PROCESS_FAILED, "%s does not start", argv[0]);
	got = process_failure(p, &detail);
	is_int(got, reason, "for the right reason: %s", detail);
	process_unfollow(&w.follower);
	turn();
	ok(list_is_empty(&all->list) && !all->running, "and is forgotten");
}

static void check_failures(void)
{
	static const char *const none[] = {"no-such-program", NULL};
	static const char *const path[] = {"/no/such/program", NULL};
	static const char *const plain[] = {"/etc/passwd", NULL};
	static const char *const folder[] = {"/etc", NULL};
	static const char *const good[] = {"/bin/true", NULL};

	check_failure(none, NULL, NULL, PROCESS_NOT_FOUND);
	check_failure(path, NULL, NULL, PROCESS_NOT_FOUND);
	check_failure(plain, NULL, NULL, PROCESS_NOT_EXECUTABLE);
	check_failure(folder, NULL, NULL, PROCESS_NOT_EXECUTABLE);
	check_failure(good, "/no/such", NULL, PROCESS_NO_DIRECTORY);
	check_failure(good, "/etc/passwd", NULL, PROCESS_NO_DIRECTORY);
	check_failure(good, NULL, "no-such-user", PROCESS_NO_USER);
	check_failure(good, NULL, "99999999999", PROCESS_NO_USER);
	if (geteuid() != 0)
		check_failure(good, NULL, "0:0", PROCESS_NO_RIGHTS);
	else
		skip("no rights", "runs as root");
}

/* Bytes that the process wrote before its exit are told from those of its children. */
static void check_children_that_stay(void)
{
	struct process *p = shell("seq 1 3000; sleep 1000 & exit 0");
	struct process_output o;
	bool open = true;

	wait_for(p, has_exited);
	for (int i = 0; i < 100; i++) {
		process_output(p, 0, &o);
		if (o.end == o.at_exit)
			break;
		turn();
	}
	open = o.open;
	ok(open, "a child keeps the output open");
	is_int((long long)o.at_exit, 13893, "all that was written before is counted");
	is_int((long long)o.end, 13893, "and read");
	process_remove(p);
	turn();
}

static void check_signals(void)
{
	struct process *p = shell("sleep 1000 & echo up; wait");
	struct tree t = {0};

	wait_for(p, has_output);
	t.root = p->record->pid;
	is_int(tree_signal(t.root, 0), 1, "a root and a child");
	is_int(process_signal(p, SIGTERM, PROCESS_TREE), 0, "a signal to the tree");
	wait_for(p, is_over);
	is_int(WTERMSIG(process_get_exit(p)->status), SIGTERM, "ends the root");
	is_int(process_signal(p, SIGTERM, PROCESS_TREE), -ESRCH, "then there is none");
	is_int(process_signal(p, SIGTERM, PROCESS_ALONE), -ESRCH, "of any kind");
	remove_it(p);

	p = shell("trap '' TERM; setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM; "
		  "while :; do sleep 1; done' &); echo up; while :; do sleep 1; done");
	wait_for(p, has_output);
	process_kill(p);
	wait_for(p, is_over);
	is_int(WTERMSIG(process_get_exit(p)->status), SIGKILL, "a tree is killed");
	ok(!p->record->out[0].open, "all that had its pipes are gone");
	remove_it(p);
}

static void check_timeout(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process *p;

	spec.timeout_ms = 50;
	p = begin_shell("trap '' TERM; setsid sleep 1000 & sleep 1000", &spec);
	wait_for(p, is_over);
	ok(process_get_exit(p)->timed_out, "the timeout has ended it");
	is_int(WTERMSIG(process_get_exit(p)->status), SIGKILL, "by SIGKILL");
	ok(process_get_exit(p)->at - p->record->started_at >= 0.049, "in its time");
	remove_it(p);
	spec.timeout_ms = LONG_MS;
	p = begin_shell("exit 0", &spec);
	wait_for(p, is_over);
	ok(!process_get_exit(p)->timed_out, "an end before is none");
	ok(!timer_is_armed(&p->timeout), "and nothing waits for it");
	remove_it(p);
}

static void check_stdin(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process_stdin in;
	struct process *p;

	spec.takes_stdin = true;
	p = begin_shell("cat", &spec);
	is_int(process_stdin_write(p, STR("hello")), 5, "bytes are taken");
	is_int(process_stdin_write(p, STR("")), 0, "and none");
	process_stdin_end(p);
	is_int(process_stdin_write(p, STR("late")), -EPIPE, "none behind the end");
	wait_for(p, is_over);
	is_view(output_of(p, 0), "hello", "they arrive");
	process_stdin(p, &in);
	is_int((long long)in.offset, 5, "they are counted");
	ok(!in.open, "it is closed");
	remove_it(p);

	p = begin_shell("exec <&-; echo closed; sleep 1000", &spec);
	wait_for(p, has_output);
	for (int i = 0; i < 100 && process_stdin_write(p, STR("x")) >= 0; i++)
		turn();
	is_int(process_stdin_write(p, STR("x")), -EPIPE, "nobody reads any more");
	remove_it(p);
	p = shell("cat");
	is_int(process_stdin_write(p, STR("x")), -EPIPE, "without stdin it takes none");
	wait_for(p, is_over);
	remove_it(p);
}

static char block[65536];

/* Fills stdin until it takes no more: how much it took. */
static size_t fill(struct process *p)
{
	size_t all_of_it = 0;
	ssize_t n;

	while ((n = process_stdin_write(p, str_make(block, sizeof(block)))) > 0)
		all_of_it += (size_t)n;
	return all_of_it;
}

static bool takes_more(const struct process *p)
{
	struct process_stdin in;

	process_stdin(p, &in);
	return !p->in.is_full;
}

static void check_stdin_that_is_not_read(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process *p;
	size_t taken;

	spec.takes_stdin = true;
	p = begin_shell("sleep 1000", &spec);
	taken = fill(p);
	ok(taken >= 65536 && taken <= 4 * PROCESS_PIPE, "a bound is kept: %zu", taken);
	is_int((long long)p->record->in.taken, (long long)taken, "it is counted");
	remove_it(p);
	p = begin_shell("sleep 0.1; cat >/dev/null", &spec);
	taken = fill(p);
	ok(p->in.is_full, "it is full");
	wait_for(p, takes_more);
	taken += fill(p);
	process_stdin_end(p);
	wait_for(p, is_over);
	is_int((long long)p->record->in.taken, (long long)taken, "space is told of");
	remove_it(p);
}

static void check_pty(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process *p;

	spec.pty = true;
	p = begin_shell("stty size; read x; echo got $x; read y || echo end", &spec);
	is_int((long long)process_outputs(p), 1, "a pty is one output");
	wait_for(p, has_output);
	is_int(process_resize(p, 30, 100), 0, "it has a size");
	is_int(process_stdin_write(p, STR("abc\n")), 4, "it takes keys");
	process_stdin_end(p);
	wait_for(p, is_over);
	is_view(output_of(p, 0), "24 80\r\nabc\r\ngot abc\r\nend\r\n", "and shows them");
	is_int(process_resize(p, 30, 100), -ESRCH, "no size behind its end");
	remove_it(p);
	p = shell("exit 0");
	is_int(process_resize(p, 30, 100), -ENOTTY, "a pipe has none");
	wait_for(p, is_over);
	remove_it(p);
}

static void check_discard(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process_output o;
	struct process *p;

	spec.output_limit = PROCESS_OUTPUT_MIN;
	p = begin_shell("seq 1 100000", &spec);
	wait_for(p, is_over);
	process_output(p, 0, &o);
	is_int((long long)o.end, 588895, "all of it has come");
	is_int((long long)(o.end - o.start), PROCESS_OUTPUT_MIN, "its end is kept");
	is_int((long long)all->output_bytes, PROCESS_OUTPUT_MIN, "and counted");
	remove_it(p);
}

static bool is_paused(const struct process *p)
{
	return p->out[0].paused;
}

static bool is_at_limit(const struct process *p)
{
	return p->out[0].spool.end - p->record->out[0].released == PROCESS_OUTPUT_MIN;
}

static void wait_for_pause(struct process *p)
{
	struct pollfd more = {.fd = p->out[0].fd, .events = POLLIN};

	wait_for(p, is_at_limit);
	/* It notices with what comes next. */
	while (!is_paused(p) && poll(&more, 1, LONG_MS) == 1)
		turn();
}

static void check_wait(void)
{
	struct process_spec spec = spec_of(NULL);
	struct wait slow = {.follower = {.waiter.fn = told, .releases = true},
		.is_there = has_exited};
	struct wait fast = slow;
	struct process_output o;
	struct process *p;

	spec.output_limit = PROCESS_OUTPUT_MIN;
	spec.wait_when_full = true;
	p = begin_shell("seq 1 100000", &spec);
	wait_for_pause(p);
	process_output(p, 0, &o);
	is_int((long long)o.end, PROCESS_OUTPUT_MIN, "so much is read and no more");
	is_int((long long)o.start, 0, "and kept");
	process_follow(p, &slow.follower);
	process_follow(p, &fast.follower);
	process_release(p, 0, &fast.follower, 60000);
	ok(is_paused(p), "the slowest reader counts");
	process_release(p, 0, NULL, 60000);
	ok(is_paused(p), "and not one that comes and goes");
	process_release(p, 0, &slow.follower, 1000);
	ok(!is_paused(p), "until it goes on");
	wait_for_pause(p);
	process_output(p, 0, &o);
	is_int((long long)o.end, PROCESS_OUTPUT_MIN + 1000, "by so much");
	ok(o.start <= 1000, "what it has not read is kept");
	process_unfollow(&slow.follower);
	ok(!is_paused(p), "when it leaves the other one counts");
	process_unfollow(&fast.follower);
	while (!is_over(p)) {
		process_output(p, 0, &o);
		process_release(p, 0, NULL, o.end);
		turn();
	}
	process_output(p, 0, &o);
	is_int((long long)o.end, 588895, "without followers others count");
	remove_it(p);
}

static void check_owners(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process *p;

	spec.kill_on_disconnect = true;
	p = begin_shell("sleep 1000", &spec);
	process_own(p);
	process_own(p);
	process_disown(p);
	ok(!p->killing.active && !has_exited(p), "one owner is left");
	process_disown(p);
	wait_for(p, has_exited);
	is_int(WTERMSIG(process_get_exit(p)->status), SIGKILL, "the last one ends it");
	remove_it(p);
	spec.kill_on_disconnect = false;
	p = begin_shell("exit 0", &spec);
	process_own(p);
	process_disown(p);
	wait_for(p, is_over);
	is_int(process_get_exit(p)->status, 0, "others go on");
	remove_it(p);
}

static void check_keys(void)
{
	static const uint8_t other[SHA256_LEN] = {1};
	struct process_spec spec = spec_of(NULL);
	char key[32];
	struct process *p, *found = NULL;

	is_int(process_key_find(all, STR("a"), spec.request, &found), PROCESS_KEY_NEW,
		"a new key");
	spec.key = STR("a");
	p = begin_shell("exit 0", &spec);
	is_int(process_key_find(all, STR("a"), spec.request, &found), PROCESS_KEY_KNOWN,
		"a known one");
	ok(found == p, "is that of its process");
	is_int(process_key_find(all, STR("a"), other, &found), PROCESS_KEY_MISMATCH,
		"with another request");
	is_int(process_key_find(all, STR("b"), spec.request, &found), PROCESS_KEY_NEW,
		"another key is new");
	wait_for(p, is_over);
	remove_it(p);
	is_int(process_key_find(all, STR("a"), spec.request, &found), PROCESS_KEY_REMOVED,
		"that of a removed process");
	for (int i = 0; i < PROCESS_KEYS - 1; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		spec.key = str_c(key);
		process_table_add_key(&all->table, spec.key, spec.request, 1 << 20);
	}
	is_int(process_key_find(all, STR("a"), spec.request, &found), PROCESS_KEY_REMOVED,
		"a thousand are remembered");
	spec.key = STR("one more");
	process_table_add_key(&all->table, spec.key, spec.request, 1 << 20);
	is_int(process_key_find(all, STR("a"), spec.request, &found), PROCESS_KEY_NEW,
		"and no more");
}

static void check_eviction(void)
{
	struct process *first = shell("exit 0");
	unsigned n = 0;

	wait_for(first, is_over);
	process_set_seen(first);
	for (int i = 0; i < PROCESSES_EXITED; i++)
		wait_for(shell("exit 0"), is_over);
	turn();
	for (struct process *p = process_first(all); p; p = process_next(p))
		n++;
	is_int(n, PROCESSES_EXITED, "so many that have ended are kept");
	LIST_EACH (struct process, p, &all->list, node)
		remove_it(p);
	is_int((long long)(all->exited + all->running), 0, "all are gone");
}

static void check_stop(void)
{
	struct process_spec spec = spec_of(base_env);
	struct process *p = shell("sleep 1000");
	const char *why;

	processes_stop(all);
	ok(process_is_removed(p), "followers have to leave");
	is_int(process_start(all, &spec, &p, &why), ERR_CLOSED, "nothing starts");
	all->stopping = false;
	remove_it(LIST_FIRST(&all->list, struct process, node));
}

int main(void)
{
	if (!begin_stage())
		return 1;
	check_exits();
	check_failures();
	check_children_that_stay();
	check_signals();
	check_timeout();
	check_stdin();
	check_stdin_that_is_not_read();
	check_pty();
	check_discard();
	check_wait();
	check_owners();
	check_keys();
	check_eviction();
	check_stop();
	end_stage();
	return done_testing();
}
