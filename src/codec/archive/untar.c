#include "codec/archive/untar.h"

#include "codec/archive/tar_header.h"

#include <assert.h>
#include <errno.h>

enum { GNU_BINARY = 0x80 };

void untar_init(struct untar *u)
{
	*u = (struct untar){.state = UNTAR_HEADER};
	buf_init(&u->meta, TAR_META_MAX);
	buf_init(&u->name, TAR_META_MAX);
	buf_init(&u->target, TAR_META_MAX);
}

void untar_free(struct untar *u)
{
	buf_free(&u->meta);
	buf_free(&u->name);
	buf_free(&u->target);
}

static int untar_refuse(struct untar *u, const char *why)
{
	u->reason = why;
	return ERR_SYNTAX;
}

static struct str untar_get_text(const char *field, size_t n)
{
	return str_make(field, str_find_byte(str_make(field, n), '\0'));
}

/*
 * Parses octal digits with blanks or NUL around, or big-endian bytes after a first
 * 0x80.
 */
static int untar_parse_number(const char *field, size_t n, uint64_t *out)
{
	const unsigned char *p = (const unsigned char *)field;
	struct str s;
	uint64_t v = 0;

	if (p[0] & GNU_BINARY) {
		for (size_t i = 0; i < n; i++) {
			unsigned c = i ? p[i] : p[i] & 0x7fu;

			if (v >> 55)
				return ERR_RANGE;
			v = v << 8 | c;
		}
		*out = v;
		return 0;
	}
	s = str_trim(untar_get_text(field, n), " ");
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '7')
			return ERR_SYNTAX;
		v = v << 3 | (unsigned)(s.p[i] - '0');
	}
	*out = v;
	return 0;
}

static bool untar_is_sum_valid(const struct untar *u, const struct tar_write_header *h)
{
	uint64_t want;
	unsigned sum = 0;
	int old = 0;

	if (untar_parse_number(h->sum, sizeof(h->sum), &want))
		return false;
	for (size_t i = 0; i < sizeof(*h); i++) {
		bool own = i >= offsetof(struct tar_write_header, sum) &&
			i < offsetof(struct tar_write_header, type);

		sum += own ? ' ' : u->block[i];
		old += own ? ' ' : (signed char)u->block[i];
	}
	/* Some old writers summed the bytes as signed numbers. */
	return want == sum || (old >= 0 && want == (unsigned)old);
}

static size_t untar_get_padding(uint64_t size)
{
	return (size_t)(-size & (UNTAR_BLOCK - 1));
}

static int untar_begin_meta(struct untar *u, char type, uint64_t size)
{
	if (size > TAR_META_MAX) {
		u->reason = "has too large a header";
		return ERR_LIMIT;
	}
	u->meta_type = type;
	u->left = size;
	u->padding = untar_get_padding(size);
	buf_reset(&u->meta);
	u->state = UNTAR_META;
	return UNTAR_MORE;
}

static int untar_set_name(struct untar *u, const struct tar_write_header *h)
{
	bool ustar = memcmp(h->magic, "ustar", 6) == 0;
	struct str prefix = untar_get_text(h->prefix, sizeof(h->prefix));

	if (!u->has_name) {
		buf_reset(&u->name);
		if (ustar && prefix.n) {
			buf_str(&u->name, prefix);
			buf_putc(&u->name, '/');
		}
		buf_str(&u->name, untar_get_text(h->name, sizeof(h->name)));
	}
	if (!u->has_target) {
		buf_reset(&u->target);
		buf_str(&u->target, untar_get_text(h->target, sizeof(h->target)));
	}
	u->entry.name = buf_view(&u->name);
	u->entry.target = buf_view(&u->target);
	return u->name.err ? u->name.err : u->target.err;
}

static int untar_set_type(struct untar *u, char type)
{
	switch (type) {
	case '0':
	case '\0':
	case '7':
		/* Old formats have no type for folders. */
		u->entry.type =
			str_ends(u->entry.name, STR("/")) ? UNTAR_DIR : UNTAR_FILE;
		return 0;
	case '1':
		u->entry.type = UNTAR_HARDLINK;
		return 0;
	case '2':
		u->entry.type = UNTAR_SYMLINK;
		return 0;
	case '5':
		u->entry.type = UNTAR_DIR;
		return 0;
	default:
		return untar_refuse(u, "is neither a file, a folder nor a link");
	}
}

/* Makes the entry of the header and of the extended headers before it. */
static int untar_begin_entry(
	struct untar *u, const struct tar_write_header *h, uint64_t size)
{
	uint64_t mode, mtime;
	int r = untar_set_name(u, h);

	if (!r)
		r = untar_set_type(u, h->type);
	if (r)
		return r;
	if (untar_parse_number(h->mode, sizeof(h->mode), &mode))
		return untar_refuse(u, "has a damaged header");
	if (untar_parse_number(h->mtime, sizeof(h->mtime), &mtime))
		mtime = 0;
	u->entry.mode = mode & 07777;
	u->entry.mtime = u->has_mtime ? u->mtime : (int64_t)(mtime & INT64_MAX);
	u->entry.size = u->entry.type == UNTAR_FILE ? size : 0;
	/* Hard links of pax may have content, which is discarded. */
	u->left = size;
	u->padding = untar_get_padding(size);
	u->state = UNTAR_CONTENT;
	u->has_name = u->has_target = u->has_size = u->has_mtime = false;
	return UNTAR_ENTRY;
}

static int untar_on_header(struct untar *u)
{
	struct tar_write_header h;
	uint64_t size;
	bool empty = true;

	memcpy(&h, u->block, sizeof(h));
	for (size_t i = 0; i < UNTAR_BLOCK && empty; i++)
		empty = u->block[i] == 0;
	if (empty) {
		if (++u->zeros < 2)
			return UNTAR_MORE;
		u->state = UNTAR_EPILOGUE;
		return UNTAR_DONE;
	}
	u->zeros = 0;
	if (!untar_is_sum_valid(u, &h))
		return untar_refuse(u, "is no tar archive, or damaged");
	if (untar_parse_number(h.size, sizeof(h.size), &size))
		return untar_refuse(u, "has a damaged header");
	switch (h.type) {
	case 'x':
	case 'g':
	case 'L':
	case 'K':
		return untar_begin_meta(u, h.type, size);
	default:
		if (u->has_size)
			size = u->size;
		return untar_begin_entry(u, &h, size);
	}
}

/* Parses decimal seconds, with an optional sign and fraction. */
static int64_t untar_parse_seconds(struct str s)
{
	int64_t v;

	s.n = str_find_byte(s, '.');
	return str_i64(s, &v) == 0 ? v : 0;
}

static int untar_on_record(struct untar *u, struct str key, struct str value)
{
	if (str_eq(key, STR("path"))) {
		u->has_name = true;
		buf_reset(&u->name);
		buf_str(&u->name, value);
	} else if (str_eq(key, STR("linkpath"))) {
		u->has_target = true;
		buf_reset(&u->target);
		buf_str(&u->target, value);
	} else if (str_eq(key, STR("size"))) {
		u->has_size = true;
		if (str_u64(value, INT64_MAX, &u->size))
			return untar_refuse(u, "has a damaged header");
	} else if (str_eq(key, STR("mtime"))) {
		u->has_mtime = true;
		u->mtime = untar_parse_seconds(value);
	} else if (str_starts(key, STR("GNU.sparse."))) {
		return untar_refuse(u, "is a sparse file");
	}
	return u->name.err ? u->name.err : u->target.err;
}

/* Reads records "LENGTH KEY=VALUE\n" (POSIX.1-2001); LENGTH counts the whole record. */
static int untar_on_pax(struct untar *u)
{
	struct str rest = buf_view(&u->meta);
	int r = 0;

	while (rest.n && !r) {
		struct str record, key;
		uint64_t n;
		size_t digits = str_find_byte(rest, ' ');

		if (str_u64(str_make(rest.p, digits), rest.n, &n) || n < digits + 2 ||
			rest.p[n - 1] != '\n')
			return untar_refuse(u, "has a damaged header");
		record = str_make(rest.p + digits + 1, (size_t)n - digits - 2);
		rest = str_skip(rest, (size_t)n);
		if (str_find_byte(record, '=') == record.n)
			return untar_refuse(u, "has a damaged header");
		key = str_cut(&record, '=');
		r = untar_on_record(u, key, record);
	}
	return r;
}

static int untar_on_meta(struct untar *u)
{
	struct str text = untar_get_text(u->meta.p, u->meta.n);

	switch (u->meta_type) {
	case 'x':
		return untar_on_pax(u);
	case 'L':
		u->has_name = true;
		buf_reset(&u->name);
		buf_str(&u->name, text);
		return u->name.err;
	case 'K':
		u->has_target = true;
		buf_reset(&u->target);
		buf_str(&u->target, text);
		return u->target.err;
	default:
		/* Global records are ignored: they usually hold comments. */
		return 0;
	}
}

static struct str untar_cut_input(struct str *in, uint64_t most)
{
	struct str s = str_make(in->p, in->n < most ? in->n : (size_t)most);

	*in = str_skip(*in, s.n);
	return s;
}

static int untar_step_header(struct untar *u, struct str *in)
{
	struct str s = untar_cut_input(in, UNTAR_BLOCK - u->block_n);

	memcpy(u->block + u->block_n, s.p, s.n);
	u->block_n += s.n;
	if (u->block_n < UNTAR_BLOCK)
		return UNTAR_MORE;
	u->block_n = 0;
	return untar_on_header(u);
}

static int untar_step_meta(struct untar *u, struct str *in)
{
	struct str s = untar_cut_input(in, u->left);

	buf_str(&u->meta, s);
	u->left -= s.n;
	if (u->left)
		return u->meta.err;
	u->state = UNTAR_PADDING;
	return u->meta.err ? u->meta.err : untar_on_meta(u);
}

static int untar_step_content(struct untar *u, struct str *in, struct str *piece)
{
	bool file = u->entry.type == UNTAR_FILE;
	struct str s;

	if (u->left == 0) {
		u->state = UNTAR_PADDING;
		return file ? UNTAR_END : UNTAR_MORE;
	}
	s = untar_cut_input(in, u->left);
	u->left -= s.n;
	if (!file)
		return UNTAR_MORE;
	*piece = s;
	return UNTAR_DATA;
}

int untar_next(struct untar *u, struct str *in, struct str *piece)
{
	int r = UNTAR_MORE;

	*piece = str_make(NULL, 0);
	while (r == UNTAR_MORE) {
		bool idle = (u->state == UNTAR_CONTENT || u->state == UNTAR_META) &&
			u->left == 0;

		if (in->n == 0 && !idle && !(u->state == UNTAR_PADDING && !u->padding))
			return UNTAR_MORE;
		switch (u->state) {
		case UNTAR_HEADER:
			r = untar_step_header(u, in);
			break;
		case UNTAR_META:
			r = untar_step_meta(u, in);
			break;
		case UNTAR_CONTENT:
			r = untar_step_content(u, in, piece);
			break;
		case UNTAR_PADDING:
			u->padding -= untar_cut_input(in, u->padding).n;
			if (u->padding == 0)
				u->state = UNTAR_HEADER;
			break;
		case UNTAR_EPILOGUE:
			untar_cut_input(in, in->n);
			break;
		}
	}
	return r;
}

uint64_t untar_skip_content(struct untar *u)
{
	uint64_t n = u->left + u->padding;

	assert(u->state == UNTAR_CONTENT);
	u->left = u->padding = 0;
	u->state = UNTAR_HEADER;
	return n;
}
