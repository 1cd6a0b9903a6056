#include "base/sha256_cpu.h"

/* clang declares the ARMv8 instructions only in files compiled for a target with them. */
#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__clang__))

/* FIPS 180-4, 4.2.2. */
static const uint32_t constants[64]
	__attribute__((aligned(16))) = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
		0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
		0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
		0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
		0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
		0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138,
		0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
		0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
		0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
		0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f,
		0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#endif

/*
 * Both do four rounds at once, and at the same time compute four words of the schedule
 * from the sixteen before them. The last sixteen computed words are not used.
 */
#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

static bool sha256_cpu_is_supported(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
		return false;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

__attribute__((target("sha,sse4.1"))) static void sha256_cpu_hash_blocks(
	uint32_t s[8], const uint8_t *p, size_t n)
{
	const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i abef = _mm_set_epi32((int)s[0], (int)s[1], (int)s[4], (int)s[5]);
	__m128i cdgh = _mm_set_epi32((int)s[2], (int)s[3], (int)s[6], (int)s[7]);
	uint32_t out[8];

	for (; n; n--, p += 64) {
		const __m128i abef0 = abef, cdgh0 = cdgh;
		const __m128i *in = (const void *)p, *k = (const void *)constants;
		__m128i w0 = _mm_shuffle_epi8(_mm_loadu_si128(in), order);
		__m128i w1 = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), order);
		__m128i w2 = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), order);
		__m128i w3 = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), order);

		for (int i = 0; i < 16; i++) {
			__m128i wk = _mm_add_epi32(w0, k[i]);
			__m128i next = _mm_add_epi32(
				_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));

			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
			wk = _mm_shuffle_epi32(wk, 0x0e);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, wk);
			w0 = w1, w1 = w2, w2 = w3;
			w3 = _mm_sha256msg2_epu32(next, w2);
		}
		abef = _mm_add_epi32(abef, abef0);
		cdgh = _mm_add_epi32(cdgh, cdgh0);
	}
	_mm_storeu_si128((void *)out, abef);
	_mm_storeu_si128((void *)(out + 4), cdgh);
	s[0] = out[3], s[1] = out[2], s[4] = out[1], s[5] = out[0];
	s[2] = out[7], s[3] = out[6], s[6] = out[5], s[7] = out[4];
}

#elif defined(__aarch64__) && !defined(__clang__)

#include <arm_neon.h>
#include <sys/auxv.h>

static bool sha256_cpu_is_supported(void)
{
	const unsigned long hwcap_sha2 = 1 << 6;

	return getauxval(AT_HWCAP) & hwcap_sha2;
}

static inline uint32x4_t sha256_cpu_load(const uint8_t *p)
{
	return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(p)));
}

__attribute__((target("+crypto"))) static void sha256_cpu_hash_blocks(
	uint32_t s[8], const uint8_t *p, size_t n)
{
	uint32x4_t abcd = vld1q_u32(s), efgh = vld1q_u32(s + 4);

	for (; n; n--, p += 64) {
		const uint32x4_t abcd0 = abcd, efgh0 = efgh;
		uint32x4_t w0 = sha256_cpu_load(p), w1 = sha256_cpu_load(p + 16);
		uint32x4_t w2 = sha256_cpu_load(p + 32), w3 = sha256_cpu_load(p + 48);

		for (int i = 0; i < 16; i++) {
			uint32x4_t wk = vaddq_u32(w0, vld1q_u32(constants + 4 * i));
			uint32x4_t next =
				vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3);
			uint32x4_t before = abcd;

			abcd = vsha256hq_u32(abcd, efgh, wk);
			efgh = vsha256h2q_u32(efgh, before, wk);
			w0 = w1, w1 = w2, w2 = w3, w3 = next;
		}
		abcd = vaddq_u32(abcd, abcd0);
		efgh = vaddq_u32(efgh, efgh0);
	}
	vst1q_u32(s, abcd);
	vst1q_u32(s + 4, efgh);
}

#else

static bool sha256_cpu_is_supported(void)
{
	return false;
}

static void sha256_cpu_hash_blocks(uint32_t s[8], const uint8_t *p, size_t n)
{
	(void)s, (void)p, (void)n;
}

#endif

bool sha256_cpu_update(uint32_t state[8], const uint8_t *p, size_t n)
{
	static enum { UNASKED, KNOWN, UNKNOWN } cpu;

	/* In a virtual machine, CPUID traps into the hypervisor: it is executed once. */
	if (cpu == UNASKED)
		cpu = sha256_cpu_is_supported() ? KNOWN : UNKNOWN;
	if (cpu == KNOWN)
		sha256_cpu_hash_blocks(state, p, n);
	return cpu == KNOWN;
}
