/*
 * Test Anything Protocol for unit tests: one program per module, one check per
 * line of output. Include it in one file of the program only.
 *
 *	int main(void)
 *	{
 *		ok(cond, "name %d", i);
 *		is_int(got, want, "name");
 *		is_str(got, "want", "name");          C strings, NULL allowed
 *		is_mem(got, got_n, want, want_n, "name");
 *		is_view(str, "want", "name");         struct str against a literal
 *		skip("name", "why it cannot run here");
 *		return done_testing();
 *	}
 *
 * Every check returns whether it passed. A failure names its file and line, got
 * and wanted; the program goes on and ends with status 1.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TAP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

static int tap_run, tap_failed;

/* The line of one check; a name must not hold a '#', which starts a directive. */
static inline bool TAP_PRINTF(4, 0)
	tap_line(bool good, const char *file, int line, const char *fmt, va_list ap)
{
	printf("%sok %d - ", good ? "" : "not ", ++tap_run);
	vprintf(fmt, ap);
	putchar('\n');
	if (!good) {
		tap_failed++;
		printf("#   failed at %s:%d\n", file, line);
	}
	/* A crash later must not swallow what is known by now. */
	fflush(stdout);
	return good;
}

static inline bool TAP_PRINTF(4, 5)
	tap_ok(bool good, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(good, file, line, fmt, ap);
	va_end(ap);
	return good;
}

static inline bool TAP_PRINTF(5, 6) tap_int(
	long long got, long long want, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(got == want, file, line, fmt, ap);
	va_end(ap);
	if (got != want)
		printf("#   got    %lld\n#   wanted %lld\n", got, want);
	return got == want;
}

/* Printable bytes as they are, others as \xNN, cut after a few lines' worth. */
static inline void tap_bytes(const char *label, const void *p, size_t n)
{
	const unsigned char *c = p;
	size_t shown = n < 512 ? n : 512;

	printf("#   %s ", label);
	if (!p) {
		printf("NULL\n");
		return;
	}
	printf("(%zu bytes) \"", n);
	for (size_t i = 0; i < shown; i++)
		if (c[i] < 0x20 || c[i] > 0x7e || c[i] == '"' || c[i] == '\\')
			printf("\\x%02x", c[i]);
		else
			putchar(c[i]);
	printf("\"%s\n", shown < n ? "..." : "");
}

static inline bool TAP_PRINTF(7, 8) tap_mem(const void *got, size_t got_n,
	const void *want, size_t want_n, const char *file, int line, const char *fmt, ...)
{
	bool good = got_n == want_n && !got == !want;
	va_list ap;

	if (good && got_n)
		good = memcmp(got, want, got_n) == 0;
	va_start(ap, fmt);
	tap_line(good, file, line, fmt, ap);
	va_end(ap);
	if (!good) {
		tap_bytes("got   ", got, got_n);
		tap_bytes("wanted", want, want_n);
	}
	return good;
}

static inline size_t tap_len(const char *c)
{
	return c ? strlen(c) : 0;
}

static inline void skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_run, name, why);
	fflush(stdout);
}

/* Prints the plan; the exit status of main. No check at all is a failure. */
static inline int done_testing(void)
{
	printf("1..%d\n", tap_run);
	if (tap_failed)
		printf("# %d of %d checks failed\n", tap_failed, tap_run);
	return tap_failed || !tap_run;
}

#define ok(cond, ...) tap_ok(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...) \
	tap_int((long long)(got), (long long)(want), __FILE__, __LINE__, __VA_ARGS__)
#define is_mem(got, got_n, want, want_n, ...) \
	tap_mem((got), (got_n), (want), (want_n), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) \
	({ \
		const char *tap_g = (got), *tap_w = (want); \
		is_mem(tap_g, tap_len(tap_g), tap_w, tap_len(tap_w), __VA_ARGS__); \
	})
/* The empty view equals "" whether its pointer is NULL or not. */
#define is_view(got, want, ...) \
	({ \
		__typeof__(got) tap_g = (got); \
		const char *tap_w = (want); \
		is_mem(tap_g.n ? tap_g.p : "", tap_g.n, tap_w, strlen(tap_w), \
			__VA_ARGS__); \
	})

#endif
