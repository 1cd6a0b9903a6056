#include "inject/options/spec.h"

#include "tests/tap.h"

static const char *why;

static void is_text(struct str s, const char *expect, const char *name)
{
	ok(str_eq(s, str_c(expect)), "%s: '%.*s'", name, STR_ARG(s));
}

static void test_size(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{"0", 0},
		{"500", 500},
		{"1b", 1},
		{"64k", 64 << 10},
		{"512M", 512 << 20},
		{"512mb", 512 << 20},
		{"2g", (uint64_t)2 << 30},
		{"1T", (uint64_t)1 << 40},
	};
	static const char *const bad[] = {"", "k", "-1", "1.5g", "1x", "1kk", " 1", "b",
		"18446744073709551616", "9223372036854775807k"};
	uint64_t n;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		n = 1;
		is_int(spec_parse_size(str_c(rows[i].text), INT64_MAX, &n), 0, "size %s",
			rows[i].text);
		is_int(n, rows[i].bytes, "is %s", rows[i].text);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(spec_parse_size(str_c(bad[i]), INT64_MAX, &n) < 0, "no size: '%s'",
			bad[i]);
}

static void test_nano(void)
{
	static const char *const bad[] = {
		"", "0", "0.0", ".", "1.", "1,5", "-1", "1.0000000001", "1e3", "1000001"};
	uint64_t n = 0;

	ok(spec_parse_nano(STR("1.5"), &n) == 0 && n == 1500000000, "1.5");
	ok(spec_parse_nano(STR("2"), &n) == 0 && n == 2000000000, "2");
	ok(spec_parse_nano(STR("0.000000001"), &n) == 0 && n == 1, "a billionth");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(spec_parse_nano(str_c(bad[i]), &n) < 0, "no fraction: '%s'", bad[i]);
}

static void test_duration(void)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} rows[] = {
		{"0", 0},
		{"300", 300},
		{"300s", 300},
		{"0s", 0},
		{"5m", 300},
		{"90m", 5400},
		{"1h30m", 5400},
		{"1h1s", 3601},
		{"1d", 86400},
		{"1d2h3m4s", 93784},
		{"31536000", 31536000},
		{"365d", 31536000},
		{"8760h", 31536000},
	};
	static const char *const bad[] = {"", "s", "m5", "5 m", " 5m", "5m ", "+5", "-1",
		"-1s", "1.5h", "1,5h", "1e3", "0x10", "5M", "5H", "1w", "1y", "5min",
		"5ms", "5us", "1h30", "30s1m", "1m1h", "1h1h", "1s1s", "1hm", "h1m",
		"1h-1m", "1h 30m", "1:30", "forever", "31536001", "366d", "365d1s",
		"18446744073709551616", "18446744073709551615d", "213503982334602d"};
	uint64_t n;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		n = 1;
		is_int(spec_parse_duration(str_c(rows[i].text), 31536000, &n), 0,
			"duration %s", rows[i].text);
		is_int(n, rows[i].seconds, "it has %llu seconds",
			(unsigned long long)rows[i].seconds);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		n = 7;
		ok(spec_parse_duration(str_c(bad[i]), 31536000, &n) < 0 && n == 7,
			"'%s' is not a duration of at most a year", bad[i]);
	}
	ok(spec_parse_duration(STR("18446744073709551615"), UINT64_MAX, &n) == 0 &&
			n == UINT64_MAX,
		"the largest number is a duration");
	ok(spec_parse_duration(str_make("5\0m", 3), UINT64_MAX, &n) < 0 &&
			spec_parse_duration(STR("5s\n"), UINT64_MAX, &n) < 0,
		"a duration has no control byte");
}

static void test_time(void)
{
	static const char *const bad[] = {"", "x", "1h30", "-5m", "1.5h", "5m2h"};
	int64_t t = 0;

	ok(spec_parse_time(STR("1700000000"), 5, &t) == 0 && t == 1700000000, "a time");
	ok(spec_parse_time(STR("90s"), 1000, &t) == 0 && t == 910, "seconds ago");
	ok(spec_parse_time(STR("2h"), 10000, &t) == 0 && t == 2800, "hours ago");
	ok(spec_parse_time(STR("1h30m"), 10000, &t) == 0 && t == 4600,
		"hours and minutes ago");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(spec_parse_time(str_c(bad[i]), 10000, &t) < 0, "'%s' is not a time",
			bad[i]);
	ok(spec_parse_time(STR("1d"), 0, &t) == 0 && t == -86400, "a day ago");
	ok(spec_parse_time(STR(""), 0, &t) && spec_parse_time(STR("s"), 0, &t) &&
			spec_parse_time(STR("1w"), 0, &t) &&
			spec_parse_time(STR("-1"), 0, &t),
		"no times");
}

static void test_ports(void)
{
	static const struct {
		const char *text, *address, *protocol;
		unsigned outside, outside_n, inside, n;
	} rows[] = {
		{"80", "", "tcp", 0, 1, 80, 1},
		{"8080:80", "", "tcp", 8080, 1, 80, 1},
		{"53:53/udp", "", "udp", 53, 1, 53, 1},
		{"80/tcp", "", "tcp", 0, 1, 80, 1},
		{"0.0.0.0:8080:80", "0.0.0.0", "tcp", 8080, 1, 80, 1},
		{"127.0.0.1::80", "127.0.0.1", "tcp", 0, 1, 80, 1},
		{"[::1]:8080:80/udp", "::1", "udp", 8080, 1, 80, 1},
		{"9000-9009:8000-8009", "", "tcp", 9000, 10, 8000, 10},
		{"9000-9009", "", "tcp", 0, 10, 9000, 10},
		{"9000-9009:80", "", "tcp", 9000, 10, 80, 1},
		{"65535", "", "tcp", 0, 1, 65535, 1},
	};
	static const char *const bad[] = {"", ":", "0", "65536", "a", "80/sctp", "80/",
		":80", "80:", "8080:80:", "a:8080:80", "1-2:3-5", "9-1", "1-", "-1",
		"::1:8080:80", "[::1:80:80", "[]:1:2", "1.2.3.4:80", "1:2:3:4", "80 "};
	struct spec_parse_ports p;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(spec_parse_ports(str_c(rows[i].text), &p, &why), 0, "ports %s",
			rows[i].text);
		is_text(p.address, rows[i].address, "address");
		is_str(p.protocol, rows[i].protocol, "protocol");
		ok(p.outside == rows[i].outside && p.outside_n == rows[i].outside_n,
			"outside %u, %u", p.outside, p.outside_n);
		ok(p.inside == rows[i].inside && p.n == rows[i].n, "inside %u, %u",
			p.inside, p.n);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		why = "";
		ok(spec_parse_ports(str_c(bad[i]), &p, &why) < 0 && *why,
			"no ports: '%s': %s", bad[i], why);
	}
}

static void test_volume(void)
{
	static const char *const bad[] = {"", ":", "/a:", ":/b", "/a:b", "a/b:/c",
		"/a:/b:ro,odd", "/a:/", "name:/b:overlay", "/a:/b:overlay,ro", "x:/b",
		"-x:/b", "/a:/b:ro:z", "b"};
	struct spec_parse_mount m;

	is_int(spec_parse_volume(STR("/a:/b"), &m, &why), 0, "a path");
	ok(m.type == SPEC_BIND && m.short_form && !m.read_only, "is a bind");
	is_text(m.source, "/a", "from");
	is_text(m.target, "/b", "to");
	is_int(spec_parse_volume(STR("./a:/b:ro,z"), &m, &why), 0, "a path from here");
	ok(m.type == SPEC_BIND && m.read_only, "read only");
	is_text(m.modes, "ro,z", "its modes");
	is_int(spec_parse_volume(STR("data:/b:nocopy"), &m, &why), 0, "a name");
	ok(m.type == SPEC_VOLUME, "is a volume");
	is_int(spec_parse_volume(STR("/b"), &m, &why), 0, "a target alone");
	ok(m.type == SPEC_VOLUME && !m.source.n, "is a volume without a name");
	is_int(spec_parse_volume(STR(".:/b:overlay"), &m, &why), 0, "an overlay");
	ok(m.type == SPEC_OVERLAY, "of the present folder");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		why = "";
		ok(spec_parse_volume(str_c(bad[i]), &m, &why) < 0 && *why,
			"no volume: '%s': %s", bad[i], why);
	}
}

static void test_mount(void)
{
	static const char *const bad[] = {"", "type=bind", "type=bind,source=/a",
		"type=bind,source=a,target=/b", "type=odd,target=/b",
		"type=volume,source=/a,target=/b", "type=tmpfs,source=/a,target=/b",
		"type=bind,source=/a,target=b", "type=bind,source=/a,target=/b,odd=1",
		"type=bind,source=/a,target=/b,tmpfs-size=1m",
		"type=bind,source=/a,"
		"target=/b,readonly=maybe",
		"type=tmpfs,target=/b,tmpfs-mode=9", "type=tmpfs,target=/b,tmpfs-size=x",
		"type=overlay,source=name,target=/b",
		"type=overlay,source=/a,target=/b,ro",
		"type=bind,source=/a,target=/b,"
		"volume-nocopy",
		"type=volume,target=/b,bind-propagation=shared"};
	struct spec_parse_mount m;

	is_int(spec_parse_mount(STR("type=bind,src=/a,dst=/b,readonly"), &m, &why), 0,
		"bind");
	ok(m.type == SPEC_BIND && m.read_only && !m.short_form, "read only");
	is_int(spec_parse_mount(STR("type=tmpfs,target=/t,tmpfs-size=1m,tmpfs-mode=1777"),
		       &m, &why),
		0, "tmpfs");
	ok(m.size == 1 << 20 && m.mode == 01777, "its size and mode");
	is_int(spec_parse_mount(STR("source=data,destination=/d,ro=false"), &m, &why), 0,
		"without a type");
	ok(m.type == SPEC_VOLUME && !m.read_only, "it is a volume");
	is_int(spec_parse_mount(STR("type=overlay,source=/a,target=/b"), &m, &why), 0,
		"overlay");
	ok(m.type == SPEC_OVERLAY, "is one");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		why = "";
		ok(spec_parse_mount(str_c(bad[i]), &m, &why) < 0 && *why,
			"no mount: '%s': %s", bad[i], why);
	}
}

static void test_others(void)
{
	static const char *const limits[] = {
		"", "nofile", "nofile=", "=1", "a=2:1", "a=x", "a=unlimited:5"};
	struct spec_parse_ulimit u;
	struct spec_parse_gpus g;
	struct str a, b;

	is_int(spec_parse_ulimit(STR("nofile=10:20"), &u, &why), 0, "a limit");
	ok(u.soft == 10 && u.hard == 20, "both of it");
	ok(spec_parse_ulimit(STR("core=5"), &u, &why) == 0 && u.hard == 5,
		"one for both");
	ok(spec_parse_ulimit(STR("core=-1"), &u, &why) == 0 && u.soft == -1, "none");
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		ok(spec_parse_ulimit(str_c(limits[i]), &u, &why) < 0, "no limit: '%s'",
			limits[i]);
	is_int(spec_parse_pair(STR("A=b=c"), &a, &b), 0, "a pair");
	is_text(b, "b=c", "with the rest as its value");
	ok(spec_parse_pair(STR("=b"), &a, &b) < 0 &&
			spec_parse_pair(STR(""), &a, &b) < 0 &&
			spec_parse_pair(STR("a b=c"), &a, &b) < 0,
		"no pairs");
	is_int(spec_parse_platform(STR("linux/arm64/v8"), &a, &why), 0, "a platform");
	is_text(a, "arm64", "its architecture");
	ok(spec_parse_platform(STR("windows/amd64"), &a, &why) < 0 &&
			spec_parse_platform(STR("linux"), &a, &why) < 0 &&
			spec_parse_platform(STR("linux/"), &a, &why) < 0 &&
			spec_parse_platform(STR("linux/a&b"), &a, &why) < 0,
		"no platforms");
	ok(spec_parse_gpus(STR("all"), &g, &why) == 0 && g.count == -1, "all gpus");
	ok(spec_parse_gpus(STR("2"), &g, &why) == 0 && g.count == 2, "two");
	ok(spec_parse_gpus(STR("\"device=0,1\""), &g, &why) == 0 && g.count == 0,
		"these");
	is_text(g.ids, "0,1", "by their ids");
	ok(spec_parse_gpus(STR("0"), &g, &why) < 0 &&
			spec_parse_gpus(STR("device="), &g, &why) < 0,
		"no gpus");
}

static void test_device(void)
{
	static const struct {
		const char *text, *outside, *inside, *rights;
	} rows[] = {
		{"/dev/fuse", "/dev/fuse", "/dev/fuse", "rwm"},
		{"/dev/sda:/dev/xvda", "/dev/sda", "/dev/xvda", "rwm"},
		{"/dev/sda:r", "/dev/sda", "/dev/sda", "r"},
		{"/dev/sda:mrw", "/dev/sda", "/dev/sda", "mrw"},
		{"/dev/sda:/dev/xvda:rw", "/dev/sda", "/dev/xvda", "rw"},
	};
	static const char *const bad[] = {"", ":", "dev/fuse", ":/dev/a",
		"/dev/a:", "/dev/a:rr", "/dev/a:x", "/dev/a:/dev/b:", "/dev/a:/dev/b:rwx",
		"/dev/a:/dev/b:rr", "/dev/a::rw", "/dev/a:b:r", "/dev/a:/dev/b:rw:m"};
	struct spec_parse_device d;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(spec_parse_device(str_c(rows[i].text), &d, &why), 0, "device %s",
			rows[i].text);
		is_text(d.outside, rows[i].outside, "its path outside");
		is_text(d.inside, rows[i].inside, "its path inside");
		is_text(d.rights, rows[i].rights, "its rights");
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		why = "";
		ok(spec_parse_device(str_c(bad[i]), &d, &why) < 0 && *why,
			"'%s' is not a device: %s", bad[i], why);
	}
}

static void test_restart(void)
{
	static const char *const good[] = {
		"no", "always", "unless-stopped", "on-failure", "on-failure:0"};
	static const char *const bad[] = {"", "yes", "Always", "always:3", "no:1",
		"on-failure:", "on-failure:x", "on-failure:-1", "on-failure:3:4", ":3",
		"on-failure:2147483648"};
	struct spec_parse_restart p;

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ok(spec_parse_restart(str_c(good[i]), &p, &why) == 0 && p.retries == 0,
			"'%s' is a restart policy", good[i]);
	is_int(spec_parse_restart(STR("on-failure:3"), &p, &why), 0,
		"a policy with retries");
	is_text(p.policy, "on-failure", "its name");
	is_int(p.retries, 3, "its retries");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		why = "";
		ok(spec_parse_restart(str_c(bad[i]), &p, &why) < 0 && *why,
			"'%s' is not a restart policy: %s", bad[i], why);
	}
}

static void test_names(void)
{
	static const char *const domains[] = {
		".", "example.org", "a", "a-b.c", "example.org.", "1a.2"};
	static const char *const no_domains[] = {"", "..", "1", "1.2", "-a", "a-", "a..b",
		"a b", "a_b.org", "a.org/", ".a"};
	static const char *const sysctls[] = {"net.core.somaxconn=5",
		"net.a=", "kernel.sem=1 2", "fs.mqueue.msg_max=1",
		"kernel.shm_rmid_forced=1"};
	static const char *const no_sysctls[] = {"", "net.a", "=1", "kernel.panic=1",
		"kernel.shm=1", "vm.overcommit_memory=1", "network=1",
		"kernel.shmmaxx=1"};

	for (size_t i = 0; i < ARRAY_LEN(domains); i++)
		ok(spec_is_search_domain(str_c(domains[i])), "'%s' is a domain",
			domains[i]);
	for (size_t i = 0; i < ARRAY_LEN(no_domains); i++)
		ok(!spec_is_search_domain(str_c(no_domains[i])), "'%s' is not a domain",
			no_domains[i]);
	for (size_t i = 0; i < ARRAY_LEN(sysctls); i++)
		is_int(spec_check_sysctl(str_c(sysctls[i]), &why), 0, "'%s' is a sysctl",
			sysctls[i]);
	for (size_t i = 0; i < ARRAY_LEN(no_sysctls); i++) {
		why = "";
		ok(spec_check_sysctl(str_c(no_sysctls[i]), &why) < 0 && *why,
			"'%s' is not a sysctl: %s", no_sysctls[i], why);
	}
	ok(spec_is_address("10.0.0.1") && spec_is_address("::1"), "addresses");
	ok(!spec_is_address("") && !spec_is_address("10.0.0") &&
			!spec_is_address("host") && !spec_is_address("10.0.0.1:53"),
		"texts that are no addresses");
}

int main(void)
{
	test_size();
	test_nano();
	test_duration();
	test_time();
	test_device();
	test_restart();
	test_names();
	test_ports();
	test_volume();
	test_mount();
	test_others();
	return done_testing();
}
