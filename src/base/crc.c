#include "base/crc.h"

#include <zlib.h>

/* crc_update by zlib, whose lengths are unsigned int. */
static uint32_t crc_update_zlib(uint32_t crc, const char *p, size_t n)
{
	const size_t most = (size_t)1 << 30;

	/* crc32 with a NULL address would return the initial value. */
	if (n == 0)
		return crc;
	for (; n > most; p += most, n -= most)
		crc = (uint32_t)crc32(crc, (const unsigned char *)p, (unsigned)most);
	return (uint32_t)crc32(crc, (const unsigned char *)p, (unsigned)n);
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

enum { LANE = 16, FOLD = 4 * LANE };

static bool crc_has_clmul(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_PCLMUL);
}

/* A value congruent to lane times the powers of x in k, plus next. */
__attribute__((target("pclmul"))) static inline __m128i crc_fold(
	__m128i lane, __m128i k, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(lane, k, 0x00);
	__m128i high = _mm_clmulepi64_si128(lane, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/*
 * A message is a polynomial and its checksum the remainder of a division, so that any
 * value with an equal remainder may replace it. Four lanes go over n bytes, at least FOLD
 * and a multiple of it. Each lane is multiplied by the power of x for the distance that
 * it is moved; the remaining lane replaces all of the bytes. The powers are x^(d+32) and
 * x^(d-32) mod P, bits reversed, for d of 512 and 128.
 */
__attribute__((target("pclmul"))) static void crc_reduce(
	uint32_t state, const char *p, size_t n, char left[LANE])
{
	const __m128i far = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i near = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	const __m128i *in = (const void *)p;
	__m128i a = _mm_xor_si128(_mm_loadu_si128(in), _mm_cvtsi32_si128((int)state));
	__m128i b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2);
	__m128i d = _mm_loadu_si128(in + 3);

	for (in += 4, n -= FOLD; n; in += 4, n -= FOLD) {
		a = crc_fold(a, far, _mm_loadu_si128(in));
		b = crc_fold(b, far, _mm_loadu_si128(in + 1));
		c = crc_fold(c, far, _mm_loadu_si128(in + 2));
		d = crc_fold(d, far, _mm_loadu_si128(in + 3));
	}
	_mm_storeu_si128(
		(void *)left, crc_fold(crc_fold(crc_fold(a, near, b), near, c), near, d));
}

/*
 * Processes a part of piece by the processor's instructions, if it has them. Returns the
 * number of bytes processed, 0 if there are too few.
 */
static size_t crc_update_cpu(uint32_t *crc, struct str piece)
{
	static enum { UNASKED, KNOWN, UNKNOWN } cpu;
	size_t n = piece.n - piece.n % FOLD;
	char left[LANE];

	/* In a virtual machine, CPUID traps into the hypervisor: it is executed once. */
	if (cpu == UNASKED)
		cpu = crc_has_clmul() ? KNOWN : UNKNOWN;
	if (cpu != KNOWN || n == 0)
		return 0;
	crc_reduce(~*crc, piece.p, n, left);
	/* zlib inverts the CRC that it is given: UINT32_MAX is the state 0. */
	*crc = crc_update_zlib(UINT32_MAX, left, LANE);
	return n;
}

#else

static size_t crc_update_cpu(uint32_t *crc, struct str piece)
{
	(void)crc, (void)piece;
	return 0;
}

#endif

uint32_t crc_update(uint32_t crc, struct str piece)
{
	piece = str_skip(piece, crc_update_cpu(&crc, piece));
	return crc_update_zlib(crc, piece.p, piece.n);
}
