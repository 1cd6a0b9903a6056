#include "codec/archive/pax.h"

#include "codec/archive/tar_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

enum { BLOCK = 512, NAME_ROOM = 100, RECORD_MAX = 2 * 65536 };

static const char zeros[2 * BLOCK];

/* Octal digits and a NUL; if they do not suffice, zero and false. */
static bool pax_put_octal(char *field, size_t n, uint64_t v)
{
	bool fits = v >> (3 * (n - 1)) == 0;

	if (!fits)
		v = 0;
	field[--n] = '\0';
	while (n) {
		field[--n] = (char)('0' + (v & 7));
		v >>= 3;
	}
	return fits;
}

static void pax_put_header(struct buf *out, struct tar_write_header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	memcpy(h->magic, "ustar", 6);
	memcpy(h->version, "00", 2);
	memset(h->sum, ' ', sizeof(h->sum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += p[i];
	pax_put_octal(h->sum, 7, sum);
	buf_put(out, h, sizeof(*h));
}

/* "LENGTH KEY=VALUE\n", where the length counts its own digits. */
static void pax_put_record(struct buf *out, const char *key, struct str value)
{
	size_t n = strlen(key) + value.n + 3, all = n, before;
	char digits[24];

	do {
		before = all;
		all = n + (size_t)snprintf(digits, sizeof(digits), "%zu", all);
	} while (all != before);
	buf_fmt(out, "%zu %s=", all, key);
	buf_str(out, value);
	buf_putc(out, '\n');
}

static void pax_put_number(struct buf *out, const char *key, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, v);
	pax_put_record(out, key, str_c(text));
}

static void pax_put_extended(struct buf *out, const struct buf *records)
{
	struct tar_write_header h = {.type = 'x'};

	memcpy(h.name, "pax", 3);
	pax_put_octal(h.mode, sizeof(h.mode), 0644);
	pax_put_octal(h.uid, sizeof(h.uid), 0);
	pax_put_octal(h.gid, sizeof(h.gid), 0);
	pax_put_octal(h.size, sizeof(h.size), records->n);
	pax_put_octal(h.mtime, sizeof(h.mtime), 0);
	pax_put_header(out, &h);
	buf_str(out, buf_view(records));
	pax_pad(out, records->n);
}

/* Writes a name to its field, or to a record if it is longer. */
static void pax_put_name(
	char *field, struct str name, const char *key, struct buf *records)
{
	size_t n = name.n < NAME_ROOM ? name.n : NAME_ROOM;

	if (n)
		memcpy(field, name.p, n);
	if (name.n > NAME_ROOM)
		pax_put_record(records, key, name);
}

int pax_write_header(struct buf *out, const struct pax_entry *e)
{
	struct buf records = BUF_INIT(RECORD_MAX);
	struct tar_write_header h = {.type = '0'};
	uint64_t size = 0;

	if (e->hard)
		h.type = '1';
	else if (S_ISLNK(e->mode))
		h.type = '2';
	else if (S_ISDIR(e->mode))
		h.type = '5';
	else if (S_ISREG(e->mode))
		size = e->size;
	else
		return ERR_TYPE;
	pax_put_name(h.name, e->name, "path", &records);
	if (h.type == '1' || h.type == '2')
		pax_put_name(h.target, e->target, "linkpath", &records);
	pax_put_octal(h.mode, sizeof(h.mode), e->mode & 07777);
	if (!pax_put_octal(h.uid, sizeof(h.uid), e->uid))
		pax_put_number(&records, "uid", e->uid);
	if (!pax_put_octal(h.gid, sizeof(h.gid), e->gid))
		pax_put_number(&records, "gid", e->gid);
	if (!pax_put_octal(h.size, sizeof(h.size), size))
		pax_put_number(&records, "size", (int64_t)size);
	if (!pax_put_octal(h.mtime, sizeof(h.mtime), (uint64_t)e->mtime))
		pax_put_number(&records, "mtime", e->mtime);
	if (e->comment.n)
		pax_put_record(&records, "comment", e->comment);
	if (records.n)
		pax_put_extended(out, &records);
	pax_put_header(out, &h);
	if (records.err)
		out->err = records.err;
	buf_free(&records);
	return out->err;
}

void pax_pad(struct buf *out, uint64_t size)
{
	buf_put(out, zeros, (size_t)(-size & (BLOCK - 1)));
}

void pax_end(struct buf *out)
{
	buf_put(out, zeros, sizeof(zeros));
}
