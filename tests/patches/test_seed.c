/*
 * Where the seed of BearSSL's generator comes from
 * (third_party/patches/bearssl/02-getrandom.patch). The source is included with
 * the system calls replaced, so that every kernel and every container is here.
 */
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { FD = 77, SEED_LEN = 32 };

/* The machine as the seeder sees it, and what it does there. */
static struct machine {
	int getrandom_errno; /* 0: it works */
	int interrupts;      /* calls that first fail with EINTR */
	size_t chunk;        /* bytes per call at most */
	bool has_file;
	mode_t mode;
	dev_t device;
	size_t file_n;
	int opened, closed, flags;
	unsigned char next;
} m;

static struct machine sane = {
	.chunk = 256,
	.has_file = true,
	.mode = S_IFCHR | 0666,
	/* .device is set by main: makedev is no constant */
	.file_n = 1000,
};

static ssize_t fill(void *p, size_t n, size_t max)
{
	unsigned char *c = p;

	if (m.interrupts > 0) {
		m.interrupts--;
		errno = EINTR;
		return -1;
	}
	n = n < m.chunk ? n : m.chunk;
	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++)
		c[i] = ++m.next;
	return (ssize_t)n;
}

static ssize_t fake_getrandom(void *p, size_t n, unsigned flags)
{
	if (m.getrandom_errno || flags) {
		errno = m.getrandom_errno;
		return -1;
	}
	return fill(p, n, n);
}

static int fake_open(const char *path, int flags)
{
	m.flags = flags;
	if (!m.has_file || strcmp(path, "/dev/urandom") != 0) {
		errno = ENOENT;
		return -1;
	}
	m.opened++;
	return FD;
}

static int fake_fstat(int fd, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = m.mode;
	st->st_rdev = m.device;
	return fd == FD ? 0 : -1;
}

static ssize_t fake_read(int fd, void *p, size_t n)
{
	static int ends;
	ssize_t got = fd == FD ? fill(p, n, m.file_n) : -1;

	if (got > 0) {
		m.file_n -= (size_t)got;
	} else if (got == 0 && ++ends > 100) {
		printf("Bail out! the seeder reads past the end for ever\n");
		exit(1);
	}
	return got;
}

static int fake_close(int fd)
{
	m.closed += fd == FD;
	return 0;
}

#define getrandom fake_getrandom
#define open fake_open
#define fstat fake_fstat
#define read fake_read
#define close fake_close
#include "rand/sysrng.c"

/* A generator that only keeps its seed. */
static unsigned char seed[SEED_LEN];
static size_t seed_n;

static void keep(const br_prng_class **ctx, const void *p, size_t n)
{
	(void)ctx;
	seed_n = n;
	if (n == SEED_LEN)
		memcpy(seed, p, n);
}

static const br_prng_class recorder = {.update = keep};

/* Whether the seeder says it worked; it must then have given 32 fresh bytes. */
static bool seeds(struct machine machine)
{
	const br_prng_class *ctx = &recorder;
	br_prng_seeder seeder = br_prng_seeder_system(NULL);
	bool good;

	m = machine;
	seed_n = 0;
	good = seeder && seeder(&ctx);
	for (size_t i = 0; good && i < SEED_LEN; i++)
		good = seed[i] == i + 1;
	return good && seed_n == SEED_LEN;
}

/* With getrandom refused, everything depends on the file. */
static void test_file(int refusal)
{
	struct machine no_call = sane, w;

	no_call.getrandom_errno = refusal;
	ok(seeds(no_call), "errno %d: the device seeds", refusal);
	is_int(m.opened + m.closed, 2, "the device is opened and closed");
	ok(m.flags & O_CLOEXEC, "and no child inherits it");
	w = no_call;
	w.chunk = 1;
	w.interrupts = 3;
	ok(seeds(w), "the device may be slow and interrupted");
	w = no_call;
	w.has_file = false;
	ok(!seeds(w), "no device: no seed");
	w = no_call;
	w.mode = S_IFREG | 0644;
	ok(!seeds(w), "a plain file of that name is refused");
	is_int(seed_n, 0, "nothing of it is used");
	is_int(m.closed, 1, "it is closed");
	w = no_call;
	w.device = makedev(1, 5);
	ok(!seeds(w), "another device is refused");
	w = no_call;
	w.file_n = SEED_LEN - 1;
	ok(!seeds(w), "a device that ends too early is refused");
}

int main(void)
{
	struct machine w;

	sane.device = makedev(1, 9);
	ok(seeds(sane), "a sane machine seeds");
	is_int(m.opened, 0, "from getrandom, without opening a file");
	w = sane;
	w.has_file = false;
	ok(seeds(w), "a missing /dev/urandom is no problem");
	w = sane;
	w.chunk = 1;
	w.interrupts = 3;
	ok(seeds(w), "getrandom may be slow and interrupted");
	test_file(ENOSYS);
	test_file(EPERM);
	return done_testing();
}
