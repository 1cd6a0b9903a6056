#include "server/info.h"

#include "base/clock.h"
#include "base/fd.h"
#include "plugin/plugin.h"
#include "proc/cgroup.h"
#include "server/entrypoint.h"
#include "shell/shell.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PROC_TEXT = 4096 };

/* Reads a small file of /proc as a string; "" without /proc. */
static const char *info_read_proc(const char *path, char room[PROC_TEXT])
{
	int fd = fd_open(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : read(fd, room, PROC_TEXT - 1);

	room[n > 0 ? n : 0] = '\0';
	fd_close(&fd);
	return room;
}

/* The number after name in a text of lines "name: number"; 0: not found. */
static uint64_t info_find_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static double info_get_seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void info_write_cpu(struct jw *w, double uptime)
{
	struct rusage own;
	double used = 0;

	if (getrusage(RUSAGE_SELF, &own) == 0)
		used = info_get_seconds(own.ru_utime) + info_get_seconds(own.ru_stime);
	jw_key(w, "cpu_percent");
	jw_double(w, uptime > 0 ? 100.0 * used / uptime : 0);
}

static void info_write_memory(struct jw *w)
{
	char room[PROC_TEXT];
	const char *status = info_read_proc("/proc/self/status", room);
	uint64_t rss = info_find_number(status, "VmRSS:") * 1024;
	uint64_t vms = info_find_number(status, "VmSize:") * 1024;
	uint64_t total =
		info_find_number(info_read_proc("/proc/meminfo", room), "MemTotal:") *
		1024;

	jw_key(w, "memory");
	jw_object(w);
	jw_key(w, "rss");
	jw_uint(w, rss);
	jw_key(w, "vms");
	jw_uint(w, vms);
	jw_key(w, "percent");
	jw_double(w, total ? 100.0 * (double)rss / (double)total : 0);
	jw_end(w);
}

static void info_write_disk(struct jw *w)
{
	struct statvfs v = {0};
	uint64_t unit, total, used, left;

	if (statvfs("/", &v) < 0)
		v.f_frsize = 0;
	unit = v.f_frsize;
	total = v.f_blocks * unit;
	used = (v.f_blocks - v.f_bfree) * unit;
	left = v.f_bavail * unit;
	jw_key(w, "disk");
	jw_object(w);
	jw_key(w, "total");
	jw_uint(w, total);
	jw_key(w, "used");
	jw_uint(w, used);
	jw_key(w, "free");
	jw_uint(w, left);
	jw_key(w, "percent");
	jw_double(w, used + left ? 100.0 * (double)used / (double)(used + left) : 0);
	jw_end(w);
}

static void info_write_io(struct jw *w)
{
	char room[PROC_TEXT];
	const char *io = info_read_proc("/proc/self/io", room);

	jw_key(w, "io");
	jw_object(w);
	jw_key(w, "read_bytes");
	jw_uint(w, info_find_number(io, "\nread_bytes:"));
	jw_key(w, "write_bytes");
	jw_uint(w, info_find_number(io, "\nwrite_bytes:"));
	jw_end(w);
}

/*
 * Usage of the container's control group. Values that the kernel does not provide are
 * left out.
 */
static void info_write_sandbox(struct jw *w, const struct cgroup *cgroup)
{
	uint64_t value;

	jw_key(w, "sandbox");
	jw_object(w);
	if (cgroup_cpu_usage(cgroup, &value) == 0) {
		jw_key(w, "cpu_usec");
		jw_uint(w, value);
	}
	if (cgroup_memory_used(cgroup, &value) == 0) {
		jw_key(w, "memory");
		jw_uint(w, value);
	}
	jw_end(w);
}

static void info_write_resources(struct jw *w, double uptime, const struct cgroup *cgroup)
{
	jw_object(w);
	info_write_cpu(w, uptime);
	info_write_memory(w);
	info_write_disk(w);
	info_write_io(w);
	info_write_sandbox(w, cgroup);
	jw_end(w);
}

/*
 * The request needs no key, so /proc and the control group are read at most twice a
 * second.
 */
static void info_refresh(struct info_cache *cache, uint64_t now, double uptime,
	const struct cgroup *cgroup)
{
	struct buf text = BUF_INIT(INFO_CACHE_MAX);
	struct jw w;

	if (now < cache->until)
		return;
	jw_init(&w, &text);
	info_write_resources(&w, uptime, cgroup);
	if (!text.err && text.n) {
		memcpy(cache->text, text.p, text.n);
		cache->n = text.n;
		cache->until = now + INFO_CACHE_MS;
	}
	buf_free(&text);
}

void info_write(struct buf *out, struct api *api)
{
	uint64_t now = clock_ms();
	double uptime = (double)(now - api->started) / 1000.0;
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "uptime");
	jw_double(&w, uptime);
	jw_key(&w, "idle_time");
	jw_double(&w, (double)(now - api->last_action) / 1000.0);
	jw_key(&w, "resources");
	info_refresh(&api->info, now, uptime, api->box->shell_setup->cgroup);
	if (api->info.n)
		jw_raw(&w, str_make(api->info.text, api->info.n));
	else
		jw_null(&w);
	plugin_set_write_info(api->box->plugs, &w);
	entrypoint_write_info(api->entrypoint, &w);
	jw_end(&w);
}
