#include "codec/x509.h"

#include "codec/dns.h"

enum tag {
	BOOLEAN = 0x01,
	INTEGER = 0x02,
	OCTETS = 0x04,
	OID = 0x06,
	SEQUENCE = 0x30,
	VERSION = 0xA0,
	EXTENSIONS = 0xA3,
	DNS_NAME = 0x82,
	IP_ADDRESS = 0x87,
};

/* --- DER (X.690), the part that certificates use ------------------------------------ */

/*
 * Cuts the first element off *rest. *content is its content and, if whole is not NULL,
 * *whole is all its bytes. A tag has a single byte, and a length its shortest form.
 */
static int x509_read_element(
	struct str *rest, unsigned char *tag, struct str *content, struct str *whole)
{
	const unsigned char *p = (const unsigned char *)rest->p;
	size_t head = 2, n;

	if (rest->n < 2 || (p[0] & 0x1F) == 0x1F)
		return ERR_SYNTAX;
	n = p[1];
	if (n & 0x80) {
		size_t digits = n & 0x7F;

		if (digits < 1 || digits > 3 || rest->n < 2 + digits)
			return ERR_SYNTAX;
		n = 0;
		for (size_t i = 0; i < digits; i++)
			n = n << 8 | p[2 + i];
		if (n < 0x80 || n >> (8 * (digits - 1)) == 0)
			return ERR_SYNTAX;
		head += digits;
	}
	if (rest->n - head < n)
		return ERR_SYNTAX;
	*tag = p[0];
	*content = str_make(rest->p + head, n);
	if (whole)
		*whole = str_make(rest->p, head + n);
	*rest = str_skip(*rest, head + n);
	return 0;
}

/* Takes the next element, which must have the tag wanted. */
static int x509_expect_element(
	struct str *rest, unsigned char wanted, struct str *content, struct str *whole)
{
	struct str after = *rest;
	unsigned char tag;
	int r = x509_read_element(&after, &tag, content, whole);

	if (r || tag != wanted)
		return ERR_SYNTAX;
	*rest = after;
	return 0;
}

/* Skips the next element if it has the tag. */
static void x509_skip_element(struct str *rest, unsigned char tag)
{
	struct str content;

	if (x509_expect_element(rest, tag, &content, NULL))
		return;
}

/* --- Extensions --------------------------------------------------------------------- */

static int x509_read_names(struct x509 *c, struct str value)
{
	return x509_expect_element(&value, SEQUENCE, &c->names, NULL) || value.n
		? ERR_SYNTAX
		: 0;
}

static int x509_read_purposes(struct x509 *c, struct str value)
{
	static const struct {
		struct str oid;
		bool servers, clients;
	} good[] = {
		{STR("\x2B\x06\x01\x05\x05\x07\x03\x01"), true, false}, /* serverAuth */
		{STR("\x2B\x06\x01\x05\x05\x07\x03\x02"), false, true}, /* clientAuth */
		{STR("\x55\x1D\x25\x00"), true, true}, /* anyExtendedKeyUsage */
	};
	struct str list, oid;

	if (x509_expect_element(&value, SEQUENCE, &list, NULL) || value.n)
		return ERR_SYNTAX;
	c->for_servers = c->for_clients = false;
	while (list.n) {
		if (x509_expect_element(&list, OID, &oid, NULL))
			return ERR_SYNTAX;
		for (size_t i = 0; i < ARRAY_LEN(good); i++)
			if (str_eq(oid, good[i].oid)) {
				c->for_servers = c->for_servers || good[i].servers;
				c->for_clients = c->for_clients || good[i].clients;
			}
	}
	return 0;
}

static int x509_read_constraints(struct x509 *c, struct str value)
{
	(void)value;
	c->constrained = true;
	return 0;
}

static const struct {
	struct str oid;
	int (*read)(struct x509 *c, struct str value);
} extensions[] = {
	{STR("\x55\x1D\x11"), x509_read_names},
	{STR("\x55\x1D\x25"), x509_read_purposes},
	{STR("\x55\x1D\x1E"), x509_read_constraints},
};

static int x509_read_extension(struct x509 *c, struct str ext, unsigned *seen)
{
	struct str oid, value;

	if (x509_expect_element(&ext, OID, &oid, NULL))
		return ERR_SYNTAX;
	x509_skip_element(&ext, BOOLEAN);
	if (x509_expect_element(&ext, OCTETS, &value, NULL) || ext.n)
		return ERR_SYNTAX;
	for (size_t i = 0; i < ARRAY_LEN(extensions); i++) {
		if (!str_eq(oid, extensions[i].oid))
			continue;
		if (*seen & 1u << i)
			return ERR_DUPLICATE;
		*seen |= 1u << i;
		return extensions[i].read(c, value);
	}
	return 0;
}

static int x509_read_extensions(struct x509 *c, struct str tagged)
{
	struct str list, ext;
	unsigned seen = 0;
	int r = 0;

	if (x509_expect_element(&tagged, SEQUENCE, &list, NULL) || tagged.n)
		return ERR_SYNTAX;
	while (list.n && !r) {
		r = x509_expect_element(&list, SEQUENCE, &ext, NULL);
		if (!r)
			r = x509_read_extension(c, ext, &seen);
	}
	return r;
}

int x509_read(struct x509 *c, struct str der)
{
	struct x509 got = {.for_servers = true, .for_clients = true};
	struct str cert, body, skipped, tagged;
	int r = 0;

	if (x509_expect_element(&der, SEQUENCE, &cert, NULL) || der.n ||
		x509_expect_element(&cert, SEQUENCE, &body, NULL))
		return ERR_SYNTAX;
	x509_skip_element(&body, VERSION);
	if (x509_expect_element(&body, INTEGER, &skipped, NULL) || /* serial number */
		x509_expect_element(&body, SEQUENCE, &skipped, NULL) || /* signature */
		x509_expect_element(&body, SEQUENCE, &skipped, NULL) || /* issuer */
		x509_expect_element(&body, SEQUENCE, &skipped, NULL) || /* validity */
		x509_expect_element(&body, SEQUENCE, &skipped, &got.subject) ||
		x509_expect_element(&body, SEQUENCE, &skipped, &got.spki))
		return ERR_SYNTAX;
	while (body.n && !r) {
		unsigned char tag;

		r = x509_read_element(&body, &tag, &tagged, NULL);
		if (!r && tag == EXTENSIONS)
			r = x509_read_extensions(&got, tagged);
	}
	if (!r)
		*c = got;
	return r;
}

/* --- Hosts -------------------------------------------------------------------------- */

static bool x509_is_label_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* A last label of digits only is refused: some programs would read it as an address. */
static bool x509_is_dns_name(struct str s)
{
	bool digits = true;

	if (!s.n || s.n > X509_NAME_MAX || s.p[s.n - 1] == '.')
		return false;
	while (s.n) {
		struct str label = str_cut(&s, '.');

		if (!label.n || label.n > 63)
			return false;
		digits = true;
		for (size_t i = 0; i < label.n; i++) {
			if (!x509_is_label_byte(label.p[i]))
				return false;
			digits = digits && label.p[i] >= '0' && label.p[i] <= '9';
		}
	}
	return !digits;
}

int x509_host_read(struct x509_host *h, struct str text)
{
	struct x509_host got = {0};
	struct dns_address address;

	if (text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
		text = str_make(text.p + 1, text.n - 2);
	if (!x509_is_dns_name(text)) {
		if (!dns_parse_address(text, &address))
			return ERR_SYNTAX;
		got.is_address = true;
		text = str_make((const char *)address.bytes, address.len);
	}
	memcpy(got.bytes, text.p, text.n);
	got.n = text.n;
	*h = got;
	return 0;
}

static bool x509_is_name_match(struct str pattern, struct str host)
{
	struct str rest;

	if (!str_starts(pattern, STR("*.")))
		return x509_is_dns_name(pattern) && str_eq_nocase(pattern, host);
	rest = str_skip(pattern, 2);
	str_cut(&host, '.');
	return x509_is_dns_name(rest) && str_count(rest, '.') >= 1 &&
		str_eq_nocase(rest, host);
}

bool x509_has_host(const struct x509 *c, const struct x509_host *h)
{
	struct str host = str_make(h->bytes, h->n);
	struct str rest = c->names, value;
	unsigned char tag;

	while (rest.n && x509_read_element(&rest, &tag, &value, NULL) == 0) {
		if (tag == DNS_NAME && !h->is_address && x509_is_name_match(value, host))
			return true;
		if (tag == IP_ADDRESS && h->is_address && str_eq(value, host))
			return true;
	}
	return false;
}
