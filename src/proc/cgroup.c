#include "proc/cgroup.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum {
	CGROUP_FILE_MAX = 4096, /* memory.stat, the longest, has about 2,000 bytes */
};

/* Version 1 shows "no limit" as the largest multiple of the page size. */
static const uint64_t cgroup_no_limit = (uint64_t)1 << 62;

/* A value in a file: on a line of its own, or after a key and a blank. */
struct cgroup_value {
	const char *file;
	const char *key; /* NULL: the file holds the value alone */
};

enum cgroup_item {
	ITEM_LIMIT,
	ITEM_USAGE,
	ITEM_ACTIVE,
	ITEM_INACTIVE,
	ITEM_KILLS,
	ITEM_CPU,
	CGROUP_ITEMS,
};

static const struct cgroup_value cgroup_values[][CGROUP_ITEMS] = {
	[CGROUP_V1] =
		{
			[ITEM_LIMIT] = {"memory.limit_in_bytes", NULL},
			[ITEM_USAGE] = {"memory.usage_in_bytes", NULL},
			[ITEM_ACTIVE] = {"memory.stat", "total_active_file"},
			[ITEM_INACTIVE] = {"memory.stat", "total_inactive_file"},
			[ITEM_KILLS] = {"memory.oom_control", "oom_kill"},
			[ITEM_CPU] = {"../cpuacct/cpuacct.usage", NULL},
		},
	[CGROUP_V2] =
		{
			[ITEM_LIMIT] = {"memory.max", NULL},
			[ITEM_USAGE] = {"memory.current", NULL},
			[ITEM_ACTIVE] = {"memory.stat", "active_file"},
			[ITEM_INACTIVE] = {"memory.stat", "inactive_file"},
			[ITEM_KILLS] = {"memory.events", "oom_kill"},
			[ITEM_CPU] = {"cpu.stat", "usage_usec"},
		},
};

static int cgroup_open_file(const struct cgroup *g, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", g->folder, file);
	return fd_open(path, O_RDONLY, 0);
}

static ssize_t cgroup_read_file(const struct cgroup *g, const char *file, char *to)
{
	int fd = cgroup_open_file(g, file);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = fd_read_full(fd, to, CGROUP_FILE_MAX);
	fd_close(&fd);
	return n;
}

static int cgroup_parse_value(struct str text, const char *key, uint64_t *out)
{
	while (text.n) {
		struct str line = str_cut(&text, '\n');

		if (key && !str_eq(str_cut(&line, ' '), str_c(key)))
			continue;
		if (str_eq(line, STR("max")))
			return -ENODATA;
		return str_u64(line, UINT64_MAX, out);
	}
	return -ENOTSUP;
}

static int cgroup_read(const struct cgroup *g, enum cgroup_item item, uint64_t *out)
{
	const struct cgroup_value *v;
	char text[CGROUP_FILE_MAX];
	ssize_t n;

	if (!g || g->version == CGROUP_NONE)
		return -ENOTSUP;
	v = &cgroup_values[g->version][item];
	if (item == ITEM_KILLS)
		n = fd_read_at(g->kills, 0, text, sizeof(text));
	else
		n = cgroup_read_file(g, v->file, text);
	if (n < 0)
		return (int)n;
	return cgroup_parse_value(str_make(text, (size_t)n), v->key, out);
}

static bool cgroup_try(struct cgroup *g, enum cgroup_version version, const char *mount,
	const char *folder)
{
	char path[128];

	snprintf(g->folder, sizeof(g->folder), "%s%s", mount, folder);
	snprintf(path, sizeof(path), "%s/%s", g->folder,
		cgroup_values[version][ITEM_USAGE].file);
	if (access(path, R_OK) < 0)
		return false;
	g->version = version;
	return true;
}

void cgroup_find(struct cgroup *g, const char *mount)
{
	*g = (struct cgroup){.version = CGROUP_NONE, .kills = -1};
	if (strlen(mount) + sizeof("/memory") > sizeof(g->folder))
		return;
	if (!cgroup_try(g, CGROUP_V2, mount, "") &&
		!cgroup_try(g, CGROUP_V1, mount, "/memory"))
		return;
	/* The file is read twice per command: an open file takes a sixth of the time. */
	g->kills = cgroup_open_file(g, cgroup_values[g->version][ITEM_KILLS].file);
}

void cgroup_close(struct cgroup *g)
{
	fd_close(&g->kills);
}

int cgroup_memory_limit(const struct cgroup *g, uint64_t *bytes)
{
	uint64_t limit;
	int r = cgroup_read(g, ITEM_LIMIT, &limit);

	if (r < 0)
		return r;
	if (limit >= cgroup_no_limit)
		return -ENODATA;
	*bytes = limit;
	return 0;
}

int cgroup_memory_usage(const struct cgroup *g, uint64_t *bytes)
{
	return cgroup_read(g, ITEM_USAGE, bytes);
}

int cgroup_memory_available(const struct cgroup *g, uint64_t *bytes)
{
	uint64_t limit, usage, active = 0, inactive = 0;
	int r = cgroup_memory_limit(g, &limit);

	if (r == 0)
		r = cgroup_memory_usage(g, &usage);
	if (r == 0)
		r = cgroup_read(g, ITEM_ACTIVE, &active);
	if (r == 0)
		r = cgroup_read(g, ITEM_INACTIVE, &inactive);
	if (r < 0)
		return r;
	/* The files are not read at the same moment, so that the sum may not match. */
	usage -= active + inactive < usage ? active + inactive : usage;
	*bytes = usage < limit ? limit - usage : 0;
	return 0;
}

int cgroup_oom_kills(const struct cgroup *g, uint64_t *kills)
{
	return cgroup_read(g, ITEM_KILLS, kills);
}

int cgroup_memory_used(const struct cgroup *g, uint64_t *bytes)
{
	uint64_t usage, inactive = 0;
	int r = cgroup_memory_usage(g, &usage);

	if (r == 0)
		r = cgroup_read(g, ITEM_INACTIVE, &inactive);
	if (r == 0)
		*bytes = inactive < usage ? usage - inactive : usage;
	return r;
}

int cgroup_cpu_usage(const struct cgroup *g, uint64_t *usec)
{
	int r = cgroup_read(g, ITEM_CPU, usec);

	/* Version 1 counts nanoseconds. */
	if (r == 0 && g->version == CGROUP_V1)
		*usec /= 1000;
	return r;
}
