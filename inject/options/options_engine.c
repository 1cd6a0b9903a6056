/* Sets of options of run that docker run also has and that are sent to the engine. */
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"

#define OPTIONS struct sandbox_options
static const struct option engine_options[] = {
	{"dns", "ADDRESS", "set a DNS server", LIST(dns), HOST("Dns"), EXAMPLE("1.1.1.1"),
		GROUP(NETWORK)},
	{"dns-search", "DOMAIN", "set a DNS search domain; \".\" means none",
		LIST(dns_search), HOST("DnsSearch"), EXAMPLE("example.com"),
		GROUP(NETWORK)},
	{"dns-option", "OPTION", "set an option of the DNS resolver", LIST(dns_option),
		HOST("DnsOptions"), EXAMPLE("ndots:2"), GROUP(NETWORK)},
	{"memory-reservation", "BYTES",
		"set a soft limit of memory, for when the machine is short of memory",
		SIZE, AT(memory_reservation), HOST("MemoryReservation"), EXAMPLE("256m"),
		GROUP(RESOURCES)},
	{"memory-swap", "BYTES",
		"limit memory and swap together; the value of --memory means no swap, "
		"and -1 means unlimited swap",
		SIZE, .unlimited = true, AT(memory_swap), HOST("MemorySwap"),
		EXAMPLE("1g"), GROUP(RESOURCES)},
	{"cpu-shares", "N", "set the weight of the sandbox when the CPUs are busy",
		NUMBER(0, INT64_MAX), .letter = 'c', AT(cpu_shares), HOST("CpuShares"),
		DEFAULT("1024"), GROUP(RESOURCES)},
	{"cpuset-cpus", "LIST", "use only these CPUs", TEXT, AT(cpuset_cpus),
		HOST("CpusetCpus"), EXAMPLE("0-2,5"), GROUP(RESOURCES)},
	{"sysctl", "NAME=VALUE", "set a kernel parameter of the sandbox", LIST(sysctl),
		EXAMPLE("net.core.somaxconn=1024"), GROUP(RESOURCES)},
	{"group-add", "GROUP", "add a supplementary group to the user of the server",
		LIST(group_add), HOST("GroupAdd"), GROUP(PRIVILEGES)},
	{"volumes-from", "CONTAINER[:ro]", "mount the volumes of another container",
		LIST(volumes_from), HOST("VolumesFrom"), GROUP(FILES)},
	{"runtime", "NAME", "use the OCI runtime NAME of the engine", TEXT, AT(runtime),
		HOST("Runtime"), EXAMPLE("runsc"), GROUP(PRIVILEGES)},
	{"device", "PATH[:PATH][:rwm]",
		"add a device of the engine's machine to the sandbox; this weakens its "
		"isolation",
		LIST(device), EXAMPLE("/dev/kvm"), GROUP(PRIVILEGES)},
	{"privileged", NULL,
		"give all devices and capabilities to the sandbox; no isolation from the "
		"engine's machine remains",
		FLAG, AT(privileged), HOST("Privileged"), GROUP(PRIVILEGES)},
	{"ipc", "MODE",
		"set the IPC namespace: none, private, shareable, container:NAME, or "
		"host, which weakens the isolation",
		TEXT, AT(ipc), HOST("IpcMode"), GROUP(PRIVILEGES)},
	{"pid", "MODE",
		"set the PID namespace: container:NAME, or host, which lets the sandbox "
		"see and signal processes of the engine's machine",
		TEXT, AT(pid), HOST("PidMode"), GROUP(PRIVILEGES)},
	{"uts", "host", "use the host name of the engine's machine (UTS namespace)", TEXT,
		AT(uts), HOST("UTSMode"), GROUP(PRIVILEGES)},
	{"userns", "host",
		"disable the user namespaces of the engine; root in the sandbox is then "
		"root of the engine's machine",
		TEXT, AT(userns), HOST("UsernsMode"), GROUP(PRIVILEGES)},
	{"cgroupns", "host|private",
		"set the cgroup namespace: private to the sandbox, or that of the host, "
		"which weakens the isolation",
		TEXT, AT(cgroupns), HOST("CgroupnsMode"), GROUP(PRIVILEGES)},
	{0},
};
const struct option_set engine_set = {.options = engine_options};

static const struct option stop_options[] = {
	{"stop-signal", "SIGNAL", "send SIGNAL to stop the sandbox", TEXT,
		AT(stop_signal), DEFAULT("SIGTERM"), EXAMPLE("SIGINT"), GROUP(LIFECYCLE)},
	{"stop-timeout", "DURATION",
		"kill the sandbox if it has not stopped DURATION after the stop signal; "
		"-1 means never",
		DURATION(0, INT32_MAX), .unlimited = true, AT(stop_timeout),
		SEEN(has_stop_timeout), DEFAULT("10s"), EXAMPLE("1m"), GROUP(LIFECYCLE)},
	{"log-driver", "NAME",
		"use the log driver NAME of the engine; with none, od-runtime logs "
		"prints nothing",
		TEXT, AT(log_driver), EXAMPLE("json-file"), GROUP(LIFECYCLE)},
	{"log-opt", "NAME=VALUE", "set an option of the log driver", LIST(log_opt),
		EXAMPLE("max-size=10m"), GROUP(LIFECYCLE)},
	{"annotation", "NAME=VALUE",
		"add an annotation for the OCI runtime (Docker 24 or later, Podman)",
		LIST(annotation), GROUP(LIFECYCLE)},
	{0},
};
const struct option_set stop_set = {.options = stop_options};

#undef OPTIONS
