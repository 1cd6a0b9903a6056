#include "action/ledger/ledger.h"
#include "base/atomic_file.h"
#include "base/fd.h"
#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/od-ledger-XXXXXX";
static int dir;
static struct ledger l;
static const uint8_t asked[SHA256_LEN] = {1, 2, 3};

static void open_ledger(int in, int fd)
{
	uint64_t torn;

	if (ledger_open(&l, in, "ledger", fd, false, &torn) != 0 || torn)
		ok(false, "the ledger opens");
}

/* As after a restart of the box: only the file is left. */
static void restart(void)
{
	ledger_close(&l);
	open_ledger(dir, -1);
}

/* As after the death of the process: its file is open elsewhere. */
static void crash(void)
{
	int fd = fd_dup(l.journal.fd, 0);
	int in = l.dir;

	ledger_close(&l);
	open_ledger(in, fd);
}

static void fresh(int in)
{
	ledger_close(&l);
	unlinkat(dir, "ledger", 0);
	open_ledger(in, -1);
}

static struct ledger_entry *accept_id(const char *id)
{
	struct ledger_entry *e = NULL;

	is_int(ledger_accept(&l, str_c(id), asked, &e), 0, "%s is accepted", id);
	return e;
}

static struct ledger_entry *there(const char *id)
{
	struct ledger_entry *e;

	return ledger_find(&l, str_c(id), &e) == LEDGER_PRESENT ? e : NULL;
}

static void has(
	const char *id, enum ledger_state state, unsigned status, const char *answer)
{
	struct buf out = BUF_INIT(100);
	struct ledger_entry *e = there(id);

	if (!e) {
		ok(false, "%s is there", id);
		return;
	}
	is_int(e->state, state, "%s: its state", id);
	is_int(e->status, status, "%s: its status", id);
	is_int(memcmp(e->body, asked, sizeof(asked)), 0, "%s: what was asked", id);
	is_int(ledger_read_answer(&l, e, &out), 0, "%s: its answer", id);
	is_view(buf_view(&out), answer, "%s: as it was", id);
	buf_free(&out);
}

static void end_with(struct ledger_entry *e, const char *answer)
{
	is_int(ledger_start(&l, e), 0, "%s starts", e->id);
	is_int(ledger_end(&l, e, LEDGER_DONE, 200, str_c(answer)), 0, "%s ends", e->id);
}

static void test_ids(void)
{
	char longest[LEDGER_ID_MAX + 2];

	memset(longest, 'x', sizeof(longest));
	ok(ledger_is_id(STR("a")) && ledger_is_id(STR("A-Z_09")), "ids");
	ok(ledger_is_id(str_make(longest, LEDGER_ID_MAX)), "the longest");
	ok(!ledger_is_id(str_make(longest, LEDGER_ID_MAX + 1)), "one too long");
	ok(!ledger_is_id(STR("")) && !ledger_is_id(STR("a b")) &&
			!ledger_is_id(STR("a/b")) && !ledger_is_id(STR("\xc3\xa4")),
		"none");
}

/* The states in which a box may end, and what is left of them. */
static void test_life(int in)
{
	struct ledger_entry *e;
	bool disk = in >= 0;
	char box[sizeof(l.box)];

	fresh(in);
	is_int(l.boot, 1, "the first boot");
	snprintf(box, sizeof(box), "%s", l.box);
	is_int((long long)strlen(box), 32, "the box has a name");
	is_int(ledger_find(&l, STR("done"), &e), LEDGER_ABSENT, "an id that is new");
	end_with(accept_id("done"), "answer");
	accept_id("waits");
	is_int(ledger_start(&l, accept_id("runs")), 0, "one runs");
	e = accept_id("not");
	is_int(ledger_end(&l, e, LEDGER_CANCELLED, 0, STR("")), 0, "one is cancelled");
	is_int(ledger_ack(&l, there("done")), 0, "one is acknowledged");
	is_int((long long)l.open, 2, "two have not ended");
	crash();
	is_str(l.box, box, "the same box");
	is_int(l.boot, 1, "and boot");
	has("done", LEDGER_DONE, 200, "answer");
	ok(there("done")->acked, "acknowledged");
	has("waits", LEDGER_ACCEPTED, 0, "");
	has("runs", LEDGER_STARTED, 0, "");
	has("not", LEDGER_CANCELLED, 0, "");
	is_int((long long)l.open, 2, "two have not ended");
	is_int((long long)l.seq, 4, "the order goes on");
	end_with(accept_id("more"), "another");
	if (!disk)
		return;
	restart();
	is_str(l.box, box, "the same box");
	is_int(l.boot, 2, "a new boot");
	has("done", LEDGER_DONE, 200, "answer");
	has("waits", LEDGER_ACCEPTED, 0, "");
	has("runs", LEDGER_INTERRUPTED, 0, "");
	has("more", LEDGER_DONE, 200, "another");
	is_int(there("more")->seq, 5, "in order");
	restart();
	has("runs", LEDGER_INTERRUPTED, 0, "");
	is_int(l.boot, 3, "and one more");
}

static void test_limits(void)
{
	struct ledger_entry *e = NULL;
	char id[32];
	bool all = true;

	fresh(-1);
	for (int i = 0; i < LEDGER_OPEN_MAX; i++) {
		snprintf(id, sizeof(id), "open-%d", i);
		all = all && ledger_accept(&l, str_c(id), asked, &e) == 0;
	}
	ok(all, "so many wait");
	is_int(ledger_accept(&l, STR("more"), asked, &e), ERR_LIMIT, "and no more");
	is_int(ledger_find(&l, STR("more"), &e), LEDGER_ABSENT, "which leaves nothing");
	e = there("open-7");
	is_int(ledger_end(&l, e, LEDGER_CANCELLED, 0, STR("")), 0, "one ends");
	accept_id("more");
}

static void tidy(void)
{
	while (ledger_shrink(&l))
		;
}

static void many(int from, int to)
{
	struct ledger_entry *e;
	char id[32];
	int steps = 0;

	for (int i = from; i < to; i++) {
		snprintf(id, sizeof(id), "id-%d", i);
		if (ledger_accept(&l, str_c(id), asked, &e) < 0 ||
			ledger_start(&l, e) < 0 ||
			ledger_end(&l, e, LEDGER_DONE, 200, str_c(id)) < 0)
			ok(false, "%s", id);
		/* Steps of a smaller file, with changes in between. */
		if (i % 100 == 0 && ledger_shrink(&l))
			steps++;
	}
	tidy();
}

/* What goes first, and that no id is ever new again while it is remembered. */
static void test_forgetting(int in)
{
	enum { END = 2 * LEDGER_MAX + LEDGER_GONE_MAX };
	struct ledger_entry *e;
	bool known = true;
	uint64_t size;
	char id[32];

	fresh(in);
	accept_id("open");
	many(0, LEDGER_MAX - 1);
	is_int((long long)l.entries, LEDGER_MAX, "so many are kept");
	is_int(ledger_ack(&l, there("id-5000")), 0, "one is acknowledged");
	many(LEDGER_MAX, LEDGER_MAX + 3);
	is_int((long long)l.entries, LEDGER_MAX, "and no more");
	is_int(ledger_find(&l, STR("id-5000"), &e), LEDGER_EVICTED,
		"that one goes first");
	is_int(ledger_find(&l, STR("id-0"), &e), LEDGER_EVICTED, "then the oldest");
	is_int(ledger_find(&l, STR("id-1"), &e), LEDGER_EVICTED, "and the next");
	is_int(ledger_find(&l, STR("id-2"), &e), LEDGER_PRESENT, "as many as needed");
	is_int(ledger_find(&l, STR("open"), &e), LEDGER_PRESENT, "none that is open");
	crash();
	is_int(ledger_find(&l, STR("id-5000"), &e), LEDGER_EVICTED, "it is remembered");
	many(LEDGER_MAX + 3, END);
	for (int i = END - LEDGER_GONE_MAX; i < END; i++) {
		snprintf(id, sizeof(id), "id-%d", i);
		known = known && ledger_find(&l, str_c(id), &e) != LEDGER_ABSENT;
	}
	ok(known, "of many more, all are known");
	is_int(ledger_find(&l, STR("id-5000"), &e), LEDGER_ABSENT, "but the first");
	size = l.journal.size;
	ok(size < 20 << 20, "the file is written anew: %llu bytes",
		(unsigned long long)size);
	ok(l.moved, "which is told");
	crash();
	has("open", LEDGER_ACCEPTED, 0, "");
	known = true;
	for (int i = END - LEDGER_GONE_MAX; i < END; i++) {
		snprintf(id, sizeof(id), "id-%d", i);
		known = known && ledger_find(&l, str_c(id), &e) != LEDGER_ABSENT;
	}
	ok(known, "and all are known again");
	snprintf(id, sizeof(id), "id-%d", END - 1);
	has(id, LEDGER_DONE, 200, id);
}

/* What a ledger says of an id, in words; how it was asked for apart. */
static void put_state(struct buf *out, const char *id)
{
	struct ledger_entry *e;

	buf_fmt(out, "%s %d", id, ledger_find(&l, str_c(id), &e));
	if (e) {
		buf_fmt(out, ": %d %u %d %d %llu ", e->state, e->status, e->acked,
			e->cancel, (unsigned long long)e->seq);
		if (ledger_read_answer(&l, e, out) || ledger_read_request(&l, e, out))
			ok(false, "%s: is read", id);
	}
	buf_puts(out, "\n");
}

/* All that it knows. */
static void put_all(struct buf *out, int ids)
{
	buf_fmt(out, "%s %u, lease %llu, %zu entries, %zu open, %zu gone, %llu asked\n",
		l.box, l.boot, (unsigned long long)l.lease, l.entries, l.open,
		l.evicted_n, (unsigned long long)l.request_bytes);
	for (int i = 0; i < ids; i++) {
		char id[32];

		snprintf(id, sizeof(id), "s-%d", i);
		put_state(out, id);
	}
	for (uint64_t n = ledger_first_event(&l); n <= l.event; n++) {
		struct ledger_event e;

		if (ledger_read_event(&l, n, &e) || e.seq != n)
			ok(false, "event %d is read", (int)n);
		buf_fmt(out, "%d %d %s\n", e.kind, e.state, e.name);
	}
}

static unsigned dice(unsigned sides)
{
	static uint32_t x = 1;

	x = x * 1664525 + 1013904223;
	return (x >> 8) % sides;
}

/* Something happens to one of the last ids, or a new one comes. */
static void change(int *ids)
{
	static char request[4096];
	struct ledger_entry *e;
	char id[32];
	int which = *ids - 1 - (int)dice(60), r = 0;

	snprintf(id, sizeof(id), "s-%d", which);
	if (which < 0 || dice(3) == 0 ||
		ledger_find(&l, str_c(id), &e) != LEDGER_PRESENT) {
		memset(request, 'q', sizeof(request));
		snprintf(id, sizeof(id), "s-%d", (*ids)++);
		r = ledger_queue(&l, str_c(id), asked, 1,
			str_make(request, dice(sizeof(request))), &e);
	} else if (e->state >= LEDGER_DONE) {
		r = ledger_ack(&l, e);
	} else if (dice(8) == 0) {
		r = e->cancel < 2 ? ledger_cancel(&l, e, e->cancel + 1) : 0;
	} else if (e->state == LEDGER_STARTED) {
		r = ledger_end(&l, e, LEDGER_DONE, 200, str_c(id));
	} else if (dice(9) == 0) {
		r = ledger_end(&l, e, LEDGER_CANCELLED, 0, STR(""));
	} else {
		r = ledger_start(&l, e);
	}
	for (e = l.oldest; e && r == ERR_LIMIT; e = e->newer)
		if (e->state < LEDGER_DONE)
			r = ledger_end(&l, e, LEDGER_DONE, 200, STR("refused"));
	if (dice(50) == 0)
		r = r ? r : ledger_set_lease(&l, l.lease + 1);
	if (r)
		ok(false, "%s: %d", id, r);
}

/* On a full disk the old file is what counts, and is not copied again at once. */
static void full_steps(void)
{
	struct rlimit old, little = {0};

	getrlimit(RLIMIT_FSIZE, &old);
	little.rlim_max = old.rlim_max;
	little.rlim_cur = JOURNAL_LATE_MAX / 2;
	setrlimit(RLIMIT_FSIZE, &little);
	tidy();
	setrlimit(RLIMIT_FSIZE, &old);
	ok(!l.moved && !l.shrink, "a full disk: the file is what it was");
	ok(!ledger_is_large(&l), "for a while");
}

/* A new file in steps says what the old one would have said, whatever comes between. */
static void test_steps(int in)
{
	int ids = 0, times = 0;

	fresh(in);
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 1000000 && times < 4; i++) {
		struct buf before = BUF_INIT(64 << 20), after = BUF_INIT(64 << 20);

		for (unsigned n = dice(4); n > 0; n--)
			change(&ids);
		if (ledger_is_large(&l) && !times && !l.shrink_from)
			full_steps();
		if (ledger_shrink(&l) || !l.moved)
			continue;
		l.moved = false;
		for (unsigned n = dice(4); n > 0; n--)
			change(&ids);
		put_all(&before, ids);
		crash();
		put_all(&after, ids);
		ok(str_eq(buf_view(&before), buf_view(&after)),
			"after %d steps all is known that was", i);
		buf_free(&before);
		buf_free(&after);
		times++;
	}
}

static void test_bytes(void)
{
	static char big[10 << 20];
	struct ledger_entry *e;

	fresh(dir);
	memset(big, 'b', sizeof(big));
	for (int i = 0; i < 8; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%d", i);
		e = accept_id(id);
		is_int(ledger_start(&l, e), 0, "starts");
		is_int(ledger_end(&l, e, LEDGER_DONE, 200, str_make(big, sizeof(big))), 0,
			"10 MiB");
	}
	is_int(ledger_find(&l, STR("1"), &e), LEDGER_EVICTED, "large answers make room");
	is_int(ledger_find(&l, STR("2"), &e), LEDGER_PRESENT, "for later ones");
	is_int((long long)l.answers, 60 << 20, "up to a cap");
}

static void test_full_start(void)
{
	struct rlimit old, little;
	struct ledger_entry *e;

	fresh(dir);
	end_with(accept_id("a"), "yes");
	is_int(ledger_start(&l, accept_id("b")), 0, "one runs");
	getrlimit(RLIMIT_FSIZE, &old);
	little = (struct rlimit){l.journal.size, old.rlim_max};
	setrlimit(RLIMIT_FSIZE, &little);
	restart();
	has("a", LEDGER_DONE, 200, "yes");
	has("b", LEDGER_INTERRUPTED, 0, "");
	is_int(ledger_accept(&l, STR("c"), asked, &e), -EFBIG, "nothing new");
	setrlimit(RLIMIT_FSIZE, &old);
	restart();
	has("a", LEDGER_DONE, 200, "yes");
	has("b", LEDGER_INTERRUPTED, 0, "");
}

static void test_full(void)
{
	struct rlimit old, little;
	struct ledger_entry *e, *x;
	uint64_t size;

	fresh(dir);
	signal(SIGXFSZ, SIG_IGN);
	e = accept_id("a");
	is_int(ledger_start(&l, e), 0, "starts");
	getrlimit(RLIMIT_FSIZE, &old);
	little = (struct rlimit){l.journal.size + 40, old.rlim_max};
	setrlimit(RLIMIT_FSIZE, &little);
	is_int(ledger_accept(&l, STR("b"), asked, &x), -EFBIG, "no room: not accepted");
	is_int(ledger_find(&l, STR("b"), &x), LEDGER_ABSENT, "and not known");
	little.rlim_cur += 20;
	setrlimit(RLIMIT_FSIZE, &little);
	size = l.journal.size;
	is_int(ledger_begin(&l, STR("b"), asked, &x), -EFBIG, "room to accept alone");
	is_int(ledger_find(&l, STR("b"), &x), LEDGER_ABSENT, "is not known either");
	is_int((long long)l.journal.size, (long long)size, "and leaves nothing");
	is_int((long long)l.open, 1, "that counts");
	little.rlim_cur -= 20;
	setrlimit(RLIMIT_FSIZE, &little);
	is_int(ledger_end(&l, e, LEDGER_DONE, 200, STR("a long answer of many bytes")),
		-EFBIG, "nor for the answer");
	setrlimit(RLIMIT_FSIZE, &old);
	has("a", LEDGER_DONE, 0, "");
	restart();
	has("a", LEDGER_DONE, 0, "");
	is_int(ledger_begin(&l, STR("b"), asked, &x), 0, "with room it begins");
	is_int(x->state, LEDGER_STARTED, "at once");
}

static void test_torn(void)
{
	struct stat st;
	uint64_t torn = 0;
	int fd;

	fresh(dir);
	end_with(accept_id("whole"), "yes");
	ledger_close(&l);
	fd = openat(dir, "ledger", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (write(fd, "half a record", 13) != 13)
		exit(1);
	close(fd);
	is_int(ledger_open(&l, dir, "ledger", -1, true, &torn), 0, "a torn end");
	is_int((long long)torn, 13, "is told");
	has("whole", LEDGER_DONE, 200, "yes");
	is_int(fstatat(dir, "ledger.torn", &st, 0), 0, "and kept");
	is_int(st.st_size, 13, "as it was");
	unlinkat(dir, "ledger.torn", 0);
	ledger_close(&l);
	fd = openat(dir, "ledger", O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (write(fd, "nothing of ours", 15) != 15)
		exit(1);
	close(fd);
	is_int(ledger_open(&l, dir, "ledger", -1, true, &torn), ERR_VERSION,
		"another file");
	is_int(ledger_open(&l, dir, "none/of/it", -1, true, &torn), -ENOENT, "no folder");
}

/* One that waits for its turn is kept with what was asked for, until it ends. */
static void test_queue(void)
{
	struct buf out = BUF_INIT(100);
	struct ledger_entry *e;

	fresh(dir);
	is_int(ledger_queue(&l, STR("q"), asked, 3, STR("{the request}"), &e), 0,
		"accepted with its request");
	for (int i = 0; i < 2; i++) {
		e = there("q");
		is_int(e->state, LEDGER_ACCEPTED, "it waits");
		is_int(e->request_kind, 3, "how it was asked");
		buf_reset(&out);
		is_int(ledger_read_request(&l, e, &out), 0, "what was asked");
		is_view(buf_view(&out), "{the request}", "as it was");
		is_int((long long)l.request_bytes, 13, "is counted");
		if (i == 0)
			restart();
	}
	is_int(ledger_start(&l, e), 0, "it starts");
	crash();
	e = there("q");
	is_int(e->state, LEDGER_STARTED, "and goes on after a crash");
	ok(e->begun > 0, "since then");
	is_int(ledger_end(&l, e, LEDGER_DONE, 200, STR("over")), 0, "it ends");
	is_int((long long)l.request_bytes, 0, "its request is not needed any more");
	crash();
	is_int((long long)l.request_bytes, 0, "nor later");
	buf_free(&out);
}

/* Killed when a new file had the name, and init still kept the old one. */
static void test_name(void)
{
	static const struct atomic_file_attr attr = {0600, (uid_t)-1, (gid_t)-1};
	char bytes[4096];
	struct str all;
	ssize_t n;
	int old;

	fresh(dir);
	accept_id("before");
	old = fd_dup(l.journal.fd, 0);
	n = pread(old, bytes, sizeof(bytes), 0);
	all = str_make(bytes, n > 0 ? (size_t)n : 0);
	is_int(atomic_file_write(dir, "ledger", &attr, &all, 1, NULL), 0, "a new file");
	ledger_close(&l);
	open_ledger(dir, old);
	ok(there("before"), "has what counts");
	accept_id("after");
	restart();
	ok(there("before") && there("after"), "and is the one that is written to");
	old = fd_dup(l.journal.fd, 0);
	all = STR("none of ours");
	is_int(atomic_file_write(dir, "ledger", &attr, &all, 1, NULL), 0,
		"somebody's file");
	ledger_close(&l);
	open_ledger(dir, old);
	ok(there("after"), "is not followed");
}

int main(void)
{
	ledger_close(&l);
	if (!mkdtemp(folder))
		return 1;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_ids();
	test_life(dir);
	test_life(-1);
	test_limits();
	test_forgetting(dir);
	test_steps(dir);
	test_steps(-1);
	test_bytes();
	test_full();
	test_queue();
	test_name();
	test_full_start();
	test_torn();
	ledger_close(&l);
	unlinkat(dir, "ledger", 0);
	close(dir);
	rmdir(folder);
	return done_testing();
}
