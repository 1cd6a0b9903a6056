#include "inject/names/ref.h"

#include <ctype.h>

static bool ref_is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool ref_is_alnum(char c)
{
	return ref_is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

static bool ref_is_hex(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ref_is_lower_alnum(s.p[i]) || s.p[i] > 'f')
			return false;
	return s.n > 0;
}

bool ref_is_id(struct str text)
{
	if (str_starts(text, STR("sha256:")))
		text = str_skip(text, 7);
	return text.n == 64 && ref_is_hex(text);
}

/*
 * Whether s is a separator in a path component: one '.', one or two '_', any number of
 * '-'.
 */
static bool ref_is_separator(struct str s)
{
	if (str_eq(s, STR(".")) || str_eq(s, STR("_")) || str_eq(s, STR("__")))
		return true;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '-')
			return false;
	return s.n > 0;
}

static bool ref_is_component(struct str s)
{
	size_t i = 0;

	if (!s.n || !ref_is_lower_alnum(s.p[0]) || !ref_is_lower_alnum(s.p[s.n - 1]))
		return false;
	while (i < s.n) {
		size_t from;

		while (i < s.n && ref_is_lower_alnum(s.p[i]))
			i++;
		from = i;
		while (i < s.n && !ref_is_lower_alnum(s.p[i]))
			i++;
		if (i > from && !ref_is_separator(str_make(s.p + from, i - from)))
			return false;
	}
	return true;
}

static bool ref_is_path(struct str s)
{
	do {
		if (!ref_is_component(str_cut(&s, '/')))
			return false;
	} while (s.n);
	return true;
}

static bool ref_is_host(struct str s)
{
	if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']') {
		for (size_t i = 1; i < s.n - 1; i++)
			if (!isxdigit((unsigned char)s.p[i]) && s.p[i] != ':')
				return false;
		return true;
	}
	do {
		struct str label = str_cut(&s, '.');

		if (!label.n || !ref_is_alnum(label.p[0]) ||
			!ref_is_alnum(label.p[label.n - 1]))
			return false;
		for (size_t i = 0; i < label.n; i++)
			if (!ref_is_alnum(label.p[i]) && label.p[i] != '-')
				return false;
	} while (s.n);
	return true;
}

static size_t ref_find_last(struct str s, char c)
{
	for (size_t i = s.n; i > 0; i--)
		if (s.p[i - 1] == c)
			return i - 1;
	return s.n;
}

static bool ref_is_domain(struct str s)
{
	size_t colon = ref_find_last(s, ':');
	uint64_t port;

	/* In "[::1]" the last colon starts no port. */
	if (colon < s.n && s.p[s.n - 1] != ']') {
		if (str_u64(str_skip(s, colon + 1), 65535, &port))
			return false;
		s.n = colon;
	}
	return s.n && s.p[s.n - 1] != '.' && ref_is_host(s);
}

static bool ref_is_tag(struct str s)
{
	if (!s.n || s.n > REF_TAG_MAX || !(ref_is_alnum(s.p[0]) || s.p[0] == '_'))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!ref_is_alnum(s.p[i]) && !memchr("_.-", s.p[i], 3))
			return false;
	return true;
}

static bool ref_is_digest(struct str s)
{
	struct str algorithm = str_cut(&s, ':');

	if (!algorithm.n || !ref_is_alnum(algorithm.p[0]) || s.n < 32 || !ref_is_hex(s))
		return false;
	for (size_t i = 0; i < algorithm.n; i++)
		if (!ref_is_alnum(algorithm.p[i]) && !memchr("+._-", algorithm.p[i], 4))
			return false;
	return !str_eq(algorithm, STR("sha256")) || s.n == 64;
}

/* The first part is a domain if no path component could look like it. */
static bool ref_is_like_domain(struct str s)
{
	if (str_eq(s, STR("localhost")))
		return true;
	for (size_t i = 0; i < s.n; i++)
		if (memchr(".:[", s.p[i], 3) || (s.p[i] >= 'A' && s.p[i] <= 'Z'))
			return true;
	return false;
}

static const char *ref_split_name(struct ref *r, struct str rest)
{
	size_t at = str_find_byte(rest, '@');
	size_t slash, colon;

	if (at < rest.n) {
		r->digest = str_skip(rest, at + 1);
		rest.n = at;
		if (!ref_is_digest(r->digest))
			return "the part after @ is not a digest";
	}
	/* A colon before the last slash belongs to a port. */
	slash = ref_find_last(rest, '/');
	colon = ref_find_last(rest, ':');
	if (colon < rest.n && (slash == rest.n || colon > slash)) {
		r->tag = str_skip(rest, colon + 1);
		rest.n = colon;
		if (!ref_is_tag(r->tag))
			return "the part after the last : is not a tag";
	}
	if (rest.n > REF_NAME_MAX)
		return "the name has more than 255 characters";
	slash = str_find_byte(rest, '/');
	if (slash < rest.n && ref_is_like_domain(str_make(rest.p, slash))) {
		r->domain = str_make(rest.p, slash);
		rest = str_skip(rest, slash + 1);
		if (!ref_is_domain(r->domain))
			return "the part before the first / is not the host of a "
			       "registry";
	}
	r->path = rest;
	if (str_ends(rest, STR("/")) || !ref_is_path(rest))
		return "names consist of a-z, 0-9 and single separators . _ - /";
	return NULL;
}

int ref_parse(struct ref *r, struct str text, const char **why)
{
	struct ref got = {0};
	const char *words;

	if (ref_is_id(text)) {
		*r = (struct ref){.is_id = true, .digest = text};
		return 0;
	}
	words = text.n > REF_MAX ? "it is too long" : ref_split_name(&got, text);
	if (words) {
		*why = words;
		return ERR_SYNTAX;
	}
	*r = got;
	return 0;
}

void ref_write_canonical(const struct ref *r, struct buf *out)
{
	struct str domain = r->domain;

	if (r->is_id) {
		if (r->digest.n == 64)
			buf_puts(out, "sha256:");
		buf_str(out, r->digest);
		return;
	}
	if (!domain.n || str_eq(domain, STR("index.docker.io")))
		domain = STR("docker.io");
	buf_str(out, domain);
	buf_putc(out, '/');
	if (str_eq(domain, STR("docker.io")) && str_find_byte(r->path, '/') == r->path.n)
		buf_puts(out, "library/");
	buf_str(out, r->path);
	if (r->tag.n) {
		buf_putc(out, ':');
		buf_str(out, r->tag);
	} else if (!r->digest.n) {
		buf_puts(out, ":latest");
	}
	if (r->digest.n) {
		buf_putc(out, '@');
		buf_str(out, r->digest);
	}
}

void ref_canonicalize(struct str text, struct buf *out)
{
	const char *why;
	struct ref ref;

	if (ref_parse(&ref, text, &why) == 0)
		ref_write_canonical(&ref, out);
}
