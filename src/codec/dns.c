#include "codec/dns.h"

#include <arpa/inet.h>
#include <errno.h>

enum { HEAD = 12, CLASS_IN = 1, LABEL_MAX = 63, NAME_MAX_BYTES = 253 };

static void dns_put16(struct buf *out, unsigned v)
{
	buf_putc(out, (char)(v >> 8));
	buf_putc(out, (char)v);
}

int dns_write_query(uint16_t id, struct str name, enum dns_type type, struct buf *out)
{
	if (name.n && name.p[name.n - 1] == '.')
		name.n--;
	if (!name.n || name.n > NAME_MAX_BYTES)
		return ERR_SYNTAX;
	dns_put16(out, id);
	dns_put16(out, 0x0100); /* recursion desired */
	dns_put16(out, 1);
	buf_put(out, "\0\0\0\0\0", 6);
	while (name.n) {
		struct str label = str_cut(&name, '.');

		if (!label.n || label.n > LABEL_MAX)
			return ERR_SYNTAX;
		buf_putc(out, (char)label.n);
		buf_str(out, label);
	}
	buf_putc(out, '\0');
	dns_put16(out, type);
	dns_put16(out, CLASS_IN);
	return out->err;
}

static unsigned dns_get16(struct str s, size_t at)
{
	return (unsigned)(unsigned char)s.p[at] << 8 | (unsigned char)s.p[at + 1];
}

/* The offset after the name at at; 0 if the name is not terminated. */
static size_t dns_skip_name(struct str s, size_t at)
{
	while (at < s.n) {
		unsigned n = (unsigned char)s.p[at];

		if (n == 0)
			return at + 1;
		if ((n & 0xC0) == 0xC0)
			return at + 2 <= s.n ? at + 2 : 0;
		if (n > LABEL_MAX)
			return 0;
		at += n + 1;
	}
	return 0;
}

static void dns_add_address(struct dns_addresses *found, const char *p, size_t n)
{
	if (found->n == DNS_ADDRESSES_MAX)
		return;
	found->at[found->n].len = (uint8_t)n;
	memcpy(found->at[found->n++].bytes, p, n);
}

static int dns_read_records(struct str s, size_t at, unsigned count, enum dns_type type,
	struct dns_addresses *found)
{
	struct dns_addresses got = *found;

	for (; count; count--) {
		size_t n;

		at = dns_skip_name(s, at);
		if (!at || s.n - at < 10)
			return ERR_SYNTAX;
		n = dns_get16(s, at + 8);
		if (s.n - at - 10 < n)
			return ERR_SYNTAX;
		/* Aliases (CNAME) are skipped: the server has already followed them. */
		if (dns_get16(s, at) == type && dns_get16(s, at + 2) == CLASS_IN) {
			if (n != (type == DNS_A ? 4u : 16u))
				return ERR_SYNTAX;
			dns_add_address(&got, s.p + at + 10, n);
		}
		at += 10 + n;
	}
	*found = got;
	return 0;
}

int dns_read_answer(struct str packet, uint16_t id, struct str name, enum dns_type type,
	struct dns_addresses *found)
{
	struct buf asked = BUF_INIT(512);
	size_t n;
	int r = dns_write_query(id, name, type, &asked);
	bool same;

	/*
	 * The answer must repeat the question, which an off-path attacker has not seen.
	 */
	n = asked.n;
	same = !r && packet.n >= n && dns_get16(packet, 0) == id && packet.p[2] & 0x80 &&
		dns_get16(packet, 4) == 1 &&
		str_eq_nocase(str_make(packet.p + HEAD, n - HEAD),
			str_make(asked.p + HEAD, n - HEAD));
	buf_free(&asked);
	if (r)
		return r;
	if (!same)
		return 1;
	if (packet.p[2] & 0x02)
		return -EMSGSIZE;
	switch (packet.p[3] & 0x0F) {
	case 0:
		return dns_read_records(packet, n, dns_get16(packet, 6), type, found);
	case 3:
		return -ENOENT;
	default:
		return -EAGAIN;
	}
}

bool dns_parse_address(struct str text, struct dns_address *a)
{
	char copy[46];
	struct dns_address got = {0};

	if (text.n >= sizeof(copy) || memchr(text.p ? text.p : "", 0, text.n))
		return false;
	memcpy(copy, text.p ? text.p : "", text.n);
	copy[text.n] = '\0';
	if (inet_pton(AF_INET, copy, got.bytes) == 1)
		got.len = 4;
	else if (inet_pton(AF_INET6, copy, got.bytes) == 1)
		got.len = 16;
	else
		return false;
	*a = got;
	return true;
}

void dns_format_address(const struct dns_address *a, char out[46])
{
	if (!inet_ntop(a->len == 4 ? AF_INET : AF_INET6, a->bytes, out, 46))
		out[0] = '\0';
}

static struct str dns_read_word(struct str *rest)
{
	struct str w;

	*rest = str_trim(*rest, " \t\r\n");
	w = str_make(rest->p, 0);
	while (w.n < rest->n && rest->p[w.n] != ' ' && rest->p[w.n] != '\t')
		w.n++;
	*rest = str_skip(*rest, w.n);
	return w;
}

void dns_read_hosts_line(struct str line, struct str name, struct dns_addresses *found)
{
	struct dns_address a;
	struct str w;

	line.n = str_find_byte(line, '#');
	if (!dns_parse_address(dns_read_word(&line), &a))
		return;
	while ((w = dns_read_word(&line)).n)
		if (str_eq_nocase(w, name))
			dns_add_address(found, (const char *)a.bytes, a.len);
}
