#include "action/ledger/ledger_private.h"

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/lock.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LEDGER_CLAIM_MS = 1000,    /* for the process that had the file to end */
	LEDGER_TORN_MAX = 1 << 20, /* unreadable bytes that are kept for people */
};

enum { TORN_NAME = 64 };

/* --- Eviction ------------------------------------------------------------------- */

static int ledger_evict_entry(struct ledger *l, struct ledger_entry *e)
{
	uint8_t key[LEDGER_KEY];
	int r;

	ledger_make_key(str_c(e->id), key);
	r = ledger_add_evicted(l, key);
	if (!r)
		r = ledger_insert_evicted(l, key);
	if (r)
		return r;
	ledger_drop_output(l, e);
	ledger_unlink(l, e);
	free(e);
	return 0;
}

static bool ledger_is_over_limit(const struct ledger *l)
{
	uint64_t bytes = l->dir < 0 ? LEDGER_MEMORY : LEDGER_BYTES;

	return l->entries > LEDGER_MAX || l->answers > bytes;
}

static void ledger_evict_oldest(struct ledger *l, const struct ledger_entry *but)
{
	for (int acked = 1; acked >= 0; acked--) {
		struct ledger_entry *next;

		for (struct ledger_entry *e = l->oldest; e && ledger_is_over_limit(l);
			e = next) {
			next = e->newer;
			if (e != but && !ledger_is_open(e) && e->acked == acked &&
				!e->owner && ledger_evict_entry(l, e) < 0)
				return;
		}
	}
}

/* --- Open and close ------------------------------------------------------------- */

/* Saves the bytes behind the last whole record in a file, for inspection by people. */
static int ledger_save_torn(const struct ledger *l, uint64_t n)
{
	char name[TORN_NAME];
	struct buf bytes = BUF_INIT(LEDGER_TORN_MAX);
	static const struct atomic_file_attr ours = {0600, (uid_t)-1, (gid_t)-1};
	char *p;
	struct str part;
	int r;

	if (!n || l->dir < 0)
		return 0;
	n = n < LEDGER_TORN_MAX ? n : LEDGER_TORN_MAX;
	p = buf_reserve(&bytes, (size_t)n);
	if (!p)
		return bytes.err;
	r = journal_read(&l->journal, l->journal.size, p, (size_t)n);
	part = str_make(p, (size_t)n);
	snprintf(name, sizeof(name), "%s.torn", l->name);
	if (!r)
		r = atomic_file_write(l->dir, name, &ours, &part, 1, NULL);
	buf_free(&bytes);
	return r;
}

/*
 * The processes that did the started actions are gone, and their results are lost: all
 * started actions end as interrupted. On a full disk the entries still get this state,
 * and new actions are refused; records that cannot be written now are made at the next
 * start.
 */
static void ledger_interrupt_started(struct ledger *l)
{
	for (struct ledger_entry *e = l->oldest; e; e = e->newer)
		if (e->state == LEDGER_STARTED)
			(void)!ledger_end(l, e, LEDGER_INTERRUPTED, 0, (struct str){0});
}

static int ledger_begin_boot(struct ledger *l)
{
	uint8_t box[LEDGER_KEY];
	bool is_new = !l->box[0];
	char number[16];
	int r = 0;

	if (is_new) {
		r = random_bytes(box, sizeof(box));
		if (!r)
			hex_encode(box, sizeof(box), l->box);
	}
	l->boot++;
	if (!r)
		r = ledger_add_box(l);
	if (r && is_new)
		return r;
	snprintf(number, sizeof(number), "%u", l->boot);
	ledger_post_event(l, LEDGER_EVENT_BOOT, 1, str_c(number));
	ledger_interrupt_started(l);
	return 0;
}

int ledger_lock_file(int fd, uint64_t deadline)
{
	/* Some file systems have no locks: then the file is used without one. */
	return lock_file(fd, deadline) == -EBUSY ? -EBUSY : 0;
}

/* Whether name still refers to the open file. */
static bool ledger_is_same_file(int fd, int dir, const char *name)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 &&
		fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/*
 * The process that has the lock may be about to end, or to give the name to a new file:
 * in that case the lock is on a file that has lost its name, and the name is opened
 * again.
 */
static int ledger_open_name(int dir, const char *name)
{
	uint64_t deadline = clock_ms() + LEDGER_CLAIM_MS;
	int fd, r;

	do {
		fd = fd_openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
		r = fd < 0 ? fd : ledger_lock_file(fd, deadline);
		if (!r && ledger_is_same_file(fd, dir, name))
			return fd;
		fd_close(&fd);
	} while (!r && clock_ms() < deadline);
	return r ? r : -EBUSY;
}

/* Reads the key of the sandbox from the first record; false: there is none. */
static bool ledger_read_box_key(int fd, uint8_t key[LEDGER_KEY])
{
	uint8_t start[JOURNAL_FIRST + LEDGER_KEY];

	if (fd_read_all_at(fd, 0, start, sizeof(start)) ||
		memcmp(start, JOURNAL_MAGIC, sizeof(JOURNAL_MAGIC) - 1) != 0)
		return false;
	memcpy(key, start + JOURNAL_FIRST, LEDGER_KEY);
	return true;
}

/*
 * Chooses between the file that an earlier process had open and the file of that name. If
 * the process was killed just after it had given the name to a new file, the new file has
 * all entries and is used.
 */
static int ledger_choose_file(int dir, const char *name, int fd)
{
	uint8_t here[LEDGER_KEY], there[LEDGER_KEY];
	int named = fd_openat(dir, name, O_RDWR | O_NOFOLLOW, 0);

	if (named < 0)
		return fd;
	/*
	 * The name may belong to another sandbox, while this one has its ledger in
	 * memory.
	 */
	if (ledger_is_same_file(fd, dir, name) || !ledger_read_box_key(fd, here) ||
		!ledger_read_box_key(named, there) ||
		memcmp(here, there, sizeof(here)) != 0) {
		fd_close(&named);
		return fd;
	}
	fd_close(&fd);
	/*
	 * The file is ours, even if a dying process of this sandbox still holds the lock.
	 */
	(void)!ledger_lock_file(named, 0);
	return named;
}

/* Whether the file that an earlier process had open still has a name. */
static bool ledger_has_name(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

int ledger_open(
	struct ledger *l, int dir, const char *name, int fd, bool sync, uint64_t *torn)
{
	struct ledger made = {.dir = dir, .name = name, .sync = sync, .journal.fd = fd};
	int r;

	if (fd >= 0 && dir >= 0) {
		made.journal.fd = ledger_choose_file(dir, name, fd);
		/*
		 * A file without a name counts as memory; the name may belong to another
		 * sandbox.
		 */
		if (!ledger_has_name(made.journal.fd))
			made.dir = -1;
	}
	if (fd < 0)
		made.journal.fd = dir < 0 ? fd_create_memory("od-ledger", 0)
					  : ledger_open_name(dir, name);
	if (made.journal.fd < 0)
		return made.journal.fd;
	r = journal_begin(
		&made.journal, made.journal.fd, ledger_read_record, &made, torn);
	if (!r)
		r = ledger_save_torn(&made, *torn);
	/* The writer was killed between the record and its event. */
	if (!r && made.unposted)
		ledger_post_state(&made, made.unposted);
	if (!r && fd < 0)
		r = ledger_begin_boot(&made);
	if (r) {
		ledger_close(&made);
		return r;
	}
	*l = made;
	return 0;
}

void ledger_close(struct ledger *l)
{
	struct ledger_entry *next;

	for (struct ledger_entry *e = l->oldest; e; e = next) {
		next = e->newer;
		free(e);
	}
	ledger_shrink_stop(l);
	free(l->slots);
	free(l->evicted);
	free(l->events);
	fd_close(&l->journal.fd);
	*l = (struct ledger){.dir = -1, .journal.fd = -1};
}

/* --- The steps of an action ----------------------------------------------------- */

/* Removes an entry that could not be recorded: the id is new again. */
static void ledger_drop_entry(struct ledger *l, struct ledger_entry *e)
{
	uint8_t key[LEDGER_KEY];

	ledger_make_key(str_c(e->id), key);
	ledger_drop_slot(l, key);
	ledger_unlink(l, e);
	free(e);
}

/* With its request if that is not NULL. */
static int ledger_accept_entry(struct ledger *l, struct str id,
	const uint8_t body[SHA256_LEN], uint8_t how, const struct str *request,
	struct ledger_entry **e)
{
	uint64_t asks = l->dir < 0 ? LEDGER_MEMORY : LEDGER_BYTES;
	struct ledger_entry *made;
	int r;

	assert(ledger_is_id(id));
	if (l->open >= LEDGER_OPEN_MAX ||
		(request && l->request_bytes + request->n > asks))
		return ERR_LIMIT;
	r = ledger_entry_new(l, id, body, l->seq + 1, &made);
	if (r)
		return r;
	made->request_kind = how;
	r = request ? ledger_add_queue(l, made, *request) : ledger_add_accept(l, made);
	if (r) {
		made->request_n = 0;
		ledger_drop_entry(l, made);
		return r;
	}
	l->seq++;
	l->request_bytes += made->request_n;
	ledger_post_state(l, made);
	ledger_evict_oldest(l, made);
	*e = made;
	return 0;
}

int ledger_accept(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	struct ledger_entry **e)
{
	return ledger_accept_entry(l, id, body, 0, NULL, e);
}

int ledger_queue(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	uint8_t how, struct str request, struct ledger_entry **e)
{
	return ledger_accept_entry(l, id, body, how, &request, e);
}

int ledger_start(struct ledger *l, struct ledger_entry *e)
{
	uint32_t before = e->boot;
	int r;

	e->boot = l->boot;
	e->begun = clock_ms();
	r = ledger_add_start(l, e);
	if (r) {
		e->boot = before;
		return r;
	}
	ledger_set_state(l, e, LEDGER_STARTED);
	ledger_post_state(l, e);
	return 0;
}

int ledger_begin(struct ledger *l, struct str id, const uint8_t body[SHA256_LEN],
	struct ledger_entry **e)
{
	uint64_t before = l->journal.size, told = l->event;
	struct ledger_entry *made;
	int r = ledger_accept(l, id, body, &made);

	if (r)
		return r;
	r = ledger_start(l, made);
	if (r) {
		ledger_drop_entry(l, made);
		journal_undo(&l->journal, before);
		ledger_undo_events(l, told);
		return r;
	}
	*e = made;
	return 0;
}

int ledger_end(struct ledger *l, struct ledger_entry *e, enum ledger_state how,
	unsigned status, struct str answer)
{
	uint64_t at = 0;
	int r;

	ledger_close_output(l, e);
	r = ledger_add_end(l, e, how, status, answer, &at);
	ledger_set_state(l, e, how);
	if (!r) {
		e->status = status;
		e->at = at;
		e->n = answer.n;
		l->answers += answer.n;
	} else if (ledger_add_end(l, e, how, 0, (struct str){0}, &e->at) < 0) {
		/*
		 * Without an end record, the next start marks the action as interrupted.
		 */
		e->at = 0;
	}
	ledger_post_state(l, e);
	ledger_evict_oldest(l, e);
	return r;
}

int ledger_cancel(struct ledger *l, struct ledger_entry *e, uint8_t how)
{
	uint8_t before = e->cancel;
	int r;

	e->cancel = how;
	r = how == before ? 0 : ledger_add_cancel(l, e);
	if (r)
		e->cancel = before;
	else if (how != before)
		ledger_post_event(l, LEDGER_EVENT_CANCEL, how, str_c(e->id));
	return r;
}

int ledger_ack(struct ledger *l, struct ledger_entry *e)
{
	int r = e->acked ? 0 : ledger_add_ack(l, e);

	if (r)
		return r;
	e->acked = true;
	ledger_drop_output(l, e);
	return 0;
}

static int ledger_read_bytes(
	const struct ledger *l, uint64_t at, uint64_t n, struct buf *out)
{
	char *p;
	int r;

	if (!n)
		return 0;
	p = buf_reserve(out, (size_t)n);
	if (!p)
		return out->err;
	r = journal_read(&l->journal, at, p, (size_t)n);
	if (!r)
		buf_commit(out, (size_t)n);
	return r;
}

int ledger_read_answer(
	const struct ledger *l, const struct ledger_entry *e, struct buf *out)
{
	return ledger_read_bytes(l, e->at, e->n, out);
}

int ledger_read_answer_part(const struct ledger *l, const struct ledger_entry *e,
	uint64_t at, size_t n, struct buf *out)
{
	return ledger_read_bytes(l, e->at + at, n, out);
}

int ledger_read_request(
	const struct ledger *l, const struct ledger_entry *e, struct buf *out)
{
	return ledger_read_bytes(l, e->request_at, e->request_n, out);
}
