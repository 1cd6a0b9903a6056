#include "inject/image/embedded.h"

#include <elf.h>
#include <errno.h>
#include <zlib.h>

enum { STEP = 1 << 18, GZIP = 16 };

/*
 * Checks bounds: every table is read through this function, whatever its header claims.
 */
static struct str embedded_slice_elf(struct str elf, uint64_t at, uint64_t n)
{
	if (at > elf.n || n > elf.n - at)
		return (struct str){0};
	return str_make(elf.p + at, (size_t)n);
}

struct sections {
	struct str elf, table, names;
	size_t n;
};

static bool embedded_read_section(const struct sections *s, size_t i, Elf64_Shdr *out)
{
	struct str row = embedded_slice_elf(s->table, i * sizeof(*out), sizeof(*out));

	if (!row.n)
		return false;
	memcpy(out, row.p, sizeof(*out));
	return true;
}

static int embedded_open_sections(struct str elf, struct sections *s)
{
	struct str head = embedded_slice_elf(elf, 0, sizeof(Elf64_Ehdr));
	Elf64_Shdr names;
	Elf64_Ehdr h;

	if (!head.n || memcmp(head.p, ELFMAG, SELFMAG) != 0 ||
		head.p[EI_CLASS] != ELFCLASS64 || head.p[EI_DATA] != ELFDATA2LSB)
		return ERR_SYNTAX;
	memcpy(&h, head.p, sizeof(h));
	*s = (struct sections){.elf = elf, .n = h.e_shnum};
	s->table = embedded_slice_elf(
		elf, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr));
	if (h.e_shentsize != sizeof(Elf64_Shdr) ||
		!embedded_read_section(s, h.e_shstrndx, &names))
		return ERR_SYNTAX;
	s->names = embedded_slice_elf(elf, names.sh_offset, names.sh_size);
	return 0;
}

/* Finds the next section called want from *i on: its architecture and its bytes. */
static bool embedded_next_section(const struct sections *s, struct str want, size_t *i,
	struct str *arch, struct str *bytes)
{
	for (; *i < s->n; ++*i) {
		struct str name;
		Elf64_Shdr h;

		if (!embedded_read_section(s, *i, &h) || h.sh_name >= s->names.n)
			continue;
		name = str_skip(s->names, h.sh_name);
		name = str_cut(&name, '\0');
		if (!str_starts(name, want))
			continue;
		*arch = str_skip(name, want.n);
		*bytes = embedded_slice_elf(s->elf, h.sh_offset, h.sh_size);
		++*i;
		return true;
	}
	return false;
}

int embedded_find(struct str elf, struct str section, struct str arch, struct str *packed)
{
	struct str name, bytes;
	struct sections s;
	size_t i = 0;
	int r = embedded_open_sections(elf, &s);

	if (r)
		return r;
	while (embedded_next_section(&s, section, &i, &name, &bytes)) {
		if (!str_eq(name, arch))
			continue;
		*packed = bytes;
		return bytes.n ? 0 : ERR_SYNTAX;
	}
	return 1;
}

void embedded_list(struct str elf, struct str section, struct buf *out)
{
	struct str name, bytes;
	struct sections s;
	size_t i = 0;

	if (embedded_open_sections(elf, &s))
		return;
	while (embedded_next_section(&s, section, &i, &name, &bytes))
		buf_fmt(out, " %.*s", STR_ARG(name));
}

static int embedded_inflate(z_stream *z, struct buf *out)
{
	for (;;) {
		size_t left = out->max - out->n;
		size_t n = left < STEP ? left + !left : STEP;
		char *room = buf_reserve(out, n);
		int r;

		if (!room)
			return out->err;
		z->next_out = (unsigned char *)room;
		z->avail_out = (unsigned)n;
		r = inflate(z, Z_NO_FLUSH);
		buf_commit(out, n - z->avail_out);
		if (r == Z_STREAM_END)
			return 0;
		if (r == Z_MEM_ERROR)
			return -ENOMEM;
		if (r != Z_OK)
			return ERR_SYNTAX;
	}
}

int embedded_unpack(struct str packed, struct buf *out)
{
	z_stream z = {0};
	int r;

	if (packed.n > UINT32_MAX)
		return ERR_SYNTAX;
	if (inflateInit2(&z, MAX_WBITS + GZIP) != Z_OK)
		return -ENOMEM;
	z.next_in = (unsigned char *)(uintptr_t)packed.p;
	z.avail_in = (unsigned)packed.n;
	r = embedded_inflate(&z, out);
	inflateEnd(&z);
	return r;
}
