#include "action/ledger/journal.h"
#include "base/fd.h"
#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static char seen[4096];
static size_t seen_n;

static int note(void *ctx, const struct journal_entry *e)
{
	seen_n += (size_t)snprintf(seen + seen_n, sizeof(seen) - seen_n, "%u:%.*s ",
		e->type, (int)(e->peek.n > 20 ? 20 : e->peek.n), e->peek.p);
	return ctx ? *(int *)ctx : 0;
}

static int begin(struct journal *j, int fd, uint64_t *torn)
{
	seen_n = 0;
	seen[0] = '\0';
	return journal_begin(j, fd, note, NULL, torn);
}

static int file(void)
{
	int fd = memfd_create("journal", MFD_CLOEXEC);

	if (fd < 0)
		exit(1);
	return fd;
}

static uint64_t add(struct journal *j, uint8_t type, const char *text)
{
	struct str parts[2] = {str_c(text), {0}};
	uint64_t at = 0;

	parts[1] = str_skip(parts[0], parts[0].n / 2);
	parts[0].n -= parts[1].n;
	if (journal_add(j, type, parts, 2, true, &at) != 0)
		ok(false, "%s is added", text);
	return at;
}

static off_t length(int fd)
{
	return lseek(fd, 0, SEEK_END);
}

static void test_records(void)
{
	struct journal j, again;
	int fd = file();
	uint64_t torn = 7, at;
	char four[4];

	is_int(begin(&j, fd, &torn), 0, "an empty file");
	is_int((long long)torn, 0, "has nothing torn");
	is_str(seen, "", "and no records");
	add(&j, 1, "one");
	at = add(&j, 2, "four");
	add(&j, 255, "");
	is_int(journal_read(&j, at, four, 4), 0, "a payload");
	is_view(str_make(four, 4), "four", "is found again");
	is_int(journal_read(&j, j.size - 2, four, 4), ERR_CLOSED, "not beyond the end");
	is_int(begin(&again, fd, &torn), 0, "read again");
	is_str(seen, "1:one 2:four 255: ", "in order");
	is_int((long long)again.size, (long long)j.size, "up to the end");
	add(&again, 3, "more");
	is_int(journal_add(&again, 4, (struct str[]){{0}}, 1, false, &at), 0, "no bytes");
	is_int(begin(&j, fd, &torn), 0, "and again");
	is_str(seen, "1:one 2:four 255: 3:more 4: ", "with what was added since");
	close(fd);
}

/* Cut at every byte, or one byte of it wrong: a prefix is read, and all of that. */
static void test_torn(void)
{
	static const char *const wanted[] = {
		"", "1:one ", "1:one 2:two ", "1:one 2:two 3:three "};
	struct journal j;
	int fd = file();
	uint64_t torn, ends[4];
	char bytes[200];
	bool cuts = true, flips = true, on = true;
	ssize_t n;

	if (begin(&j, fd, &torn))
		exit(1);
	ends[0] = j.size;
	add(&j, 1, "one");
	ends[1] = j.size;
	add(&j, 2, "two");
	ends[2] = j.size;
	add(&j, 3, "three");
	ends[3] = j.size;
	n = pread(fd, bytes, sizeof(bytes), 0);
	for (ssize_t cut = 0; cut <= n; cut++) {
		int part = file();
		int whole = 3;

		while (whole && (ssize_t)ends[whole] > cut)
			whole--;
		if (write(part, bytes, (size_t)cut) != cut)
			exit(1);
		cuts = cuts && begin(&j, part, &torn) == 0 &&
			strcmp(seen, wanted[whole]) == 0 &&
			(cut < (ssize_t)ends[0] || torn == (uint64_t)cut - ends[whole]);
		add(&j, 9, "on");
		on = on && begin(&j, part, &torn) == 0 && torn == 0 &&
			strstr(seen, "9:on ") == seen + strlen(wanted[whole]);
		close(part);
	}
	ok(cuts, "cut at any byte, the whole records are read");
	ok(on, "and it goes on behind them");
	for (ssize_t at = (ssize_t)ends[0]; at < n; at++) {
		int part = file();
		int whole = 0;

		while ((ssize_t)ends[whole + 1] <= at)
			whole++;
		bytes[at] ^= 0x20;
		if (write(part, bytes, (size_t)n) != n)
			exit(1);
		bytes[at] ^= 0x20;
		flips = flips && begin(&j, part, &torn) == 0 &&
			strcmp(seen, wanted[whole]) == 0 &&
			torn == (uint64_t)n - ends[whole];
		close(part);
	}
	ok(flips, "one wrong byte: nothing from there on is read");
	close(fd);
}

static void test_refused(void)
{
	struct journal j = {.size = 5};
	int fd = file(), stop = -EPERM;
	uint64_t torn;

	if (write(fd, "something else", 14) != 14)
		exit(1);
	is_int(begin(&j, fd, &torn), ERR_VERSION, "another file");
	is_int((long long)j.size, 5, "nothing is told of it");
	is_int(length(fd), 14, "nor is it touched");
	close(fd);
	fd = file();
	is_int(begin(&j, fd, &torn), 0, "an empty one");
	add(&j, 1, "x");
	is_int(journal_begin(&j, fd, note, &stop, &torn), -EPERM,
		"the reader may stop it");
	close(fd);
	is_int(begin(&j, fd, &torn), -EBADF, "a file that cannot be read");
}

static void test_large(void)
{
	static char big[JOURNAL_RECORD_MAX + 1];
	struct str part = str_make(big, sizeof(big));
	struct journal j;
	int fd = file();
	uint64_t torn, at;

	memset(big, 'b', sizeof(big));
	is_int(begin(&j, fd, &torn), 0, "an empty file");
	is_int(journal_add(&j, 1, &part, 1, false, &at), ERR_LIMIT, "too long a record");
	part.n--;
	is_int(journal_add(&j, 1, &part, 1, false, &at), 0, "the longest");
	is_int(begin(&j, fd, &torn), 0, "is read again");
	is_str(seen, "1:bbbbbbbbbbbbbbbbbbbb ", "as it is");
	close(fd);
}

/* No room: the file is as it was, and takes what fits. */
static void test_full(void)
{
	char name[] = "/tmp/od-journal-XXXXXX";
	struct rlimit old, little;
	struct str part = STR("0123456789012345678901234567890123456789");
	struct journal j;
	uint64_t torn, at, size;
	int fd = mkstemp(name);

	if (fd < 0 || unlink(name) < 0)
		exit(1);
	signal(SIGXFSZ, SIG_IGN);
	is_int(begin(&j, fd, &torn), 0, "an empty file");
	add(&j, 1, "one");
	size = j.size;
	getrlimit(RLIMIT_FSIZE, &old);
	little = (struct rlimit){size + 30, old.rlim_max};
	setrlimit(RLIMIT_FSIZE, &little);
	is_int(journal_add(&j, 2, &part, 1, false, &at), -EFBIG, "no room for a record");
	is_int(length(fd), (long long)size, "nothing of it stays");
	part.n = 5;
	is_int(journal_add(&j, 3, &part, 1, false, &at), 0, "a shorter one");
	setrlimit(RLIMIT_FSIZE, &old);
	is_int(begin(&j, fd, &torn), 0, "all that was added");
	is_str(seen, "1:one 3:01234 ", "is there");
	close(fd);
}

int main(void)
{
	test_records();
	test_torn();
	test_refused();
	test_large();
	test_full();
	return done_testing();
}
