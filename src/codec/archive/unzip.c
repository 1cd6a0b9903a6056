#include "codec/archive/unzip.h"

#include "base/crc.h"
#include "limits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { ZIP_DIRECTORY_MAX = 64 << 20 }; /* bytes; see ARCHIVE_ENTRIES_MAX */

enum {
	LOCAL_SIGN = 0x04034b50,
	CENTRAL_SIGN = 0x02014b50,
	END_SIGN = 0x06054b50,
	END64_SIGN = 0x06064b50,
	LOCATOR_SIGN = 0x07064b50,
	LOCAL_SIZE = 30,
	CENTRAL_SIZE = 46,
	END_SIZE = 22,
	END64_SIZE = 56,
	LOCATOR_SIZE = 20,
	COMMENT_MAX = 65535,
	FLAG_ENCRYPTED = 1 | 1 << 6 | 1 << 13,
	FLAG_SIZES_FOLLOW = 1 << 3,
	STORED = 0,
	DEFLATED = 8,
	HOST_UNIX = 3,
	PIECE = 65536,
};

static const uint64_t long32 = 0xffffffff;

static uint64_t unzip_get_le(const char *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | (unsigned char)p[n];
	return v;
}

static int unzip_fail(struct unzip *u, int err, const char *why, struct str culprit)
{
	u->reason = why;
	u->error_name = culprit;
	return err;
}

static int unzip_refuse(struct unzip *u, const char *why, struct str culprit)
{
	return unzip_fail(u, ERR_SYNTAX, why, culprit);
}

static int unzip_read_at(struct unzip *u, uint64_t at, void *p, size_t n)
{
	int r;

	if (at > u->source.size || n > u->source.size - at)
		return unzip_refuse(u, "is cut off", STR(""));
	r = u->source.read(u->source.arg, at, p, n);
	return r ? unzip_fail(u, r, err_text(r), STR("")) : 0;
}

/* The location of the directory, from the end records. */
struct end {
	uint64_t at; /* offset of the first end record: the directory ends there */
	uint64_t entries, size, from;
};

static int unzip_read_end64(struct unzip *u, struct end *e)
{
	char p[END64_SIZE];
	uint64_t end_at = e->at;
	int r;

	if (end_at < LOCATOR_SIZE)
		return 0;
	r = unzip_read_at(u, end_at - LOCATOR_SIZE, p, LOCATOR_SIZE);
	if (r)
		return r;
	if (unzip_get_le(p, 4) != LOCATOR_SIGN)
		return 0;
	e->at = unzip_get_le(p + 8, 8);
	if (unzip_get_le(p + 4, 4) || unzip_get_le(p + 16, 4) > 1)
		return unzip_refuse(u, "has several disks", STR(""));
	if (e->at > end_at - LOCATOR_SIZE)
		return unzip_refuse(u, "has a wrong end", STR(""));
	r = unzip_read_at(u, e->at, p, END64_SIZE);
	if (r)
		return r;
	if (unzip_get_le(p, 4) != END64_SIGN || unzip_get_le(p + 16, 4) ||
		unzip_get_le(p + 20, 4))
		return unzip_refuse(u, "has a wrong end", STR(""));
	e->entries = unzip_get_le(p + 32, 8);
	e->size = unzip_get_le(p + 40, 8);
	e->from = unzip_get_le(p + 48, 8);
	return 0;
}

/* The last record whose comment ends with the file is the right one. */
static int unzip_find_end(struct unzip *u, struct end *e)
{
	struct buf tail = BUF_INIT(END_SIZE + COMMENT_MAX);
	uint64_t size = u->source.size;
	size_t n = size < tail.max ? (size_t)size : tail.max;
	char *p = buf_reserve(&tail, n ? n : 1);
	int r = p ? unzip_read_at(u, size - n, p, n) : -ENOMEM;
	size_t i;

	if (r)
		goto out;
	r = unzip_fail(u, ERR_TYPE, "is not a zip file", STR(""));
	for (i = n < END_SIZE ? 0 : n - END_SIZE + 1; i-- > 0;)
		if (unzip_get_le(p + i, 4) == END_SIGN &&
			unzip_get_le(p + i + 20, 2) == n - END_SIZE - i)
			break;
	if (i == SIZE_MAX || n < END_SIZE)
		goto out;
	p += i;
	e->at = size - n + i;
	e->entries = unzip_get_le(p + 10, 2);
	e->size = unzip_get_le(p + 12, 4);
	e->from = unzip_get_le(p + 16, 4);
	r = unzip_get_le(p + 4, 4) ? unzip_refuse(u, "has several disks", STR(""))
				   : unzip_read_end64(u, e);
out:
	buf_free(&tail);
	return r;
}

static int unzip_load_directory(struct unzip *u)
{
	struct end e = {.at = 0};
	char *room;
	int r = unzip_find_end(u, &e);

	if (r)
		return r;
	if (e.entries > ARCHIVE_ENTRIES_MAX || e.size > ZIP_DIRECTORY_MAX)
		return unzip_fail(u, ERR_LIMIT, "has too many entries", STR(""));
	if (e.from > e.at || e.size != e.at - e.from)
		return unzip_refuse(
			u, "has a directory in another place than it says", STR(""));
	u->entries = e.entries;
	u->directory_at = e.from;
	room = buf_reserve(&u->directory, (size_t)e.size + 1);
	if (!room)
		return unzip_fail(u, -ENOMEM, "is too large for the memory", STR(""));
	r = unzip_read_at(u, e.from, room, (size_t)e.size);
	if (!r)
		buf_commit(&u->directory, (size_t)e.size);
	return r;
}

static int64_t unzip_parse_time(uint32_t dos)
{
	struct tm tm = {
		.tm_year = (int)(dos >> 25) + 80,
		.tm_mon = (int)(dos >> 21 & 15) - 1,
		.tm_mday = (int)(dos >> 16 & 31),
		.tm_hour = (int)(dos >> 11 & 31),
		.tm_min = (int)(dos >> 5 & 63),
		.tm_sec = (int)(dos & 31) * 2,
	};

	return (int64_t)timegm(&tm);
}

/* Reads an extra field of the directory, which may replace sizes and offset. */
static int unzip_read_extra(struct unzip_entry *e, struct str extra)
{
	uint64_t *const longs[] = {&e->size, &e->packed, &e->local};

	while (extra.n >= 4) {
		uint64_t id = unzip_get_le(extra.p, 2), n = unzip_get_le(extra.p + 2, 2);
		struct str field;

		extra = str_skip(extra, 4);
		if (n > extra.n)
			return ERR_SYNTAX;
		field = str_make(extra.p, (size_t)n);
		extra = str_skip(extra, (size_t)n);
		if (id == 0x5455 && field.n >= 5 && field.p[0] & 1)
			e->mtime = (int32_t)unzip_get_le(field.p + 1, 4);
		for (size_t i = 0; id == 1 && i < ARRAY_LEN(longs); i++) {
			if (*longs[i] != long32)
				continue;
			if (field.n < 8)
				return ERR_SYNTAX;
			*longs[i] = unzip_get_le(field.p, 8);
			field = str_skip(field, 8);
		}
	}
	return 0;
}

/* The mode, if the archive was made on a system that has modes; otherwise a default. */
static uint32_t unzip_get_mode(const char *p, struct str name)
{
	uint32_t mode = unzip_get_le(p + 5, 1) == HOST_UNIX
		? (uint32_t)unzip_get_le(p + 40, 2)
		: 0;
	bool folder = str_ends(name, STR("/"));

	if (mode == 0)
		mode = folder ? 0755 : 0644;
	if (folder)
		mode = (mode & 07777) | S_IFDIR;
	else if (!S_ISLNK(mode))
		mode = (mode & 07777) | S_IFREG;
	return mode;
}

/*
 * Why a name is refused, or NULL. Some readers cut a name at a NUL, take a backslash
 * for a slash or a letter with a colon for a drive.
 */
static const char *unzip_check_name(struct str name)
{
	if (str_find_byte(name, '\0') < name.n)
		return "has a name with a NUL";
	if (str_find_byte(name, '\\') < name.n)
		return "has a name with a backslash; a tar archive can have it";
	if (name.n > 1 && name.p[1] == ':' && (name.p[0] | 32) >= 'a' &&
		(name.p[0] | 32) <= 'z')
		return "has a name with a drive letter; a tar archive can have it";
	return NULL;
}

static int unzip_read_entry(
	struct unzip *u, struct str in, struct unzip_entry *e, size_t *n)
{
	size_t name_n, extra_n;
	uint64_t method;
	const char *why;

	if (in.n < CENTRAL_SIZE || unzip_get_le(in.p, 4) != CENTRAL_SIGN)
		return unzip_refuse(u, "has a damaged directory", STR(""));
	name_n = (size_t)unzip_get_le(in.p + 28, 2);
	extra_n = (size_t)unzip_get_le(in.p + 30, 2);
	*n = CENTRAL_SIZE + name_n + extra_n + (size_t)unzip_get_le(in.p + 32, 2);
	if (*n > in.n || name_n == 0)
		return unzip_refuse(u, "has a damaged directory", STR(""));
	*e = (struct unzip_entry){
		.name = str_make(in.p + CENTRAL_SIZE, name_n),
		.mtime = unzip_parse_time((uint32_t)unzip_get_le(in.p + 12, 4)),
		.crc = (uint32_t)unzip_get_le(in.p + 16, 4),
		.packed = unzip_get_le(in.p + 20, 4),
		.size = unzip_get_le(in.p + 24, 4),
		.local = unzip_get_le(in.p + 42, 4),
	};
	why = unzip_check_name(e->name);
	if (why)
		return unzip_refuse(u, why, e->name);
	e->mode = unzip_get_mode(in.p, e->name);
	if (unzip_get_le(in.p + 8, 2) & FLAG_ENCRYPTED)
		return unzip_refuse(u, "is encrypted", e->name);
	method = unzip_get_le(in.p + 10, 2);
	if (method != STORED && method != DEFLATED)
		return unzip_refuse(
			u, "is packed with another method than deflate", e->name);
	e->deflated = method == DEFLATED;
	if (unzip_get_le(in.p + 34, 2))
		return unzip_refuse(u, "is on another disk", e->name);
	if (unzip_read_extra(e, str_make(in.p + CENTRAL_SIZE + name_n, extra_n)))
		return unzip_refuse(u, "has a damaged extra field", e->name);
	return 0;
}

int unzip_next(struct unzip *u, struct unzip_entry *e)
{
	size_t n;
	int r;

	if (u->next_i == u->entries)
		return 1;
	r = unzip_read_entry(u, str_skip(buf_view(&u->directory), u->next_at), e, &n);
	if (r)
		return r;
	u->next_i++;
	u->next_at += n;
	return 0;
}

/*
 * Whether a local header has other sizes or another checksum than the directory. Zeros
 * are valid if the values follow the content, all ones if an extra field has them.
 */
static bool unzip_sizes_differ(const char *p, const struct unzip_entry *e)
{
	const uint64_t want[] = {e->crc, e->packed, e->size};

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		uint64_t got = unzip_get_le(p + 14 + 4 * i, 4);

		if (got != want[i] &&
			!(got == 0 && unzip_get_le(p + 6, 2) & FLAG_SIZES_FOLLOW) &&
			!(i > 0 && got == long32))
			return true;
	}
	return false;
}

/* Finds the start of the content; the local header must agree with the directory. */
static int unzip_find_content(struct unzip *u, const struct unzip_entry *e, uint64_t *at)
{
	char p[LOCAL_SIZE], name[256];
	uint64_t from = e->local;
	size_t done = 0;
	int r = unzip_read_at(u, from, p, sizeof(p));

	if (r)
		return r;
	if (unzip_get_le(p, 4) != LOCAL_SIGN ||
		unzip_get_le(p + 8, 2) != (e->deflated ? DEFLATED : STORED) ||
		unzip_get_le(p + 6, 2) & FLAG_ENCRYPTED ||
		unzip_get_le(p + 26, 2) != e->name.n || unzip_sizes_differ(p, e))
		return unzip_refuse(u, "is described in two ways", e->name);
	from += LOCAL_SIZE;
	while (done < e->name.n) {
		size_t n = e->name.n - done;

		n = n < sizeof(name) ? n : sizeof(name);
		r = unzip_read_at(u, from, name, n);
		if (r)
			return r;
		if (memcmp(name, e->name.p + done, n) != 0)
			return unzip_refuse(u, "is described in two ways", e->name);
		done += n;
		from += n;
	}
	from += unzip_get_le(p + 28, 2);
	if (from > u->directory_at || e->packed > u->directory_at - from)
		return unzip_refuse(u, "is cut off", e->name);
	*at = from;
	return 0;
}

/* The bytes of the archive that an entry occupies, and a hash of its name. */
struct span {
	uint64_t from, to, name;
};

static int unzip_compare_offset(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int unzip_compare_name(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->name < y->name ? -1 : x->name > y->name;
}

/* FNV-1a. If two names collide the archive is refused. A slash at the end is ignored. */
static uint64_t unzip_hash_name(struct str name)
{
	uint64_t h = 0xcbf29ce484222325;

	if (str_ends(name, STR("/")))
		name.n--;
	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 0x100000001b3;
	return h;
}

static int unzip_check_sizes(
	struct unzip *u, const struct unzip_entry *e, uint64_t *total)
{
	uint64_t ratio = e->packed ? e->size / e->packed : e->size;

	if (!e->deflated && e->size != e->packed)
		return unzip_refuse(u, "is stored, but has two sizes", e->name);
	if (e->size > ARCHIVE_RATIO_FREE && ratio > ARCHIVE_RATIO_MAX)
		return unzip_fail(u, ERR_LIMIT, "is packed too well to be true", e->name);
	if (e->size > ARCHIVE_BYTES_MAX - *total)
		return unzip_fail(u, ERR_LIMIT, "is too large when unpacked", STR(""));
	*total += e->size;
	return 0;
}

static int unzip_read_spans(struct unzip *u, struct span *spans)
{
	uint64_t total = 0;
	int r = 0;

	for (size_t i = 0; i < u->entries && !r; i++) {
		struct unzip_entry e;
		uint64_t at;

		r = unzip_next(u, &e);
		if (!r)
			r = unzip_check_sizes(u, &e, &total);
		if (!r)
			r = unzip_find_content(u, &e, &at);
		if (!r)
			spans[i] = (struct span){
				e.local, at + e.packed, unzip_hash_name(e.name)};
	}
	if (!r && u->next_at != u->directory.n)
		r = unzip_refuse(
			u, "has another number of entries than it says", STR(""));
	return r;
}

static struct span *unzip_spans_new(size_t n)
{
	return calloc(n + 1, sizeof(struct span));
}

static int unzip_check_all(struct unzip *u)
{
	size_t n = (size_t)u->entries;
	struct span *spans = unzip_spans_new(n);
	int r = spans ? unzip_read_spans(u, spans)
		      : unzip_fail(u, -ENOMEM, "is too large for the memory", STR(""));

	if (r)
		goto out;
	qsort(spans, n, sizeof(*spans), unzip_compare_offset);
	for (size_t i = 1; i < n && !r; i++)
		if (spans[i].from < spans[i - 1].to)
			r = unzip_refuse(u, "has entries that overlap", STR(""));
	qsort(spans, n, sizeof(*spans), unzip_compare_name);
	for (size_t i = 1; i < n && !r; i++)
		if (spans[i].name == spans[i - 1].name)
			r = unzip_refuse(u, "has an entry twice", STR(""));
out:
	free(spans);
	return r;
}

int unzip_open(struct unzip *u, const struct unzip_source *source)
{
	int r;

	*u = (struct unzip){.source = *source};
	buf_init(&u->directory, ZIP_DIRECTORY_MAX + 1);
	r = unzip_load_directory(u);
	if (!r)
		r = unzip_check_all(u);
	if (!r)
		u->reason = NULL;
	unzip_rewind(u);
	return r;
}

void unzip_rewind(struct unzip *u)
{
	u->next_i = u->next_at = 0;
}

int unzip_find(struct unzip *u, struct str name, struct unzip_entry *e)
{
	struct unzip_entry found;
	int r;

	unzip_rewind(u);
	do
		r = unzip_next(u, &found);
	while (!r && !str_eq(found.name, name));
	if (!r)
		*e = found;
	return r;
}

void unzip_free(struct unzip *u)
{
	if (u->z_ready)
		inflateEnd(&u->z);
	free(u->buffer);
	buf_free(&u->directory);
	*u = (struct unzip){.entries = 0};
}

/* Allocates buffers for one unpacked and one packed piece. */
static unsigned char *unzip_buffer_new(void)
{
	return calloc(2, PIECE);
}

int unzip_begin(struct unzip_content *c, struct unzip *u, const struct unzip_entry *e)
{
	int r;

	*c = (struct unzip_content){.u = u, .entry = *e, .left = e->packed};
	r = unzip_find_content(u, e, &c->at);
	if (r)
		return r;
	if (!u->buffer)
		u->buffer = unzip_buffer_new();
	if (!u->z_ready)
		u->z_ready = inflateInit2(&u->z, -15) == Z_OK;
	else if (inflateReset(&u->z) != Z_OK)
		return unzip_refuse(u, "is damaged", e->name);
	if (!u->buffer || !u->z_ready)
		return unzip_fail(u, -ENOMEM, "is too large for the memory", e->name);
	u->z.avail_in = 0;
	return 0;
}

/* Reads the next packed bytes into p, which has space for PIECE. */
static int unzip_read_packed(struct unzip_content *c, unsigned char *p, size_t *n)
{
	int r;

	*n = c->left < PIECE ? (size_t)c->left : PIECE;
	r = unzip_read_at(c->u, c->at, p, *n);
	c->at += *n;
	c->left -= *n;
	return r;
}

/* Unpacks up to PIECE bytes; *n is 0 at the end. */
static int unzip_inflate_piece(struct unzip_content *c, size_t *n)
{
	unsigned char *packed = c->u->buffer + PIECE;
	z_stream *z = &c->u->z;

	z->next_out = c->u->buffer;
	z->avail_out = PIECE;
	for (;;) {
		int status, r;
		size_t got;

		if (z->avail_in == 0 && c->left) {
			r = unzip_read_packed(c, packed, &got);
			if (r)
				return r;
			z->next_in = packed;
			z->avail_in = (unsigned)got;
		}
		status = inflate(z, Z_NO_FLUSH);
		*n = PIECE - z->avail_out;
		if (status == Z_STREAM_END) {
			if (c->left || z->avail_in)
				return unzip_refuse(c->u, "is damaged", c->entry.name);
			return 0;
		}
		if (status != Z_OK)
			return unzip_refuse(c->u, "is damaged", c->entry.name);
		if (*n)
			return 0;
	}
}

int unzip_read_piece(struct unzip_content *c, struct str *piece)
{
	size_t n;
	int r = c->entry.deflated ? unzip_inflate_piece(c, &n)
				  : unzip_read_packed(c, c->u->buffer, &n);

	if (r)
		return r;
	if (n > c->entry.size - c->size)
		return unzip_refuse(c->u, "is longer than it says", c->entry.name);
	if (n == 0 && c->size != c->entry.size)
		return unzip_refuse(c->u, "is shorter than it says", c->entry.name);
	if (n == 0)
		return c->crc == c->entry.crc
			? 0
			: unzip_refuse(c->u, "has a wrong checksum", c->entry.name);
	c->size += n;
	*piece = str_make((const char *)c->u->buffer, n);
	c->crc = crc_update(c->crc, *piece);
	return 1;
}
