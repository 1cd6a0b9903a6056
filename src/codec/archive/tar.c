#include "codec/archive/tar.h"

#include "codec/archive/tar_header.h"

#include <assert.h>
#include <stdio.h>

/* Eleven octal digits, the most that every reader understands. */
static const uint64_t size_max = 077777777777;

/* Not const: it takes no space in the program. */
static char zeros[2 * TAR_BLOCK];

void tar_init(struct tar *t, struct buf *out)
{
	*t = (struct tar){.out = out};
}

static bool tar_is_part(struct str part)
{
	return part.n && !str_eq(part, STR(".")) && !str_eq(part, STR(".."));
}

static int tar_check_name(const struct tar_entry *e)
{
	struct str name = str_c(e->name);
	bool slash = str_ends(name, STR("/"));

	if (name.n > TAR_NAME_MAX)
		return ERR_LIMIT;
	if (slash != (e->type == TAR_DIR))
		return ERR_SYNTAX;
	if (slash)
		name.n--;
	if (str_ends(name, STR("/")))
		return ERR_SYNTAX;
	do {
		if (!tar_is_part(str_cut(&name, '/')))
			return ERR_SYNTAX;
	} while (name.n);
	return 0;
}

static int tar_check_entry(const struct tar *t, const struct tar_entry *e)
{
	int r = tar_check_name(e);

	if (r)
		return r;
	if (!e->target != (e->type != TAR_LINK) || e->mode > 07777)
		return ERR_SYNTAX;
	if (e->target && strlen(e->target) > TAR_NAME_MAX)
		return ERR_LIMIT;
	if (e->size > size_max)
		return ERR_LIMIT;
	if (e->size && e->type != TAR_FILE)
		return ERR_SYNTAX;
	return strcmp(e->name, t->last) > 0 ? 0 : ERR_RANGE;
}

/* Writes n bytes: octal digits with leading zeros and a final NUL. */
static void tar_put_octal(char *field, size_t n, uint64_t v)
{
	field[--n] = '\0';
	while (n) {
		field[--n] = (char)('0' + (v & 7));
		v >>= 3;
	}
}

static unsigned tar_sum_header(const struct tar_write_header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof(*h); i++)
		sum += p[i];
	return sum;
}

int tar_write_header(struct tar *t, const struct tar_entry *e)
{
	struct tar_write_header h = {.type = (char)e->type};
	int r = tar_check_entry(t, e);

	assert(!t->pending);
	if (r)
		return r;
	/* A full field has no NUL at its end. */
	memcpy(h.name, e->name, strlen(e->name));
	if (e->target)
		memcpy(h.target, e->target, strlen(e->target));
	tar_put_octal(h.mode, sizeof(h.mode), e->mode);
	tar_put_octal(h.uid, sizeof(h.uid), 0);
	tar_put_octal(h.gid, sizeof(h.gid), 0);
	tar_put_octal(h.size, sizeof(h.size), e->size);
	tar_put_octal(h.mtime, sizeof(h.mtime), 0);
	memcpy(h.magic, "ustar", 6);
	memcpy(h.version, "00", 2);
	/*
	 * The checksum is computed with its own field blank. The field ends with NUL
	 * and a blank.
	 */
	memset(h.sum, ' ', sizeof(h.sum));
	tar_put_octal(h.sum, 7, tar_sum_header(&h));
	buf_put(t->out, &h, sizeof(h));
	if (t->out->err)
		return t->out->err;
	memcpy(t->last, e->name, strlen(e->name) + 1);
	t->pending = e->size;
	return 0;
}

void tar_pad(struct tar *t)
{
	size_t over = (size_t)(t->pending % TAR_BLOCK);

	if (over)
		buf_put(t->out, zeros, TAR_BLOCK - over);
	t->pending = 0;
}

void tar_end(struct tar *t)
{
	assert(!t->pending);
	buf_put(t->out, zeros, sizeof(zeros));
}
