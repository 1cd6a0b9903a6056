#include "base/hash.h"

#include "tests/tap.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Examples of FIPS 180-4 and its predecessor. */
static const struct {
	const char *text;
	const char *hex;
} vectors[] = {
	{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
	 "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		"cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

static void is_digest(const uint8_t *got, const char *hex, const char *name)
{
	char text[SHA256_HEX + 1];

	hex_encode(got, SHA256_LEN, text);
	is_str(text, hex, "%s", name);
}

static void test_sha256(void)
{
	uint8_t out[SHA256_LEN];
	struct sha256 h;
	char block[1000];

	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		sha256_compute(str_c(vectors[i].text), out);
		is_digest(out, vectors[i].hex, "a vector of the standard");
	}
	memset(block, 'a', sizeof(block));
	sha256_init(&h);
	for (int i = 0; i < 1000; i++)
		sha256_update(&h, block, sizeof(block));
	sha256_final(&h, out);
	is_digest(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
		"a million times a");
}

static void test_splits(void)
{
	struct str s = str_c(vectors[3].text);
	uint8_t whole[SHA256_LEN], split[SHA256_LEN];
	bool same = true;

	sha256_compute(s, whole);
	for (size_t i = 0; i <= s.n; i++) {
		struct sha256 h;

		sha256_init(&h);
		sha256_update(&h, s.p, i);
		sha256_final(&h, split);
		sha256_update(&h, s.p + i, s.n - i);
		sha256_final(&h, split);
		same = same && hash_equal(whole, split, SHA256_LEN);
	}
	ok(same, "a split anywhere, with a look in between, changes nothing");
}

/* Whatever the processor does, against BearSSL's C. */
static void test_lengths(void)
{
	uint8_t text[3 * 256], got[SHA256_LEN], want[SHA256_LEN];
	size_t differ = 0;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 167 + i / 256);
	for (size_t n = 0; n <= 256; n++)
		for (size_t cut = 0; cut <= n; cut++) {
			br_sha256_context plain;
			struct sha256 h;

			br_sha256_init(&plain);
			br_sha256_update(&plain, text + n, n);
			br_sha256_out(&plain, want);
			sha256_init(&h);
			sha256_update(&h, text + n, cut);
			sha256_update(&h, text + n + cut, n - cut);
			sha256_final(&h, got);
			differ += !hash_equal(got, want, SHA256_LEN);
		}
	is_int((long)differ, 0, "every length up to four blocks, cut anywhere");
}

/* RFC 4231, some of its cases; the last key is longer than a block. */
static void test_hmac(void)
{
	static char long_key[131],
		long_text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	const struct {
		struct str key, text;
		const char *mac;
	} cases[] = {
		{STR("Jefe"), STR("what do ya want for nothing?"),
			"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec384"
			"3"},
		{str_make(long_key, sizeof(long_key)), str_c(long_text),
			"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f5"
			"4"},
		{STR(""), STR(""),
			"b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5a"
			"d"},
	};
	uint8_t mac[SHA256_LEN];
	struct hmac_key k;
	struct sha256 h;

	memset(long_key, 0xaa, sizeof(long_key));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		hmac_key_init(&k, cases[i].key);
		for (size_t cut = 0; cut <= cases[i].text.n; cut += 7) {
			hmac_begin(&k, &h);
			sha256_update(&h, cases[i].text.p, cut);
			sha256_update(&h, cases[i].text.p + cut, cases[i].text.n - cut);
			hmac_end(&k, &h, mac);
			is_digest(mac, cases[i].mac, "a case of the RFC");
		}
	}
}

static void test_hex(void)
{
	uint8_t out[3] = {9, 9, 9};
	char text[7];

	hex_encode((const uint8_t *)"\x00\xaf\xff", 3, text);
	is_str(text, "00afff", "encoded in lower case");
	is_int(hex_decode(STR("00aFFf"), out, 3), 0, "either case is decoded");
	is_mem(out, 3, "\x00\xaf\xff", 3, "to the bytes");
	is_int(hex_decode(STR("0102"), out, 3), ERR_SYNTAX, "too short");
	is_int(hex_decode(STR("01020304"), out, 3), ERR_SYNTAX, "too long");
	is_int(hex_decode(STR("01020g"), out, 3), ERR_SYNTAX, "no digit");
	is_int(hex_decode(STR("0102 1"), out, 3), ERR_SYNTAX, "a blank");
	is_int(hex_decode(STR("01@203"), out, 3), ERR_SYNTAX, "just below A");
	is_int(hex_decode(STR("01`203"), out, 3), ERR_SYNTAX, "just below a");
	is_int(hex_decode(STR("01\0"
			      "203"),
		       out, 3),
		ERR_SYNTAX, "a NUL");
	is_mem(out, 3, "\x00\xaf\xff", 3, "out is untouched on failure");
	is_int(hex_decode(STR(""), out, 0), 0, "nothing of nothing");
}

static void test_equal(void)
{
	uint8_t a[32] = {0}, b[32] = {0};
	bool seen = true;

	ok(hash_equal(a, b, 32), "equal");
	ok(hash_equal(a, b, 0), "nothing is equal to nothing");
	for (size_t i = 0; i < 32 * 8; i++) {
		b[i / 8] ^= (uint8_t)(1 << i % 8);
		seen = seen && !hash_equal(a, b, 32);
		b[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	ok(seen, "every bit counts");
}

static void test_random(void)
{
	static uint8_t big[1000];
	uint8_t a[32] = {0}, b[32] = {0};
	size_t zeros = 0;

	is_int(random_bytes(a, sizeof(a)), 0, "random bytes");
	is_int(random_bytes(b, sizeof(b)), 0, "and more");
	ok(!hash_equal(a, b, 32), "differ");
	is_int(random_bytes(big, sizeof(big)), 0, "more than one call gives");
	for (size_t i = 0; i < sizeof(big); i++)
		zeros += big[i] == 0;
	ok(zeros < 40, "are filled to the end");
	ok(memchr(big + 900, 0, 100) != big + 900 || big[901], "also the last part");
	is_int(random_bytes(a, 0), 0, "no bytes are no error");
}

/*
 * Copies of one process go on like machines that are resumed from one snapshot: a
 * generator in the process would give all of them the same bytes.
 */
static void test_forked(void)
{
	enum { COPIES = 8 };
	uint8_t got[COPIES][16], before[16];
	int ends[2];

	if (!is_int(random_bytes(before, sizeof(before)), 0, "the parent has a seed"))
		return;
	if (!ok(pipe(ends) == 0, "a pipe"))
		return;
	for (int i = 0; i < COPIES; i++) {
		uint8_t bytes[16];

		if (fork())
			continue;
		if (random_bytes(bytes, sizeof(bytes)) ||
			write(ends[1], bytes, sizeof(bytes)) != sizeof(bytes))
			_exit(1);
		_exit(0);
	}
	for (int i = 0; i < COPIES; i++)
		is_int(read(ends[0], got[i], sizeof(got[i])), sizeof(got[i]),
			"a copy has random bytes");
	for (int i = 0; i < COPIES; i++)
		for (int k = 0; k < i; k++)
			ok(!hash_equal(got[i], got[k], sizeof(got[i])),
				"copies %d and %d of a process get other bytes", k, i);
	while (wait(NULL) > 0)
		;
	close(ends[0]);
	close(ends[1]);
}

/* Makes the kernel answer two system calls with an error from now on. */
static bool refuse(unsigned call1, unsigned call2, unsigned err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call1, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_LEN(code), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

enum { AS_WANTED = 0, NOT_SO = 1, NO_SECCOMP = 2 };

static int without_getrandom(unsigned err)
{
	uint8_t a[32] = {0}, b[32] = {0};

	if (!refuse(SYS_getrandom, SYS_getrandom, err))
		return NO_SECCOMP;
	return !random_bytes(a, 32) && !random_bytes(b, 32) && !hash_equal(a, b, 32)
		? AS_WANTED
		: NOT_SO;
}

static int without_both(unsigned err)
{
	uint8_t a[32];

	if (!refuse(SYS_getrandom, SYS_openat, err))
		return NO_SECCOMP;
	return random_bytes(a, 32) == -(int)err ? AS_WANTED : NOT_SO;
}

/* Runs f in a process of its own, because a filter is for life. */
static void in_child(int (*f)(unsigned), unsigned err, const char *name)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(f(err));
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		WEXITSTATUS(status) == NO_SECCOMP)
		skip(name, "no seccomp here");
	else
		is_int(status, 0, "%s", name);
}

static void test_old_kernels(void)
{
	in_child(without_getrandom, ENOSYS, "without getrandom /dev/urandom is read");
	in_child(without_getrandom, EPERM, "the same where a filter refuses it");
	in_child(without_both, EACCES, "without both there is an error");
}

int main(void)
{
	test_sha256();
	test_splits();
	test_lengths();
	test_hmac();
	test_hex();
	test_equal();
	test_random();
	test_forked();
	test_old_kernels();
	return done_testing();
}
