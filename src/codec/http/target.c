#include "codec/http/target.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

/* Bytes that a segment may contain besides unreserved ones (RFC 3986, 3.3). */
#define SEGMENT_BYTES ":@"

void target_init(struct target *t, size_t max)
{
	*t = (struct target){.text = BUF_INIT(max)};
}

void target_reset(struct target *t)
{
	buf_reset(&t->text);
	t->query = false;
}

void target_free(struct target *t)
{
	buf_free(&t->text);
}

static void target_fail(struct target *t)
{
	if (!t->text.err)
		t->text.err = -EINVAL;
}

static bool target_is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static void target_put_segment(struct target *t, struct str s)
{
	bool bad = !s.n || str_eq(s, STR(".")) || str_eq(s, STR(".."));

	for (size_t i = 0; i < s.n && !bad; i++)
		bad = s.p[i] == '/' || target_is_control(s.p[i]);
	if (bad)
		target_fail(t);
	else
		buf_percent(&t->text, s, SEGMENT_BYTES);
}

static void target_put_value(struct target *t, struct str s)
{
	if (!t->query)
		target_put_segment(t, s);
	else if (s.n && memchr(s.p, '\0', s.n))
		target_fail(t);
	else
		buf_percent(&t->text, s, "");
}

static void target_put_literal(struct target *t, struct str s)
{
	buf_str(&t->text, s);
	t->query = t->query || str_find_byte(s, '?') < s.n;
}

/*
 * Appends the value of a directive. fmt points behind the '%'. Returns the length of the
 * directive there.
 */
static size_t target_put_directive(struct target *t, const char *fmt, va_list *ap)
{
	if (*fmt == '%') {
		buf_putc(&t->text, '%');
		return 1;
	}
	if (*fmt == 's') {
		target_put_value(t, str_c(va_arg(*ap, const char *)));
		return 1;
	}
	if (strncmp(fmt, ".*s", 3) == 0) {
		int n = va_arg(*ap, int);

		target_put_value(t, str_make(va_arg(*ap, const char *), (size_t)n));
		return 3;
	}
	if (*fmt == 'd') {
		buf_fmt(&t->text, "%d", va_arg(*ap, int));
		return 1;
	}
	if (*fmt == 'u') {
		buf_fmt(&t->text, "%u", va_arg(*ap, unsigned));
		return 1;
	}
	if (strncmp(fmt, "llu", 3) == 0) {
		buf_fmt(&t->text, "%llu", va_arg(*ap, unsigned long long));
		return 3;
	}
	assert(!"a directive that targets do not have");
	return 0;
}

void target_add_list(struct target *t, const char *fmt, va_list ap)
{
	va_list values;

	va_copy(values, ap);
	while (*fmt) {
		size_t n = strcspn(fmt, "%");

		target_put_literal(t, str_make(fmt, n));
		fmt += n;
		if (*fmt)
			fmt += 1 + target_put_directive(t, fmt + 1, &values);
	}
	va_end(values);
}

void target_add(struct target *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	target_add_list(t, fmt, ap);
	va_end(ap);
}

void target_add_name(struct target *t, struct str name)
{
	size_t n;

	do {
		n = str_find_byte(name, '/');
		target_put_segment(t, str_make(name.p, n));
		if (n < name.n)
			buf_putc(&t->text, '/');
		name = str_skip(name, n < name.n ? n + 1 : n);
		/* If a name ends in a slash, its last segment is empty. */
		if (!name.n && t->text.n && t->text.p[t->text.n - 1] == '/')
			target_fail(t);
	} while (name.n);
}

void target_set_reference(struct target *t, struct str reference)
{
	buf_reset(&t->text);
	t->query = str_find_byte(reference, '?') < reference.n;
	buf_str(&t->text, reference);
	for (size_t i = 0; i < reference.n; i++)
		if (reference.p[i] <= ' ' || reference.p[i] >= 0x7f)
			target_fail(t);
	if (!reference.n)
		target_fail(t);
}

void target_set_url(struct target *t, const struct url *u)
{
	target_set_reference(t, u->target);
}

int target_error(const struct target *t)
{
	return t->text.err;
}

struct str target_view(const struct target *t)
{
	return t->text.err ? (struct str){0} : buf_view(&t->text);
}
