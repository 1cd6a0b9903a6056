#include "codec/exec_format.h"

#include "base/buf.h"
#include "tests/tap.h"

#include <elf.h>
#include <stdlib.h>

static char loader[] = "/lib/ld.so";

/* Against the end of an allocation, so that a read too far is caught. */
static void check(
	const void *p, size_t n, int want, const char *interpreter, const char *name)
{
	char *tight = malloc(n ? n : 1);
	struct str got = STR("unset");

	memcpy(tight, p, n);
	is_int(exec_format_read(str_make(tight, n), &got), want, "%s", name);
	is_view(got, interpreter, "interpreter of %s", name);
	free(tight);
}

static void test_scripts(void)
{
	static const struct {
		const char *text;
		const char *interpreter; /* NULL: no script */
	} rows[] = {
		{"#!/bin/sh\n", "/bin/sh"},
		{"#! \t/bin/sh -e x\nrest", "/bin/sh"},
		{"#!/bin/sh", "/bin/sh"},
		{"#!/bin/sh\r\n", "/bin/sh"},
		{"#!", NULL},
		{"#! \n/bin/sh", NULL},
		{"#", NULL},
		{"", NULL},
		{"echo", NULL},
		{"\x7f"
		 "ELF",
			NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].text, strlen(rows[i].text),
			rows[i].interpreter ? 0 : ERR_TYPE,
			rows[i].interpreter ? rows[i].interpreter : "",
			rows[i].interpreter ? "a script" : "no script");
}

struct file64 {
	Elf64_Ehdr head;
	Elf64_Phdr table[2];
	char name[sizeof(loader)];
};

struct file32 {
	Elf32_Ehdr head;
	Elf32_Phdr table[2];
	char name[sizeof(loader)];
};

static void test_elf(void)
{
	struct file64 f = {
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			.e_phoff = offsetof(struct file64, table),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2},
		.table = {{.p_type = PT_LOAD},
			{.p_type = PT_INTERP,
				.p_offset = offsetof(struct file64, name),
				.p_filesz = sizeof(loader)}},
	};
	struct file32 small = {
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB},
			.e_phoff = offsetof(struct file32, table),
			.e_phentsize = sizeof(Elf32_Phdr),
			.e_phnum = 2},
		.table = {{.p_type = PT_LOAD},
			{.p_type = PT_INTERP,
				.p_offset = offsetof(struct file32, name),
				.p_filesz = sizeof(loader)}},
	};
	const size_t whole = offsetof(struct file64, name) + sizeof(loader);

	memcpy(f.name, loader, sizeof(loader));
	memcpy(small.name, loader, sizeof(loader));
	check(&f, whole, 0, loader, "a dynamic program");
	check(&small, offsetof(struct file32, name) + sizeof(loader), 0, loader,
		"one of 32 bits");
	for (size_t n = 0; n < whole; n++)
		check(&f, n, n < sizeof(f.head) ? ERR_TYPE : 0, "", "a head that is cut");
	f.table[1].p_offset = UINT64_MAX;
	check(&f, whole, 0, "", "a name that lies elsewhere");
	f.table[1].p_type = PT_NULL;
	check(&f, whole, 0, "", "a static program");
	f.head.e_phoff = UINT64_MAX - 8;
	check(&f, whole, 0, "", "a table that lies elsewhere");
	f.head.e_phoff = 0;
	f.head.e_phentsize = 1;
	f.head.e_phnum = UINT16_MAX;
	check(&f, whole, 0, "", "entries that are too small");
	f.head.e_ident[EI_CLASS] = 0;
	check(&f, whole, ERR_TYPE, "", "an unknown class");
	f.head.e_ident[EI_CLASS] = 0xff;
	check(&f, whole, ERR_TYPE, "", "a class beyond the table");
}

int main(void)
{
	test_scripts();
	test_elf();
	return done_testing();
}
