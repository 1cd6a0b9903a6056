/* The clients inside od-runtime: a file made by hand, whole, cut and damaged. */
#include "inject/image/embedded.h"

#include "limits.h"
#include "tests/tap.h"

#include <elf.h>
#include <stdlib.h>

/* gzip of "hello" */
static const char packed[] = "\x1f\x8b\x08\0\0\0\0\0\x02\x03"
			     "\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
enum { PACKED = sizeof(packed) - 1 };

static const char names[] =
	"\0.shstrtab\0.od.client.amd64\0.od.client.arm64\0.od.plugins.amd64";

struct file {
	Elf64_Ehdr head;
	char names[96];
	char packed[32];
	Elf64_Shdr table[5];
};

static void make(struct file *f)
{
	*f = (struct file){0};
	memcpy(f->head.e_ident, ELFMAG, SELFMAG);
	f->head.e_ident[EI_CLASS] = ELFCLASS64;
	f->head.e_ident[EI_DATA] = ELFDATA2LSB;
	f->head.e_shoff = offsetof(struct file, table);
	f->head.e_shentsize = sizeof(Elf64_Shdr);
	f->head.e_shnum = 5;
	f->head.e_shstrndx = 1;
	memcpy(f->names, names, sizeof(names));
	memcpy(f->packed, packed, PACKED);
	f->table[1] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_offset = offsetof(struct file, names),
		.sh_size = sizeof(names),
	};
	f->table[2] = (Elf64_Shdr){
		.sh_name = 11,
		.sh_offset = offsetof(struct file, packed),
		.sh_size = PACKED,
	};
	f->table[3] = f->table[2];
	f->table[3].sh_name = 28;
	f->table[4] = f->table[2];
	f->table[4].sh_name = 45;
}

static struct str view(const struct file *f)
{
	return str_make((const char *)f, sizeof(*f));
}

static void test_find(void)
{
	struct buf out = BUF_INIT(64), list = BUF_INIT(64);
	struct str found = {0};
	struct file f;

	make(&f);
	embedded_list(view(&f), STR(EMBEDDED_CLIENT), &list);
	is_view(buf_view(&list), " amd64 arm64", "both clients are listed");
	buf_reset(&list);
	embedded_list(view(&f), STR(EMBEDDED_PLUGINS), &list);
	is_view(buf_view(&list), " amd64", "od-plugins is listed by its own section");
	is_int(embedded_find(view(&f), STR(EMBEDDED_PLUGINS), STR("amd64"), &found), 0,
		"od-plugins is found");
	is_int(embedded_find(view(&f), STR(EMBEDDED_PLUGINS), STR("arm64"), &found), 1,
		"a client is not taken for od-plugins");
	is_int(embedded_find(view(&f), STR(EMBEDDED_CLIENT), STR("arm64"), &found), 0,
		"one is found");
	is_int(found.n, PACKED, "whole");
	is_int(embedded_unpack(found, &out), 0, "and unpacked");
	is_view(buf_view(&out), "hello", "to what it was");
	is_int(embedded_find(view(&f), STR(EMBEDDED_CLIENT), STR("riscv64"), &found), 1,
		"another is not there");
	is_int(embedded_find(
		       STR("#!/bin/sh"), STR(EMBEDDED_CLIENT), STR("arm64"), &found),
		ERR_SYNTAX, "no ELF file");
	buf_free(&out);
	buf_free(&list);
}

static void test_damage(void)
{
	struct buf out = BUF_INIT(64), tight = BUF_INIT(2);
	struct str found;
	struct file f;

	make(&f);
	f.table[2].sh_size = UINT64_MAX;
	is_int(embedded_find(view(&f), STR(EMBEDDED_CLIENT), STR("amd64"), &found),
		ERR_SYNTAX, "beyond the end");
	make(&f);
	f.head.e_shoff = UINT64_MAX - 8;
	is_int(embedded_find(view(&f), STR(EMBEDDED_CLIENT), STR("amd64"), &found),
		ERR_SYNTAX, "no table");
	make(&f);
	f.head.e_shstrndx = 60000;
	is_int(embedded_find(view(&f), STR(EMBEDDED_CLIENT), STR("amd64"), &found),
		ERR_SYNTAX, "no names");
	make(&f);
	f.table[2].sh_name = UINT32_MAX;
	is_int(embedded_find(view(&f), STR(EMBEDDED_CLIENT), STR("amd64"), &found), 1,
		"a name that is nowhere");
	make(&f);
	for (size_t n = 0; n < PACKED; n++) {
		buf_reset(&out);
		is_int(embedded_unpack(str_make(packed, n), &out), ERR_SYNTAX,
			"cut at %zu", n);
	}
	f.packed[20] ^= 1;
	buf_reset(&out);
	is_int(embedded_unpack(str_make(f.packed, PACKED), &out), ERR_SYNTAX,
		"another checksum");
	is_int(embedded_unpack(str_make(packed, PACKED), &tight), ERR_LIMIT, "too large");
	buf_free(&out);
	buf_free(&tight);
}

/* At every length, in memory of just that size, nothing beyond it is read. */
static void test_cuts(void)
{
	struct file f;
	size_t good = 0;

	make(&f);
	for (size_t n = 0; n < sizeof(f); n++) {
		char *copy = malloc(n + 1);
		struct str found;

		if (!copy)
			abort();
		memmove(copy, &f, n);
		good += embedded_find(str_make(copy, n), STR(EMBEDDED_CLIENT),
				STR("amd64"), &found) == 0;
		free(copy);
	}
	is_int(good, 0, "a file that is cut has none");
}

int main(void)
{
	test_find();
	test_damage();
	test_cuts();
	return done_testing();
}
