#include "proc/container.h"

#include "base/buf.h"
#include "base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>

enum {
	MOUNTS_MAX = 256 << 10, /* 1,000 mounts; a container has about 30 */
	MOUNTS_PIECE = 4096,
	MOUNT_POINT_FIELD = 4, /* of a line of mountinfo, from 0 */
	ENGINE_MOUNTS = 2,     /* minimum number of mounted engine_files */
};

/* The kernel's numbers for the first namespace of a kind, as of Linux 3.8. */
static const uint64_t first_pid_ns = 0xeffffffc;
static const uint64_t first_ipc_ns = 0xefffffff;
static const uint64_t first_uts_ns = 0xeffffffe;

/* Docker, containerd, CRI-O and Podman mount these into each container. */
static const char *const engine_files[] = {
	"/etc/hosts",
	"/etc/hostname",
	"/etc/resolv.conf",
};

static struct str container_mount_point(struct str line)
{
	for (int i = 0; i < MOUNT_POINT_FIELD; i++)
		str_cut(&line, ' ');
	return str_cut(&line, ' ');
}

static size_t container_count_mounts(struct str mounts)
{
	bool seen[ARRAY_LEN(engine_files)] = {false};
	size_t n = 0;

	while (mounts.n) {
		struct str point = container_mount_point(str_cut(&mounts, '\n'));

		for (size_t i = 0; i < ARRAY_LEN(engine_files); i++) {
			if (seen[i] || !str_eq(point, str_c(engine_files[i])))
				continue;
			seen[i] = true;
			n++;
		}
	}
	return n;
}

static bool container_is_own(uint64_t ns, uint64_t first)
{
	return ns && ns != first;
}

bool container_is_proved(const struct container_facts *f)
{
	if (f->is_first && f->pid_ns == first_pid_ns)
		return true;
	return (container_is_own(f->pid_ns, first_pid_ns) ||
		       container_is_own(f->ipc_ns, first_ipc_ns) ||
		       container_is_own(f->uts_ns, first_uts_ns)) &&
		container_count_mounts(f->mounts) >= ENGINE_MOUNTS;
}

static uint64_t container_read_namespace(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* Mounts above the maximum are not read and do not count as proof. */
static void container_load_mounts(struct buf *out)
{
	int fd = fd_open("/proc/self/mountinfo", O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : 1;

	while (n > 0) {
		char *space = buf_reserve(out, MOUNTS_PIECE);

		n = space ? fd_read_full(fd, space, MOUNTS_PIECE) : 0;
		if (n > 0)
			buf_commit(out, (size_t)n);
	}
	fd_close(&fd);
}

bool container_detect(bool is_first)
{
	struct buf text = BUF_INIT(MOUNTS_MAX);
	struct container_facts facts = {
		.pid_ns = container_read_namespace("/proc/self/ns/pid"),
		.ipc_ns = container_read_namespace("/proc/self/ns/ipc"),
		.uts_ns = container_read_namespace("/proc/self/ns/uts"),
		.is_first = is_first,
	};
	bool proved;

	container_load_mounts(&text);
	facts.mounts = buf_view(&text);
	proved = container_is_proved(&facts);
	buf_free(&text);
	return proved;
}
