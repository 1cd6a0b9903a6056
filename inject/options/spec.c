#include "inject/options/spec.h"

#include "limits.h"

enum { NANO = 1000000000, NANO_DIGITS = 9, CPUS_MAX = 1000000, PORT_LAST = 65535 };
/* 10,000 years of 365 days: no log is older. */
#define AGO_MAX 315360000000

static int spec_fail(const char **why, const char *words)
{
	*why = words;
	return ERR_SYNTAX;
}

static unsigned spec_find_shift(char unit)
{
	static const char units[] = "bkmgt";
	const char *at = unit ? strchr(units, unit | 0x20) : NULL;

	return at ? (unsigned)(at - units) * 10 : 99;
}

int spec_parse_size(struct str s, uint64_t max, uint64_t *bytes)
{
	unsigned shift = 0;
	uint64_t n;
	int r;

	/* "512mb" is accepted, too. */
	if (s.n > 2 && (s.p[s.n - 1] | 0x20) == 'b' && spec_find_shift(s.p[s.n - 2]) < 99)
		s.n--;
	if (s.n && spec_find_shift(s.p[s.n - 1]) < 99) {
		shift = spec_find_shift(s.p[s.n - 1]);
		s.n--;
	}
	r = str_u64(s, max >> shift, &n);
	if (!r)
		*bytes = n << shift;
	return r;
}

int spec_parse_nano(struct str s, uint64_t *nano)
{
	struct str rest = s, whole = str_cut(&rest, '.');
	uint64_t n = 0, part = 0;
	int r = str_u64(whole, CPUS_MAX, &n);

	if (!r && whole.n < s.n) {
		if (rest.n > NANO_DIGITS)
			return ERR_RANGE;
		r = str_u64(rest, NANO, &part);
		for (size_t i = rest.n; i < NANO_DIGITS; i++)
			part *= 10;
	}
	if (r)
		return r;
	if (!n && !part)
		return ERR_RANGE;
	*nano = n * NANO + part;
	return 0;
}

static const struct {
	char letter;
	uint64_t seconds;
} duration_units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};

/* Finds the unit with this letter from index *unit on; *unit is the next index then. */
static uint64_t spec_find_unit(char letter, size_t *unit)
{
	while (*unit < ARRAY_LEN(duration_units)) {
		size_t i = (*unit)++;

		if (duration_units[i].letter == letter)
			return duration_units[i].seconds;
	}
	return 0;
}

static int spec_add_duration(uint64_t n, uint64_t unit, uint64_t max, uint64_t *sum)
{
	if (n > (max - *sum) / unit)
		return ERR_RANGE;
	*sum += n * unit;
	return 0;
}

int spec_parse_duration(struct str s, uint64_t max, uint64_t *seconds)
{
	uint64_t sum = 0, n, unit = 1;
	size_t place = 0;
	int r;

	do {
		size_t digits = 0;

		while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9')
			digits++;
		r = str_u64(str_make(s.p, digits), max, &n);
		if (r)
			return r;
		if (digits < s.n)
			unit = spec_find_unit(s.p[digits], &place);
		else if (place)
			return ERR_SYNTAX;
		r = unit ? spec_add_duration(n, unit, max, &sum) : ERR_SYNTAX;
		s = str_skip(s, digits + 1);
	} while (!r && s.n);
	if (!r)
		*seconds = sum;
	return r;
}

int spec_parse_time(struct str s, int64_t now, int64_t *seconds)
{
	uint64_t n;

	if (str_u64(s, INT64_MAX, &n) == 0) {
		*seconds = (int64_t)n;
		return 0;
	}
	if (spec_parse_duration(s, AGO_MAX, &n))
		return ERR_SYNTAX;
	*seconds = now - (int64_t)n;
	return 0;
}

/* N or N-N */
static int spec_parse_range(struct str s, uint16_t *first, uint16_t *n)
{
	struct str to = s, from = str_cut(&to, '-');
	uint64_t a, b;

	if (str_u64(from, PORT_LAST, &a) || !a)
		return ERR_SYNTAX;
	b = a;
	if (from.n < s.n && (str_u64(to, PORT_LAST, &b) || b < a))
		return ERR_SYNTAX;
	*first = (uint16_t)a;
	*n = (uint16_t)(b - a + 1);
	return 0;
}

/*
 * Cuts *rest at the last sep: returns the text after it, or all of *rest without a sep.
 */
static struct str spec_cut_last(struct str *rest, char sep)
{
	struct str all = *rest;

	for (size_t i = all.n; i > 0; i--) {
		if (all.p[i - 1] != sep)
			continue;
		rest->n = i - 1;
		return str_skip(all, i);
	}
	rest->n = 0;
	return all;
}

static int spec_parse_address(struct str s, struct spec_parse_ports *p, const char **why)
{
	bool brackets = s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']';

	p->address = brackets ? str_make(s.p + 1, s.n - 2) : s;
	if (!p->address.n)
		return spec_fail(why, "the address is empty");
	for (size_t i = 0; i < p->address.n; i++) {
		char c = p->address.p[i];
		bool digit = c >= '0' && c <= '9',
		     hex = (c | 0x20) >= 'a' && (c | 0x20) <= 'f';

		if (!digit && c != '.' && !(brackets && (hex || c == ':')))
			return spec_fail(why,
				"the address is not an IP address such as 127.0.0.1 or "
				"[::1]");
	}
	return 0;
}

int spec_parse_ports(struct str s, struct spec_parse_ports *p, const char **why)
{
	struct spec_parse_ports got = {.protocol = "tcp"};
	struct str protocol = s, rest = str_cut(&protocol, '/'), inside, outside;
	int r = 0;

	if (rest.n < s.n && str_eq(protocol, STR("udp")))
		got.protocol = "udp";
	else if (rest.n < s.n && !str_eq(protocol, STR("tcp")))
		return spec_fail(why, "the protocol is neither tcp nor udp");
	inside = spec_cut_last(&rest, ':');
	if (spec_parse_range(inside, &got.inside, &got.n))
		return spec_fail(
			why, "the port of the sandbox is not a number from 1 to 65535");
	got.outside_n = got.n;
	if (inside.p != s.p) {
		bool more = false;

		outside = spec_cut_last(&rest, ':');
		more = outside.p != s.p;
		/* "127.0.0.1::80": any port of that address */
		if (outside.n && spec_parse_range(outside, &got.outside, &got.outside_n))
			return spec_fail(why,
				"the port of this machine is not a number from 1 to "
				"65535");
		if (!outside.n && !more)
			return spec_fail(why, "the port of this machine is missing");
		if (more)
			r = spec_parse_address(rest, &got, why);
	}
	if (!r && got.n != 1 && got.n != got.outside_n)
		r = spec_fail(why, "the two ranges of ports differ in length");
	if (!r)
		*p = got;
	return r;
}

static bool spec_is_volume_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9');

		if (!alnum && (i == 0 || !memchr("_.-", c, 3)))
			return false;
	}
	return s.n > 1;
}

static bool spec_is_target_path(struct str path)
{
	return path.n > 1 && path.p[0] == '/';
}

/* Takes a path or a name, which determines the type. */
static int spec_set_source(struct spec_parse_mount *m, struct str s, const char **why)
{
	m->source = s;
	if (s.n && (s.p[0] == '/' || s.p[0] == '.'))
		m->type = m->type == SPEC_VOLUME ? SPEC_BIND : m->type;
	else if (m->type == SPEC_OVERLAY)
		return spec_fail(
			why, "an overlay needs a path of this machine as its source");
	else if (!spec_is_volume_name(s))
		return spec_fail(why,
			"the source is neither a path such as /a or ./a nor the name of "
			"a volume");
	return 0;
}

static int spec_parse_modes(
	struct spec_parse_mount *m, struct str modes, const char **why)
{
	static const char *const known[] = {"rw", "z", "Z", "nocopy", "shared", "rshared",
		"slave", "rslave", "private", "rprivate", "consistent", "cached",
		"delegated"};

	while (modes.n) {
		struct str word = str_cut(&modes, ',');
		bool found = false;

		if (str_eq(word, STR("overlay"))) {
			m->type = SPEC_OVERLAY;
			continue;
		}
		m->read_only = m->read_only || str_eq(word, STR("ro"));
		found = str_eq(word, STR("ro"));
		for (size_t i = 0; i < ARRAY_LEN(known) && !found; i++)
			found = str_eq(word, str_c(known[i]));
		if (!found)
			return spec_fail(why,
				"a mode is not one of ro, rw, z, Z, nocopy, overlay");
	}
	return 0;
}

int spec_parse_volume(struct str s, struct spec_parse_mount *m, const char **why)
{
	struct spec_parse_mount got = {.type = SPEC_VOLUME, .short_form = true};
	struct str rest = s, first = str_cut(&rest, ':');
	int r = 0;

	if (first.n == s.n) {
		got.target = first;
	} else {
		got.target = str_cut(&rest, ':');
		got.modes = rest;
		r = spec_parse_modes(&got, rest, why);
		if (!r)
			r = spec_set_source(&got, first, why);
	}
	if (!r && !spec_is_target_path(got.target))
		r = spec_fail(why,
			"the path in the sandbox must begin with / and must not be /");
	if (!r && got.type == SPEC_OVERLAY && !str_eq(got.modes, STR("overlay")))
		r = spec_fail(why, "overlay cannot be combined with another mode");
	if (!r)
		*m = got;
	return r;
}

static int spec_parse_type(struct str word, enum spec_mount_type *type)
{
	static const char *const words[] = {
		[SPEC_BIND] = "bind",
		[SPEC_VOLUME] = "volume",
		[SPEC_TMPFS] = "tmpfs",
		[SPEC_OVERLAY] = "overlay",
	};

	for (unsigned i = 0; i < ARRAY_LEN(words); i++) {
		if (!str_eq(word, str_c(words[i])))
			continue;
		*type = i;
		return 0;
	}
	return ERR_SYNTAX;
}

static bool spec_is_one_of(struct str key, const char *a, const char *b, const char *c)
{
	return str_eq(key, str_c(a)) || (b && str_eq(key, str_c(b))) ||
		(c && str_eq(key, str_c(c)));
}

static int spec_parse_bool(struct str value, bool *out)
{
	if (!value.n || spec_is_one_of(value, "true", "1", NULL))
		*out = true;
	else if (spec_is_one_of(value, "false", "0", NULL))
		*out = false;
	else
		return ERR_SYNTAX;
	return 0;
}

static int spec_parse_octal(struct str s, unsigned *mode)
{
	unsigned n = 0;

	if (!s.n || s.n > 5)
		return ERR_SYNTAX;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '7')
			return ERR_SYNTAX;
		n = n * 8 + (unsigned)(s.p[i] - '0');
	}
	*mode = n;
	return n > 07777 ? ERR_RANGE : 0;
}

static int spec_set_key(struct spec_parse_mount *m, struct str key, struct str value)
{
	if (spec_is_one_of(key, "type", NULL, NULL))
		return spec_parse_type(value, &m->type);
	if (spec_is_one_of(key, "source", "src", NULL))
		m->source = value;
	else if (spec_is_one_of(key, "target", "destination", "dst"))
		m->target = value;
	else if (spec_is_one_of(key, "readonly", "ro", NULL))
		return spec_parse_bool(value, &m->read_only);
	else if (spec_is_one_of(key, "volume-nocopy", NULL, NULL))
		return spec_parse_bool(value, &m->no_copy);
	else if (spec_is_one_of(key, "bind-propagation", NULL, NULL))
		m->propagation = value;
	else if (spec_is_one_of(key, "tmpfs-size", NULL, NULL)) {
		m->has_size = true;
		return spec_parse_size(value, INT64_MAX, &m->size);
	} else if (spec_is_one_of(key, "tmpfs-mode", NULL, NULL)) {
		m->has_mode = true;
		return spec_parse_octal(value, &m->mode);
	} else
		return ERR_VERSION;
	return 0;
}

static int spec_check_mount(const struct spec_parse_mount *m, const char **why)
{
	bool path = m->source.n && (m->source.p[0] == '/' || m->source.p[0] == '.');

	if (!spec_is_target_path(m->target))
		return spec_fail(
			why, "target= must be a path that begins with / and is not /");
	if ((m->type == SPEC_BIND || m->type == SPEC_OVERLAY) && !path)
		return spec_fail(why, "source= is not a path of this machine");
	if (m->type == SPEC_VOLUME && m->source.n && !spec_is_volume_name(m->source))
		return spec_fail(why, "source= is not the name of a volume");
	if (m->type == SPEC_TMPFS && m->source.n)
		return spec_fail(why, "a tmpfs has no source");
	if ((m->has_size || m->has_mode) && m->type != SPEC_TMPFS)
		return spec_fail(why, "tmpfs-size and tmpfs-mode need type=tmpfs");
	if (m->no_copy && m->type != SPEC_VOLUME)
		return spec_fail(why, "volume-nocopy needs type=volume");
	if (m->propagation.n && m->type != SPEC_BIND)
		return spec_fail(why, "bind-propagation needs type=bind");
	if (m->read_only && (m->type == SPEC_OVERLAY || m->type == SPEC_TMPFS))
		return spec_fail(why, "readonly needs type=bind or type=volume");
	return 0;
}

int spec_parse_mount(struct str s, struct spec_parse_mount *m, const char **why)
{
	struct spec_parse_mount got = {.type = SPEC_VOLUME};
	int r = 0;

	while (s.n && !r) {
		struct str value = str_cut(&s, ','), key = str_cut(&value, '=');

		r = spec_set_key(&got, key, value);
		if (r == ERR_VERSION)
			return spec_fail(why, "a key is unknown");
		if (r)
			return spec_fail(why, "a value is not valid for its key");
	}
	r = spec_check_mount(&got, why);
	if (!r)
		*m = got;
	return r;
}

static int spec_parse_limit(struct str s, int64_t *n)
{
	uint64_t v;

	if (spec_is_one_of(s, "-1", "unlimited", NULL)) {
		*n = -1;
		return 0;
	}
	if (str_u64(s, INT64_MAX, &v))
		return ERR_SYNTAX;
	*n = (int64_t)v;
	return 0;
}

int spec_parse_ulimit(struct str s, struct spec_parse_ulimit *u, const char **why)
{
	struct spec_parse_ulimit got;
	struct str hard = s, soft;

	got.name = str_cut(&hard, '=');
	soft = str_cut(&hard, ':');
	if (!got.name.n || !soft.n)
		return spec_fail(why, "it is not NAME=SOFT or NAME=SOFT:HARD");
	if (spec_parse_limit(soft, &got.soft) ||
		spec_parse_limit(hard.n ? hard : soft, &got.hard))
		return spec_fail(why, "a limit is neither a number nor unlimited");
	if (got.hard >= 0 && (got.soft < 0 || got.soft > got.hard))
		return spec_fail(why, "the soft limit is above the hard one");
	*u = got;
	return 0;
}

int spec_parse_pair(struct str s, struct str *name, struct str *value)
{
	struct str rest = s, first = str_cut(&rest, '=');

	for (size_t i = 0; i < first.n; i++)
		if ((unsigned char)first.p[i] <= ' ')
			return ERR_SYNTAX;
	if (!first.n)
		return ERR_SYNTAX;
	*name = first;
	*value = rest;
	return 0;
}

int spec_parse_platform(struct str s, struct str *arch, const char **why)
{
	struct str rest = s, os = str_cut(&rest, '/'), name = str_cut(&rest, '/');

	if (!str_eq(os, STR("linux")) || !name.n)
		return spec_fail(why, "it is not a platform such as linux/amd64");
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '/')
			return spec_fail(why, "it is not a platform such as linux/amd64");
	}
	*arch = name;
	return 0;
}

int spec_parse_gpus(struct str s, struct spec_parse_gpus *g, const char **why)
{
	struct spec_parse_gpus got = {0};
	uint64_t n;

	s = str_trim(s, "\"");
	if (str_eq(s, STR("all")))
		got.count = -1;
	else if (str_u64(s, INT32_MAX, &n) == 0 && n)
		got.count = (int64_t)n;
	else if (str_starts(s, STR("device=")) && s.n > 7)
		got.ids = str_skip(s, 7);
	else
		return spec_fail(why, "it is not all, a number or device=ID,...");
	*g = got;
	return 0;
}
