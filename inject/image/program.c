#include "inject/image/program.h"

#include "base/fd.h"
#include "inject/console/out.h"
#include "inject/image/embedded.h"
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
#define PLUGINS_NAME "od-plugins"

#define NEXT_PLUGINS "use another od-plugins, or leave it out with --no-od-plugins"
#define NEXT_BUSYBOX \
	"give a static busybox, such as that of Debian's package busybox-static"

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

/* n little- or big-endian bytes at offset at; the caller has checked the length. */
static uint64_t program_read_uint(struct str b, bool big, size_t at, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = big ? i : n - 1 - i;

		v = v << 8 | (unsigned char)b.p[at + k];
	}
	return v;
}

/* Checks the ELF headers of either class for a loader (ELF specification). */
static int program_check_loader(struct str b, bool wide, bool big)
{
	uint64_t at = wide ? program_read_uint(b, big, 32, 8)
			   : program_read_uint(b, big, 28, 4);
	uint64_t size = program_read_uint(b, big, wide ? 54 : 42, 2);
	uint64_t count = program_read_uint(b, big, wide ? 56 : 44, 2);

	if (size < (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) || at > b.n)
		return ERR_SYNTAX;
	if (count * size > b.n - at)
		return ERR_SYNTAX;
	for (uint64_t i = 0; i < count; i++)
		if (program_read_uint(b, big, (size_t)(at + i * size), 4) == PT_INTERP)
			return ERR_TYPE;
	return 0;
}

int program_arch(struct str b, const char **arch)
{
	bool wide, big;
	unsigned type, machine;
	int r;

	if (b.n < sizeof(Elf64_Ehdr) || memcmp(b.p, ELFMAG, SELFMAG) != 0)
		return ERR_SYNTAX;
	wide = b.p[EI_CLASS] == ELFCLASS64;
	big = b.p[EI_DATA] == ELFDATA2MSB;
	type = (unsigned)program_read_uint(b, big, 16, 2);
	machine = (unsigned)program_read_uint(b, big, 18, 2);
	if (type != ET_EXEC && type != ET_DYN)
		return ERR_SYNTAX;
	r = program_check_loader(b, wide, big);
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

/* Replaces the last part of a path by name. */
static int program_name_neighbour(char *path, size_t room, const char *name)
{
	char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;

	if ((size_t)(last - path) + strlen(name) >= room)
		return -ENAMETOOLONG;
	memcpy(last, name, strlen(name) + 1);
	return 0;
}

/* The path of the file called name in the folder of our own executable. */
static int program_sibling_path(const char *name, char *path, size_t room)
{
	ssize_t n = readlink("/proc/self/exe", path, room - 1);

	if (n < 0)
		return -errno;
	path[n] = '\0';
	return program_name_neighbour(path, room, name);
}

static int program_read_file(const char *path, struct buf *out)
{
	struct stat st;
	int fd = fd_open(path, O_RDONLY, 0);
	int r = fd < 0 ? fd : 0;

	if (!r && fstat(fd, &st) < 0)
		r = -errno;
	if (!r && !S_ISREG(st.st_mode))
		r = ERR_SYNTAX;
	while (!r) {
		char *room = buf_reserve(out, READ_STEP);
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

/*
 * Moves got to *p and fills in arch and hash if r is 0 and it is a program; else frees
 * it.
 */
static int program_identify_take(struct program *p, struct program *got, int r)
{
	uint8_t digest[SHA256_LEN];

	if (!r)
		r = program_arch(buf_view(&got->bytes), &got->arch);
	if (r) {
		program_free(got);
		return r;
	}
	sha256_compute(buf_view(&got->bytes), digest);
	hex_encode(digest, sizeof(digest), got->sha256);
	*p = *got;
	return 0;
}

/* Reads the program at path; ERR_SYNTAX also if it is no regular file. */
static int program_load_file(struct program *p, const char *path)
{
	struct program got = {.bytes = BUF_INIT(INJECT_PROGRAM_MAX)};
	int r = program_read_file(path, &got.bytes);

	return program_identify_take(p, &got, r);
}

static int program_fail_load(const char *next, const char *what, const char *path, int r)
{
	const char *why = err_text(r);

	if (r == -ENOMEM)
		return r;
	if (r == ERR_SYNTAX)
		why = "it is not a Linux executable";
	else if (r == ERR_TYPE)
		why = "it is linked dynamically, but must be static because images may "
		      "lack its libraries";
	else if (r == ERR_VERSION)
		why = "it is for an unknown architecture";
	return out_fail(next, "no %s: %s: %s", what, path, why);
}

/* The path of the client that the user gave; NULL: none. */
static const char *program_user_path(const char *path)
{
	if (!path)
		path = getenv("OD_RUNTIME_CLIENT");
	return path && *path ? path : NULL;
}

int program_list_embedded(struct str section, struct buf *list)
{
	struct buf own = BUF_INIT(INJECT_PROGRAM_MAX);
	int r = program_read_file("/proc/self/exe", &own);

	if (!r)
		embedded_list(buf_view(&own), section, list);
	buf_free(&own);
	return r;
}

/*
 * Reads the program for arch from that section of our own file: 0, 1: none, or an error.
 */
static int program_load_embedded(struct program *p, struct str section, struct str arch)
{
	struct program got = {.bytes = BUF_INIT(INJECT_PROGRAM_MAX)};
	struct buf own = BUF_INIT(INJECT_PROGRAM_MAX);
	struct str packed;
	int r = program_read_file("/proc/self/exe", &own);

	if (!r)
		r = embedded_find(buf_view(&own), section, arch, &packed);
	if (!r) {
		r = embedded_unpack(packed, &got.bytes);
		r = program_identify_take(p, &got, r);
	}
	buf_free(&own);
	return r;
}

/* The engine's name for the architecture of this program. */
static struct str program_own_arch(void)
{
#if defined(__aarch64__)
	return STR("arm64");
#else
	return STR("amd64");
#endif
}

static int program_load_client(struct program *p, const char *path)
{
	static const char next[] = "give its path with --client or in OD_RUNTIME_CLIENT";
	char own[FILE_PATH_MAX] = "";
	const char *given = program_user_path(path);
	int r = 0;

	if (!given)
		r = program_sibling_path(CLIENT_NAME, own, sizeof(own));
	if (!r)
		r = program_load_file(p, given ? given : own);
	if (r && r != -ENOMEM && !given) {
		int inside = program_load_embedded(
			p, STR(EMBEDDED_CLIENT), program_own_arch());

		r = inside == 0 || inside == -ENOMEM ? inside : r;
	}
	return r ? program_fail_load(next, "client binary", given ? given : own, r) : 0;
}

/* The client for another architecture: 0; 1: none fits; -ENOMEM. */
static int program_load_arch(struct program *p, const char *path, struct str arch)
{
	char own[FILE_PATH_MAX] = "";
	struct buf name = BUF_INIT(2 * FILE_PATH_MAX);
	const char *given = program_user_path(path), *full;
	struct program got = {0};
	int r = given ? 0 : program_sibling_path(CLIENT_NAME, own, sizeof(own));

	buf_fmt(&name, "%s-%.*s", given ? given : own, STR_ARG(arch));
	full = buf_cstr(&name);
	if (!r)
		r = full ? program_load_file(&got, full) : name.err;
	buf_free(&name);
	if (r && r != -ENOMEM && !given)
		r = program_load_embedded(&got, STR(EMBEDDED_CLIENT), arch);
	if (r)
		return r == -ENOMEM ? r : 1;
	if (!str_eq(str_c(got.arch), arch)) {
		program_free(&got);
		return 1;
	}
	*p = got;
	return 0;
}

/*
 * The program at path, if it is for arch: 0; 1: none; -ENOMEM or FAIL_*. If the user did
 * not name the folder, an unusable file counts as none.
 */
static int program_load_plugins(
	struct program *p, const char *path, const char *arch, bool named)
{
	int r = program_load_file(p, path);

	if (r == -ENOENT || r == -ENOTDIR || (r && r != -ENOMEM && !named))
		return 1;
	if (r)
		return program_fail_load(NEXT_PLUGINS, PLUGINS_NAME, path, r);
	if (strcmp(p->arch, arch) == 0)
		return 0;
	program_free(p);
	return 1;
}

/* Finds od-plugins where the client was found. A missing od-plugins is no error. */
static int program_find_plugins(struct program *p, const char *path, const char *arch)
{
	const char *given = program_user_path(path);
	char plain[FILE_PATH_MAX], other[FILE_PATH_MAX], name[32];
	int r = 0;

	snprintf(name, sizeof(name), PLUGINS_NAME "-%s", arch);
	snprintf(plain, sizeof(plain), "%s", given ? given : "");
	if (!given)
		r = program_sibling_path(PLUGINS_NAME, plain, sizeof(plain));
	else
		r = program_name_neighbour(plain, sizeof(plain), PLUGINS_NAME);
	memcpy(other, plain, sizeof(other));
	if (!r)
		r = program_name_neighbour(other, sizeof(other), name);
	r = r ? 1 : program_load_plugins(p, plain, arch, given != NULL);
	if (r == 1)
		r = program_load_plugins(p, other, arch, given != NULL);
	if (r != 1 || given)
		return r;
	r = program_load_embedded(p, STR(EMBEDDED_PLUGINS), str_c(arch));
	return r < 0
		? program_fail_load(NEXT_PLUGINS, PLUGINS_NAME, "inside od-runtime", r)
		: r;
}

/* Moves from into a new object on the heap; NULL: no memory. */
static struct program *program_new(const struct program *from)
{
	struct program *p = calloc(1, sizeof(*p));

	if (p)
		*p = *from;
	return p;
}

static int program_add_plugins(struct program *client, const char *path)
{
	struct program got = {0};
	int r = program_find_plugins(&got, path, client->arch);

	if (!r)
		client->plugins = program_new(&got);
	if (!r && !client->plugins)
		r = -ENOMEM;
	if (r < 0) {
		program_free(&got);
		program_free(client);
	}
	return r < 0 ? r : 0;
}

int program_find_other(struct program *p, const char *path, struct str arch, bool plugins)
{
	int r = program_load_arch(p, path, arch);

	return r || !plugins ? r : program_add_plugins(p, path);
}

int program_find_client(
	struct program *p, const char *path, struct str arch, bool plugins)
{
	struct program other;
	int r = program_load_client(p, path);

	if (!r && arch.n && !str_eq(str_c(p->arch), arch)) {
		r = program_load_arch(&other, path, arch);
		if (!r) {
			program_free(p);
			*p = other;
		}
		r = r == 1 ? 0 : r;
	}
	return r || !plugins ? r : program_add_plugins(p, path);
}

struct str program_plugins_bytes(const struct program *client)
{
	return client->plugins ? buf_view(&client->plugins->bytes) : STR("");
}

struct str program_plugins_sha256(const struct program *client)
{
	return client->plugins ? str_c(client->plugins->sha256) : STR("");
}

void program_digest(const struct program *client, char hex[SHA256_HEX + 1])
{
	char both[2 * SHA256_HEX + 1];
	uint8_t digest[SHA256_LEN];

	snprintf(both, sizeof(both), "%s%.*s", client->sha256,
		STR_ARG(program_plugins_sha256(client)));
	if (client->plugins) {
		sha256_compute(str_c(both), digest);
		hex_encode(digest, sizeof(digest), hex);
	} else {
		memcpy(hex, client->sha256, SHA256_HEX + 1);
	}
}

int program_find_busybox(struct program *p, const char *path, const char *arch)
{
	char own[FILE_PATH_MAX] = "";
	const char *const usual[] = {own, "/usr/lib/od-runtime/busybox", "/bin/busybox"};
	struct program got = {0};
	int r;

	if (path) {
		r = program_load_file(&got, path);
		if (r)
			return program_fail_load(NEXT_BUSYBOX, "busybox", path, r);
		if (strcmp(got.arch, arch) == 0) {
			*p = got;
			return 0;
		}
		r = out_fail(NEXT_BUSYBOX, "the busybox %s is for %s, not for %s", path,
			got.arch, arch);
		program_free(&got);
		return r;
	}
	if (program_sibling_path("od-busybox", own, sizeof(own)))
		*own = '\0';
	/* A file that is unusable or for another architecture is skipped. */
	for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
		r = program_load_file(&got, usual[i]);
		if (r == -ENOMEM)
			return r;
		if (!r && strcmp(got.arch, arch) == 0) {
			*p = got;
			return 0;
		}
		program_free(&got);
	}
	return 1;
}

void program_free(struct program *p)
{
	if (p->plugins)
		buf_free(&p->plugins->bytes);
	free(p->plugins);
	buf_free(&p->bytes);
	*p = (struct program){0};
}
