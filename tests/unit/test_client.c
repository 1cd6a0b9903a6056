#include "inject/client.h"

#include "inject/out.h"
#include "tests/tap.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

struct elf {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
};

static struct elf good(unsigned machine)
{
	struct elf e = {0};

	memcpy(e.head.e_ident, ELFMAG, SELFMAG);
	e.head.e_ident[EI_CLASS] = ELFCLASS64;
	e.head.e_ident[EI_DATA] = ELFDATA2LSB;
	e.head.e_type = ET_DYN;
	e.head.e_machine = (Elf64_Half)machine;
	e.head.e_phoff = sizeof(e.head);
	e.head.e_phentsize = sizeof(e.segment);
	e.head.e_phnum = 1;
	e.segment.p_type = PT_LOAD;
	return e;
}

static int arch_of(const struct elf *e, size_t n, const char **arch)
{
	char *copy = malloc(n ? n : 1); /* exact, so that reading beyond is seen */
	int r;

	memcpy(copy, e, n);
	r = client_elf_arch(str_make(copy, n), arch);
	free(copy);
	return r;
}

static void test_elf(void)
{
	const char *arch = "-";
	struct elf e = good(EM_X86_64);

	is_int(arch_of(&e, sizeof(e), &arch), 0, "x86-64");
	is_str(arch, "amd64", "is amd64");
	e = good(EM_AARCH64);
	is_int(arch_of(&e, sizeof(e), &arch), 0, "AArch64");
	is_str(arch, "arm64", "is arm64");
	arch = "-";
	for (size_t n = 0; n < sizeof(e); n++)
		is_int(arch_of(&e, n, &arch), ERR_SYNTAX, "cut at %zu", n);
	e = good(EM_SPARC);
	is_int(arch_of(&e, sizeof(e), &arch), ERR_VERSION, "an unknown machine");
	e = good(EM_X86_64);
	e.head.e_ident[EI_CLASS] = ELFCLASS32;
	ok(arch_of(&e, sizeof(e), &arch) < 0, "x32 is another machine");
	e = good(EM_X86_64);
	e.head.e_type = ET_REL;
	is_int(arch_of(&e, sizeof(e), &arch), ERR_SYNTAX, "an object file");
	e = good(EM_X86_64);
	e.segment.p_type = PT_INTERP;
	is_int(arch_of(&e, sizeof(e), &arch), ERR_TYPE, "dynamically linked");
	e = good(EM_X86_64);
	e.head.e_phoff = UINT64_MAX - 8;
	is_int(arch_of(&e, sizeof(e), &arch), ERR_SYNTAX, "segments out of the file");
	e = good(EM_X86_64);
	e.head.e_phnum = 0xffff;
	is_int(arch_of(&e, sizeof(e), &arch), ERR_SYNTAX, "too many segments");
	is_str(arch, "-", "failures leave the result alone");
}

static void test_load(void)
{
	char path[] = "/tmp/test_client.XXXXXX";
	struct elf e = good(EM_AARCH64);
	struct client c = {0};
	int fd = mkstemp(path);

	ok(fd >= 0 && write(fd, &e, sizeof(e)) == (ssize_t)sizeof(e), "a file");
	is_int(client_load(&c, path), 0, "is loaded");
	is_int(c.bytes.n, sizeof(e), "whole");
	is_int(strlen(c.sha256), 64, "with its digest");
	client_free(&c);
	setenv("OD_RUNTIME_CLIENT", path, 1);
	is_int(client_load(&c, NULL), 0, "from the environment");
	client_free(&c);
	setenv("OD_RUNTIME_CLIENT", "/nonexistent", 1);
	is_int(client_load(&c, NULL), FAIL_ENVIRONMENT, "a path that leads nowhere");
	unsetenv("OD_RUNTIME_CLIENT");
	is_int(client_load(&c, NULL), FAIL_ENVIRONMENT, "none beside this program");
	is_int(client_load(&c, "/"), FAIL_ENVIRONMENT, "a directory");
	is_int(client_load(&c, "/dev/null"), FAIL_ENVIRONMENT, "a device");
	if (ftruncate(fd, 0))
		return;
	is_int(client_load(&c, path), FAIL_ENVIRONMENT, "an empty file");
	client_free(&c);
	close(fd);
	unlink(path);
}

int main(void)
{
	test_elf();
	test_load();
	return done_testing();
}
