#include "inject/image/program.h"

#include "inject/console/out.h"
#include "tests/tap.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
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
	r = program_arch(str_make(copy, n), arch);
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

/* A file with these bytes; its path goes to path, which mkstemp fills in. */
static bool make_file(char *path, const struct elf *e)
{
	int fd = mkstemp(path);
	bool good = fd >= 0 && write(fd, e, sizeof(*e)) == (ssize_t)sizeof(*e);

	if (fd >= 0)
		close(fd);
	return ok(good, "a file");
}

static const struct str any;

static void test_client(void)
{
	char path[] = "/tmp/test_program.XXXXXX";
	struct elf e = good(EM_AARCH64);
	struct program p = {0};

	if (!make_file(path, &e))
		return;
	is_int(program_find_client(&p, path, any, true), 0, "is loaded");
	is_int(p.bytes.n, sizeof(e), "whole");
	is_int(strlen(p.sha256), 64, "with its digest");
	program_free(&p);
	setenv("OD_RUNTIME_CLIENT", path, 1);
	is_int(program_find_client(&p, NULL, any, true), 0, "from the environment");
	program_free(&p);
	setenv("OD_RUNTIME_CLIENT", "/nonexistent", 1);
	is_int(program_find_client(&p, NULL, any, true), FAIL_ENVIRONMENT,
		"leads nowhere");
	unsetenv("OD_RUNTIME_CLIENT");
	is_int(program_find_client(&p, NULL, any, true), FAIL_ENVIRONMENT,
		"none beside us");
	is_int(program_find_client(&p, "/", any, true), FAIL_ENVIRONMENT, "a directory");
	is_int(program_find_client(&p, "/dev/null", any, true), FAIL_ENVIRONMENT,
		"a device");
	if (truncate(path, 0) == 0)
		is_int(program_find_client(&p, path, any, true), FAIL_ENVIRONMENT,
			"an empty file");
	ok(!p.arch && !p.bytes.p, "failures leave the result alone");
	unlink(path);
}

/* The file called name in a folder, with these bytes. */
static void put_file(const char *dir, const char *name, const struct elf *e)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ok(fd >= 0 && write(fd, e, sizeof(*e)) == (ssize_t)sizeof(*e), "the file %s",
		name);
	close(fd);
}

static void remove_file(const char *dir, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

static void test_plugins(void)
{
	char dir[] = "/tmp/test_program.XXXXXX", client[64];
	char alone[SHA256_HEX + 1], both[SHA256_HEX + 1], other[SHA256_HEX + 1];
	struct elf e = good(EM_AARCH64);
	struct program p = {0};

	if (!ok(mkdtemp(dir) != NULL, "a folder"))
		return;
	snprintf(client, sizeof(client), "%s/client", dir);
	put_file(dir, "client", &e);
	is_int(program_find_client(&p, client, any, true), 0, "a client alone is found");
	is_int(program_plugins_bytes(&p).n, 0, "a client alone has no od-plugins");
	program_digest(&p, alone);
	is_str(alone, p.sha256, "the digest of a client alone is that of its bytes");
	program_free(&p);
	put_file(dir, "od-plugins", &e);
	is_int(program_find_client(&p, client, any, true), 0, "a client is found");
	is_int(program_plugins_bytes(&p).n, sizeof(e),
		"od-plugins comes from its folder");
	is_int(program_plugins_sha256(&p).n, SHA256_HEX, "od-plugins has a digest");
	program_digest(&p, both);
	ok(strcmp(alone, both) != 0,
		"the digest of both differs from that of the client");
	program_free(&p);
	e.head.e_flags = 1;
	put_file(dir, "od-plugins", &e);
	is_int(program_find_client(&p, client, any, true), 0, "another od-plugins");
	program_digest(&p, other);
	ok(strcmp(both, other) != 0, "another od-plugins changes the digest");
	program_free(&p);
	is_int(program_find_client(&p, client, any, false), 0, "without od-plugins");
	ok(!p.plugins, "od-plugins is left out");
	program_free(&p);
	e = good(EM_X86_64);
	put_file(dir, "od-plugins", &e);
	is_int(program_find_client(&p, client, any, true), 0, "for another machine");
	ok(!p.plugins, "od-plugins for another machine is left out");
	program_free(&p);
	e = good(EM_AARCH64);
	put_file(dir, "od-plugins-arm64", &e);
	is_int(program_find_client(&p, client, any, true), 0, "with the architecture");
	ok(p.plugins && !strcmp(p.plugins->arch, "arm64"),
		"od-plugins-arm64 is found where od-plugins is for another machine");
	program_free(&p);
	put_file(dir, "client-arm64", &e);
	is_int(program_find_other(&p, client, STR("arm64"), true), 0, "another client");
	ok(p.plugins != NULL, "od-plugins goes with a client for another architecture");
	program_free(&p);
	e.segment.p_type = PT_INTERP;
	put_file(dir, "od-plugins", &e);
	is_int(program_find_client(&p, client, any, true), FAIL_ENVIRONMENT,
		"an od-plugins that needs a loader is refused");
	ok(!p.arch && !p.bytes.p && !p.plugins, "failures leave the result alone");
	remove_file(dir, "client");
	remove_file(dir, "client-arm64");
	remove_file(dir, "od-plugins");
	remove_file(dir, "od-plugins-arm64");
	rmdir(dir);
}

static void test_busybox(void)
{
	char path[] = "/tmp/test_program.XXXXXX";
	struct elf e = good(EM_RISCV);
	struct program p = {0};

	if (!make_file(path, &e))
		return;
	is_int(program_find_busybox(&p, path, "riscv64"), 0, "one that is given");
	is_str(p.arch, "riscv64", "of that architecture");
	program_free(&p);
	is_int(program_find_busybox(&p, path, "amd64"), FAIL_ENVIRONMENT, "of another");
	is_int(program_find_busybox(&p, "/nonexistent", "amd64"), FAIL_ENVIRONMENT,
		"one that is not there");
	is_int(program_find_busybox(&p, NULL, "riscv64"), 1,
		"no host that this runs on has one for it");
	e.segment.p_type = PT_INTERP;
	unlink(path);
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	if (make_file(path, &e))
		is_int(program_find_busybox(&p, path, "riscv64"), FAIL_ENVIRONMENT,
			"one that needs a loader");
	ok(!p.arch && !p.bytes.p, "failures leave the result alone");
	unlink(path);
}

int main(void)
{
	test_elf();
	test_client();
	test_plugins();
	test_busybox();
	return done_testing();
}
