#include "inject/client.h"

#include "base/fd.h"
#include "inject/out.h"
#include "limits.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 1 << 20 };

#define CLIENT_NAME "od-runtime-client"

static const struct {
	unsigned machine;
	unsigned class, data;
	const char *arch;
} machines[] = {
	{EM_X86_64, ELFCLASS64, ELFDATA2LSB, "amd64"},
	{EM_AARCH64, ELFCLASS64, ELFDATA2LSB, "arm64"},
	{EM_ARM, ELFCLASS32, ELFDATA2LSB, "arm"},
	{EM_386, ELFCLASS32, ELFDATA2LSB, "386"},
	{EM_PPC64, ELFCLASS64, ELFDATA2LSB, "ppc64le"},
	{EM_S390, ELFCLASS64, ELFDATA2MSB, "s390x"},
	{EM_RISCV, ELFCLASS64, ELFDATA2LSB, "riscv64"},
};

/* n little- or big-endian bytes at offset at; the caller knows they are there. */
static uint64_t field(struct str b, bool big, size_t at, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = big ? i : n - 1 - i;

		v = v << 8 | (unsigned char)b.p[at + k];
	}
	return v;
}

/* Offsets of the two classes, from the ELF specification. */
static int check_loader(struct str b, bool wide, bool big)
{
	uint64_t at = wide ? field(b, big, 32, 8) : field(b, big, 28, 4);
	uint64_t size = field(b, big, wide ? 54 : 42, 2);
	uint64_t count = field(b, big, wide ? 56 : 44, 2);

	if (size < (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) || at > b.n)
		return ERR_SYNTAX;
	if (count * size > b.n - at)
		return ERR_SYNTAX;
	for (uint64_t i = 0; i < count; i++)
		if (field(b, big, (size_t)(at + i * size), 4) == PT_INTERP)
			return ERR_TYPE;
	return 0;
}

int client_elf_arch(struct str b, const char **arch)
{
	bool wide, big;
	unsigned type, machine;
	int r;

	if (b.n < sizeof(Elf64_Ehdr) || memcmp(b.p, ELFMAG, SELFMAG) != 0)
		return ERR_SYNTAX;
	wide = b.p[EI_CLASS] == ELFCLASS64;
	big = b.p[EI_DATA] == ELFDATA2MSB;
	type = (unsigned)field(b, big, 16, 2);
	machine = (unsigned)field(b, big, 18, 2);
	if (type != ET_EXEC && type != ET_DYN)
		return ERR_SYNTAX;
	r = check_loader(b, wide, big);
	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		if (machines[i].machine == machine &&
			machines[i].class == (unsigned char)b.p[EI_CLASS] &&
			machines[i].data == (unsigned char)b.p[EI_DATA]) {
			*arch = machines[i].arch;
			return 0;
		}
	}
	return ERR_VERSION;
}

static int beside_us(char *path, size_t room)
{
	ssize_t n = readlink("/proc/self/exe", path, room - 1);
	char *slash;

	if (n < 0)
		return -errno;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + sizeof(CLIENT_NAME) > room)
		return -ENAMETOOLONG;
	memcpy(slash + 1, CLIENT_NAME, sizeof(CLIENT_NAME));
	return 0;
}

static int read_file(const char *path, struct buf *out)
{
	struct stat st;
	int fd = fd_open(path, O_RDONLY, 0);
	int r = fd < 0 ? fd : 0;

	if (!r && fstat(fd, &st) < 0)
		r = -errno;
	if (!r && !S_ISREG(st.st_mode))
		r = ERR_TYPE;
	while (!r) {
		char *room = buf_room(out, READ_STEP);
		ssize_t got = room ? read(fd, room, READ_STEP) : -1;

		if (got > 0)
			buf_commit(out, (size_t)got);
		else if (got == 0)
			break;
		else if (!room || errno != EINTR)
			r = room ? -errno : out->err;
	}
	fd_close(&fd);
	return r;
}

static int describe(struct client *c, const char *path)
{
	uint8_t digest[SHA256_LEN];

	switch (client_elf_arch(buf_view(&c->bytes), &c->arch)) {
	case 0:
		break;
	case ERR_TYPE:
		return out_fail("give a statically linked od-runtime-client",
			"the client binary %s needs a loader, which an image may lack",
			path);
	case ERR_VERSION:
		return out_fail(
			NULL, "the client binary %s is for an unknown machine", path);
	default:
		return out_fail("give the path of od-runtime-client",
			"the client binary %s is no Linux executable", path);
	}
	sha256_of(buf_view(&c->bytes), digest);
	hex_encode(digest, sizeof(digest), c->sha256);
	return 0;
}

int client_load(struct client *c, const char *path)
{
	char own[FILE_PATH_MAX];
	int r = 0;

	*c = (struct client){.bytes = BUF_INIT(INJECT_CLIENT_MAX)};
	if (!path)
		path = getenv("OD_RUNTIME_CLIENT");
	if (!path || !*path) {
		r = beside_us(own, sizeof(own));
		path = own;
	}
	if (!r)
		r = read_file(path, &c->bytes);
	if (r == -ENOMEM)
		return r;
	if (r)
		return out_fail("give its path with --client or in OD_RUNTIME_CLIENT",
			"no client binary: %s: %s", path, err_text(r));
	return describe(c, path);
}

void client_free(struct client *c)
{
	buf_free(&c->bytes);
	*c = (struct client){0};
}
