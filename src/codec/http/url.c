#include "codec/http/url.h"

#include "codec/x509.h"

static bool url_is_visible(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7F ||
			s.p[i] == '\\')
			return false;
	return true;
}

static size_t url_find_first(struct str s, const char *set)
{
	for (size_t i = 0; i < s.n; i++)
		if (strchr(set, s.p[i]))
			return i;
	return s.n;
}

/* host, host:port, [::1], [::1]:port */
static int url_read_authority(struct url *u, struct str a)
{
	size_t end = a.n && a.p[0] == '[' ? str_find_byte(a, ']') : 0;
	struct str host, port;
	struct x509_host checked;
	uint64_t n;

	if (end) {
		if (end == a.n)
			return ERR_SYNTAX;
		host = str_make(a.p + 1, end - 1);
		port = str_skip(a, end + 1);
		if (str_find_byte(host, ':') == host.n)
			return ERR_SYNTAX;
	} else {
		host = str_make(a.p, str_find_byte(a, ':'));
		port = str_skip(a, host.n);
	}
	if (x509_host_read(&checked, host))
		return ERR_SYNTAX;
	if (port.n) {
		if (port.p[0] != ':' || str_u64(str_skip(port, 1), 65535, &n) || !n)
			return ERR_SYNTAX;
		u->port = (uint16_t)n;
	}
	u->host = host;
	return 0;
}

/* Parses a URL with one of two schemes. */
static int url_parse_schemes(
	struct url *u, struct str text, struct str plain, struct str secure)
{
	struct url got = {.port = 80};
	struct str authority;
	size_t scheme = str_find_byte(text, ':');

	text.n = str_find_byte(text, '#');
	if (!url_is_visible(text) || scheme >= text.n)
		return ERR_SYNTAX;
	if (str_eq_nocase(str_make(text.p, scheme), secure)) {
		got.secure = true;
		got.port = 443;
	} else if (!str_eq_nocase(str_make(text.p, scheme), plain)) {
		return ERR_SYNTAX;
	}
	text = str_skip(text, scheme + 1);
	if (!str_starts(text, STR("//")))
		return ERR_SYNTAX;
	text = str_skip(text, 2);
	authority = str_make(text.p, url_find_first(text, "/?"));
	got.target = str_skip(text, authority.n);
	if (!got.target.n)
		got.target = STR("/");
	else if (got.target.p[0] != '/')
		return ERR_SYNTAX;
	if (memchr(authority.p, '@', authority.n) || url_read_authority(&got, authority))
		return ERR_SYNTAX;
	*u = got;
	return 0;
}

int url_parse(struct url *u, struct str text)
{
	return url_parse_schemes(u, text, STR("http"), STR("https"));
}

int url_parse_ws(struct url *u, struct str text)
{
	return url_parse_schemes(u, text, STR("ws"), STR("wss"));
}

/* The length of a dot at the front of s, also if it is written as %2E; 0: none. */
static size_t url_dot_length(struct str s)
{
	if (str_starts(s, STR(".")))
		return 1;
	return s.n >= 3 && str_eq_nocase(str_make(s.p, 3), STR("%2e")) ? 3 : 0;
}

/* The number of dots in a segment of 1 or 2 dots only; 0 for any other segment. */
static unsigned url_dot_segment(struct str segment)
{
	unsigned dots = 0;
	size_t n;

	while (dots < 3 && (n = url_dot_length(segment))) {
		segment = str_skip(segment, n);
		dots++;
	}
	return segment.n || dots > 2 ? 0 : dots;
}

/*
 * Removes the dot segments of the path that begins at the byte at of text (RFC 3986,
 * section 5.2.4). %2E is a dot too, because servers decode it first.
 */
static void url_remove_dots_at(struct buf *text, size_t at)
{
	struct str rest = str_skip(buf_view(text), at);
	size_t path_n = url_find_first(rest, "?#"), end = at + 1, from = 1;

	while (from <= path_n) {
		struct str part = str_make(rest.p + from, path_n - from);
		size_t n = str_find_byte(part, '/');
		unsigned dots = url_dot_segment(str_make(part.p, n));
		bool last = n == part.n;

		if (dots == 2 && end > at + 1)
			for (end--; text->p[end - 1] != '/';)
				end--;
		if (!dots) {
			size_t take = n + !last;

			memmove(text->p + end, part.p, take);
			end += take;
		}
		from += n + 1;
	}
	memmove(text->p + end, rest.p + path_n, rest.n - path_n);
	text->n = end + rest.n - path_n;
}

static void url_remove_dots(struct buf *text)
{
	struct str all = buf_view(text);
	size_t at = str_find(all, STR("//")) + 2;

	if (at > all.n)
		return;
	at += url_find_first(str_skip(all, at), "/?#");
	if (at < all.n && all.p[at] == '/')
		url_remove_dots_at(text, at);
}

int url_resolve(struct url *u, const struct url *base, struct str ref, struct buf *text)
{
	size_t scheme = url_find_first(ref, ":/?#");
	bool absolute = scheme < ref.n && ref.p[scheme] == ':';

	buf_reset(text);
	if (!ref.n)
		return ERR_SYNTAX;
	if (!absolute)
		buf_puts(text, base->secure ? "https:" : "http:");
	if (!absolute && !str_starts(ref, STR("//"))) {
		buf_puts(text, "//");
		url_put_host(base, text);
		if (ref.p[0] != '/') {
			struct str path = base->target;

			path.n = str_find_byte(path, '?');
			while (ref.p[0] != '?' && path.p[path.n - 1] != '/')
				path.n--;
			buf_str(text, path);
		}
	}
	buf_str(text, ref);
	if (text->err)
		return text->err;
	url_remove_dots(text);
	return url_parse(u, buf_view(text));
}

bool url_is_same_origin(const struct url *a, const struct url *b)
{
	return a->secure == b->secure && a->port == b->port &&
		str_eq_nocase(a->host, b->host);
}

void url_put_host(const struct url *u, struct buf *out)
{
	bool v6 = memchr(u->host.p, ':', u->host.n) != NULL;

	if (v6)
		buf_putc(out, '[');
	buf_str(out, u->host);
	if (v6)
		buf_putc(out, ']');
	if (u->port != (u->secure ? 443 : 80))
		buf_fmt(out, ":%u", (unsigned)u->port);
}

const char *url_check_redirect(
	const struct url *from, const struct url *to, unsigned hops)
{
	if (from->secure && !to->secure)
		return "it leads from https to http";
	if (hops > URL_HOPS_MAX)
		return "it leads on and on";
	return NULL;
}

static enum reach url_classify_v4(const uint8_t *a)
{
	if (a[0] == 127)
		return REACH_LOOPBACK;
	if (a[0] == 0 || (a[0] == 169 && a[1] == 254) || a[0] >= 224)
		return REACH_FORBIDDEN;
	if (a[0] == 10 || (a[0] == 172 && (a[1] & 0xF0) == 16) ||
		(a[0] == 192 && a[1] == 168) || (a[0] == 100 && (a[1] & 0xC0) == 64))
		return REACH_PRIVATE;
	return REACH_PUBLIC;
}

enum reach url_classify(const uint8_t *address, size_t n)
{
	static const uint8_t zero[16];
	static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
	static const uint8_t nat64[12] = {0x00, 0x64, 0xFF, 0x9B};
	/* Amazon's metadata service over IPv6; other clouds use 169.254.169.254. */
	static const uint8_t metadata[16] = {0xFD, 0x00, 0x0E, 0xC2, [14] = 0x02, 0x54};
	const uint8_t *a = address;

	if (n == 4)
		return url_classify_v4(a);
	if (memcmp(a, zero, 15) == 0)
		return a[15] == 1 ? REACH_LOOPBACK : REACH_FORBIDDEN;
	if (memcmp(a, mapped, 12) == 0 || memcmp(a, nat64, 12) == 0 ||
		memcmp(a, zero, 12) == 0)
		return url_classify_v4(a + 12);
	if (a[0] == 0x20 && a[1] == 0x02) /* 6to4 */
		return url_classify_v4(a + 2);
	if (a[0] == 0xFF || (a[0] == 0xFE && (a[1] & 0xC0) == 0x80) ||
		memcmp(a, metadata, 16) == 0)
		return REACH_FORBIDDEN;
	if ((a[0] & 0xFE) == 0xFC || (a[0] == 0xFE && (a[1] & 0xC0) == 0xC0))
		return REACH_PRIVATE;
	return REACH_PUBLIC;
}

bool url_is_reach_allowed(enum reach target, enum reach registry)
{
	return target != REACH_FORBIDDEN &&
		(target == REACH_PUBLIC || target <= registry);
}
