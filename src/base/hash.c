#include "base/hash.h"

#include "base/fd.h"
#include "base/sha256_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { BLOCK = 64 };

void sha256_init(struct sha256 *h)
{
	br_sha256_init(&h->ctx);
}

/*
 * Hashes whole blocks by the processor's instructions, if it has them; returns the number
 * of bytes hashed.
 */
static size_t sha256_update_blocks(br_sha256_context *ctx, const uint8_t *p, size_t n)
{
	uint8_t bytes[SHA256_LEN];
	uint32_t state[8];
	uint64_t count = br_sha256_state(ctx, bytes);

	n -= n % BLOCK;
	for (size_t i = 0; i < ARRAY_LEN(state); i++)
		state[i] = (uint32_t)bytes[4 * i] << 24 |
			(uint32_t)bytes[4 * i + 1] << 16 |
			(uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
	if (!sha256_cpu_update(state, p, n / BLOCK))
		return 0;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(state[i / 4] >> (24 - i % 4 * 8));
	br_sha256_set_state(ctx, bytes, count + n);
	return n;
}

void sha256_update(struct sha256 *h, const void *p, size_t n)
{
	uint8_t state[SHA256_LEN];
	size_t begun = br_sha256_state(&h->ctx, state) % BLOCK;
	size_t first = begun ? BLOCK - begun : 0;
	const uint8_t *at = p;

	if (n >= first + BLOCK) {
		br_sha256_update(&h->ctx, at, first);
		first += sha256_update_blocks(&h->ctx, at + first, n - first);
		at += first;
		n -= first;
	}
	br_sha256_update(&h->ctx, at, n);
}

void sha256_final(const struct sha256 *h, uint8_t out[SHA256_LEN])
{
	br_sha256_out(&h->ctx, out);
}

void sha256_compute(struct str s, uint8_t out[SHA256_LEN])
{
	struct sha256 h;

	sha256_init(&h);
	sha256_update(&h, s.p, s.n);
	sha256_final(&h, out);
}

/* Starts a hash with the block of the key, each byte XORed with the byte with. */
static void hmac_init_pad(struct sha256 *h, const uint8_t key[BLOCK], uint8_t with)
{
	uint8_t block[BLOCK];

	for (size_t i = 0; i < BLOCK; i++)
		block[i] = key[i] ^ with;
	sha256_init(h);
	sha256_update(h, block, sizeof(block));
}

void hmac_key_init(struct hmac_key *k, struct str key)
{
	uint8_t block[BLOCK] = {0};

	if (key.n > sizeof(block))
		sha256_compute(key, block);
	else if (key.n)
		memcpy(block, key.p, key.n);
	hmac_init_pad(&k->inner, block, 0x36);
	hmac_init_pad(&k->outer, block, 0x5c);
}

void hmac_begin(const struct hmac_key *k, struct sha256 *h)
{
	*h = k->inner;
}

void hmac_end(const struct hmac_key *k, const struct sha256 *h, uint8_t out[SHA256_LEN])
{
	struct sha256 outer = k->outer;
	uint8_t inner[SHA256_LEN];

	sha256_final(h, inner);
	sha256_update(&outer, inner, sizeof(inner));
	sha256_final(&outer, out);
}

void hex_encode(const uint8_t *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * n] = '\0';
}

static int hex_parse_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hex_decode(struct str hex, uint8_t *out, size_t n)
{
	if (hex.n != 2 * n)
		return ERR_SYNTAX;
	for (size_t i = 0; i < hex.n; i++)
		if (hex_parse_digit(hex.p[i]) < 0)
			return ERR_SYNTAX;
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(hex_parse_digit(hex.p[2 * i]) * 16 +
			hex_parse_digit(hex.p[2 * i + 1]));
	return 0;
}

bool hash_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
	volatile uint8_t diff = 0;

	for (size_t i = 0; i < n; i++)
		diff |= a[i] ^ b[i];
	return diff == 0;
}

/* Only the real device counts: a plain file of that name is no source of secrets. */
static int random_read_device(char *p, size_t n)
{
	struct stat st;
	int fd = fd_open("/dev/urandom", O_RDONLY, 0);
	ssize_t got;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 9))
		got = -ENODEV;
	else
		got = fd_read_full(fd, p, n);
	fd_close(&fd);
	return got < 0 ? (int)got : (size_t)got < n ? -EIO : 0;
}

int random_bytes(void *p, size_t n)
{
	char *at = p;

	while (n) {
		size_t want = n < 256 ? n : 256;
		ssize_t got = getrandom(at, want, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return random_read_device(at, n);
		at += got;
		n -= (size_t)got;
	}
	return 0;
}
