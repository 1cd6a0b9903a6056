#include "codec/exec_format.h"

#include "base/err.h"

#include <elf.h>

/* Fields of the two classes, from the ELF specification: offset and size. */
struct elf_layout {
	size_t head, phoff, phoff_n, phentsize, phnum, offset, filesz, field_n;
};

static const struct elf_layout elf_layouts[] = {
	[ELFCLASS32] = {sizeof(Elf32_Ehdr), 28, 4, 42, 44, 4, 16, 4},
	[ELFCLASS64] = {sizeof(Elf64_Ehdr), 32, 8, 54, 56, 8, 32, 8},
};

/* n bytes at an offset that the caller has checked. */
static uint64_t exec_format_read_field(struct str b, size_t at, size_t n)
{
	bool big = b.p[EI_DATA] == ELFDATA2MSB;
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)b.p[at + (big ? i : n - 1 - i)];
	return v;
}

/* The part of b from at on, n bytes, without what follows its first NUL; else empty. */
static struct str exec_format_read_text(struct str b, uint64_t at, uint64_t n)
{
	struct str s;

	if (at >= b.n || n > b.n - at)
		return str_make(NULL, 0);
	s = str_make(b.p + at, (size_t)n);
	s.n = str_find_byte(s, '\0');
	return s;
}

static int exec_format_read_elf(struct str b, struct str *interpreter)
{
	unsigned class = (unsigned char)b.p[EI_CLASS];
	const struct elf_layout *l;
	uint64_t at, size, count;

	if (class != ELFCLASS32 && class != ELFCLASS64)
		return ERR_TYPE;
	l = &elf_layouts[class];
	if (b.n < l->head)
		return ERR_TYPE;
	at = exec_format_read_field(b, l->phoff, l->phoff_n);
	size = exec_format_read_field(b, l->phentsize, 2);
	count = exec_format_read_field(b, l->phnum, 2);
	for (; count && size >= l->filesz + l->field_n && at < b.n && size <= b.n - at;
		count--, at += size) {
		if (exec_format_read_field(b, (size_t)at, 4) != PT_INTERP)
			continue;
		*interpreter = exec_format_read_text(b,
			exec_format_read_field(b, (size_t)at + l->offset, l->field_n),
			exec_format_read_field(b, (size_t)at + l->filesz, l->field_n));
		break;
	}
	return 0;
}

/* "#!", blanks, the path, and perhaps an argument. */
static int exec_format_read_script(struct str b, struct str *interpreter)
{
	struct str line = str_trim(str_cut(&b, '\n'), " \t\r");

	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\0')
			line.n = i;
	if (!line.n)
		return ERR_TYPE;
	*interpreter = line;
	return 0;
}

int exec_format_read(struct str head, struct str *interpreter)
{
	*interpreter = str_make(NULL, 0);
	if (str_starts(head, STR("#!")))
		return exec_format_read_script(str_skip(head, 2), interpreter);
	if (head.n < EI_NIDENT || memcmp(head.p, ELFMAG, SELFMAG) != 0)
		return ERR_TYPE;
	return exec_format_read_elf(head, interpreter);
}
