/* The memory controller: files of both versions, written into a folder. */
#include "proc/cgroup.h"

#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char mount[] = "/tmp/test_cgroup.XXXXXX";

static void put(const char *file, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", mount, file);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void take_away(const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", mount, file);
	if (remove(path) < 0)
		abort();
}

static void test_nothing(void)
{
	struct cgroup g;
	uint64_t n = 7;

	cgroup_find(&g, mount);
	is_int(g.version, CGROUP_NONE, "an empty folder holds no memory controller");
	is_int(cgroup_oom_kills(&g, &n), -ENOTSUP,
		"without a controller the kills are unknown");
	is_int(cgroup_oom_kills(NULL, &n), -ENOTSUP,
		"without a group the kills are unknown");
	is_int((long long)n, 7, "an unknown value leaves the result as it was");
}

static void test_version_2(void)
{
	struct cgroup g;
	uint64_t n = 0;

	put("memory.current", "50000000\n");
	put("memory.max", "67108864\n");
	put("memory.events",
		"low 0\nhigh 0\nmax 812\noom 3\noom_kill 2\noom_group_kill 0\n");
	put("memory.stat",
		"anon 1\nfile 20000000\nshmem 10000000\n"
		"inactive_anon 10000001\ninactive_file 6000000\n"
		"active_file 4000000\n");
	cgroup_find(&g, mount);
	is_int(g.version, CGROUP_V2, "version 2 is found at the mount itself");
	ok(cgroup_memory_limit(&g, &n) == 0 && n == 67108864, "memory.max is the limit");
	ok(cgroup_memory_usage(&g, &n) == 0 && n == 50000000,
		"memory.current is the usage");
	ok(cgroup_oom_kills(&g, &n) == 0 && n == 2,
		"oom_kill of memory.events is the count, and not oom or oom_group_kill");
	ok(cgroup_memory_available(&g, &n) == 0 && n == 67108864 - 40000000,
		"page cache is available, shared memory is not");
	ok(cgroup_memory_used(&g, &n) == 0 && n == 44000000,
		"inactive files do not count as used");
	is_int(cgroup_cpu_usage(&g, &n), -ENOENT, "without cpu.stat it is unknown");
	put("cpu.stat", "usage_usec 1234567\nuser_usec 1000000\n");
	ok(cgroup_cpu_usage(&g, &n) == 0 && n == 1234567,
		"usage_usec is the processor time");
	take_away("cpu.stat");
	put("memory.max", "max\n");
	is_int(cgroup_memory_limit(&g, &n), -ENODATA, "\"max\" is no limit");
	put("memory.max", "1000\n");
	ok(cgroup_memory_available(&g, &n) == 0 && n == 0,
		"a usage above the limit leaves nothing");
	put("memory.events", "low 0\n");
	is_int(cgroup_oom_kills(&g, &n), -ENOTSUP, "a missing key is unknown");
	put("memory.events", "oom_kill x\n");
	is_int(cgroup_oom_kills(&g, &n), ERR_SYNTAX,
		"a value that is no number is an error");
	cgroup_close(&g);
	take_away("memory.events");
	cgroup_find(&g, mount);
	ok(cgroup_oom_kills(&g, &n) < 0, "a missing file is unknown");
	take_away("memory.current");
	take_away("memory.max");
	take_away("memory.stat");
}

static void test_version_1(void)
{
	struct cgroup g;
	char path[128];
	uint64_t n = 0;

	snprintf(path, sizeof(path), "%s/memory", mount);
	if (mkdir(path, 0700) < 0)
		abort();
	put("memory/memory.usage_in_bytes", "3000\n");
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
	put("memory/memory.stat",
		"cache 9\ninactive_file 1\ntotal_cache 800\ntotal_shmem 500\n"
		"total_inactive_file 100\ntotal_active_file 200\n");
	cgroup_find(&g, mount);
	is_int(g.version, CGROUP_V1, "version 1 is found in the folder memory");
	is_int(cgroup_memory_limit(&g, &n), -ENODATA,
		"the largest multiple of a page is no limit");
	ok(cgroup_oom_kills(&g, &n) == 0 && n == 5,
		"oom_kill of memory.oom_control is the count");
	put("memory/memory.limit_in_bytes", "4000\n");
	ok(cgroup_memory_limit(&g, &n) == 0 && n == 4000,
		"memory.limit_in_bytes is the limit");
	ok(cgroup_memory_available(&g, &n) == 0 && n == 1300,
		"page cache of version 1 is available, shared memory is not");
	ok(cgroup_memory_used(&g, &n) == 0 && n == 2900,
		"inactive files of the group and those below it do not count");
	snprintf(path, sizeof(path), "%s/cpuacct", mount);
	if (mkdir(path, 0700) < 0)
		abort();
	put("cpuacct/cpuacct.usage", "1234567890\n");
	ok(cgroup_cpu_usage(&g, &n) == 0 && n == 1234567,
		"nanoseconds of version 1 become microseconds");
	take_away("cpuacct/cpuacct.usage");
	take_away("cpuacct");
	cgroup_close(&g);
	take_away("memory/memory.usage_in_bytes");
	take_away("memory/memory.limit_in_bytes");
	take_away("memory/memory.oom_control");
	take_away("memory/memory.stat");
	take_away("memory");
}

int main(void)
{
	if (!mkdtemp(mount))
		return 1;
	test_nothing();
	test_version_2();
	test_version_1();
	return rmdir(mount) < 0 ? 1 : done_testing();
}
