/* Options of run that docker run also has and that are sent to the engine. */
#include "inject/options/options_rows.h"

const struct option options_of_engine[] = {
	{"net", "NAME", "same as --network", TEXT, AT(network), .commands = RUNNING},
	{"publish-all", NULL,
		"publish all ports that IMAGE exposes, on free ports of all addresses of "
		"the engine's machine",
		FLAG, .letter = 'P', AT(publish_all), HOST("PublishAllPorts"),
		.commands = RUNNING},
	{"dns", "ADDRESS", "use the name server at ADDRESS", LIST(LIST_DNS), HOST("Dns"),
		.commands = RUNNING},
	{"dns-search", "DOMAIN", "complete names with DOMAIN; \".\": with none",
		LIST(LIST_DNS_SEARCH), HOST("DnsSearch"), .commands = RUNNING},
	{"dns-option", "OPTION", "set an option of the resolver, as ndots:2",
		LIST(LIST_DNS_OPTION), HOST("DnsOptions"), .commands = RUNNING},
	{"restart", "no|on-failure[:N]|always|unless-stopped",
		"start the sandbox again when it ends; on-failure: if its exit code is "
		"not 0, N times at most; default: no",
		TEXT, AT(restart), .commands = FOR_RUN},
	{"stop-signal", "SIGNAL", "end the sandbox with SIGNAL; default: SIGTERM", TEXT,
		AT(stop_signal), .commands = RUNNING},
	{"stop-timeout", "DURATION",
		"kill the sandbox if it has not ended DURATION after its stop signal; "
		"with -1: never; default: 10s",
		DURATION(0, INT32_MAX), .unlimited = true, AT(stop_timeout),
		SEEN(has_stop_timeout), .commands = RUNNING},
	{"stop-timeout", "DURATION",
		"kill the sandbox if it has not ended DURATION after its stop signal; "
		"default: its own --stop-timeout, else 10s",
		DURATION(0, 3600), AT(stop_timeout), SEEN(has_stop_timeout),
		.commands = FOR_UPDATE},
	{"memory-reservation", "BYTES",
		"keep the sandbox below BYTES when the machine is short of memory", SIZE,
		AT(memory_reservation), HOST("MemoryReservation"), .commands = RUNNING},
	{"memory-swap", "BYTES",
		"limit memory and swap together; with the value of --memory: no swap; "
		"with -1: unlimited swap",
		SIZE, .unlimited = true, AT(memory_swap), HOST("MemorySwap"),
		.commands = RUNNING},
	{"cpu-shares", "N",
		"give the sandbox weight N when processors are busy; default: 1024",
		NUMBER(0, INT64_MAX), .letter = 'c', AT(cpu_shares), HOST("CpuShares"),
		.commands = RUNNING},
	{"cpuset-cpus", "LIST", "use only these processors, as 0-2,5", TEXT,
		AT(cpuset_cpus), HOST("CpusetCpus"), .commands = RUNNING},
	{"group-add", "GROUP", "add a supplementary group to the server's user",
		LIST(LIST_GROUP_ADD), HOST("GroupAdd"), .commands = RUNNING},
	{"volumes-from", "CONTAINER[:ro]", "mount the volumes of another container",
		LIST(LIST_VOLUMES_FROM), HOST("VolumesFrom"), .commands = RUNNING},
	{"sysctl", "NAME=VALUE",
		"set a kernel parameter of the sandbox, as net.core.somaxconn=1024",
		LIST(LIST_SYSCTL), .commands = RUNNING},
	{"log-driver", "NAME",
		"write the log of the sandbox with driver NAME of the engine; with none, "
		"logs prints nothing",
		TEXT, AT(log_driver), .commands = RUNNING},
	{"log-opt", "NAME=VALUE", "set an option of the log driver, as max-size=10m",
		LIST(LIST_LOG_OPT), .commands = RUNNING},
	{"annotation", "NAME=VALUE",
		"pass an annotation to the OCI runtime (Docker 24 or later, Podman)",
		LIST(LIST_ANNOTATION), .commands = RUNNING},
	{"runtime", "NAME", "use OCI runtime NAME of the engine, as runsc", TEXT,
		AT(runtime), HOST("Runtime"), .commands = RUNNING},
	{"device", "PATH[:PATH][:rwm]",
		"give a device of the engine's machine to the sandbox; this weakens its "
		"isolation",
		LIST(LIST_DEVICE), .commands = RUNNING},
	{"privileged", NULL,
		"give all devices and capabilities to the sandbox: no isolation from "
		"the engine's machine is left",
		FLAG, AT(privileged), HOST("Privileged"), .commands = RUNNING},
	{"ipc", "MODE",
		"share memory by MODE: none, private, shareable, container:NAME, or "
		"host, which weakens the isolation",
		TEXT, AT(ipc), HOST("IpcMode"), .commands = RUNNING},
	{"pid", "MODE",
		"use the process IDs of container:NAME, or of host, which lets the "
		"sandbox see and signal processes of the engine's machine",
		TEXT, AT(pid), HOST("PidMode"), .commands = RUNNING},
	{"uts", "host", "use the host name of the engine's machine", TEXT, AT(uts),
		HOST("UTSMode"), .commands = RUNNING},
	{"userns", "host",
		"turn off the engine's user namespaces: root in the sandbox is root of "
		"the engine's machine",
		TEXT, AT(userns), HOST("UsernsMode"), .commands = RUNNING},
	{"cgroupns", "host|private",
		"use control groups of the sandbox alone (private), or of the machine "
		"(host), which weakens the isolation",
		TEXT, AT(cgroupns), HOST("CgroupnsMode"), .commands = RUNNING},
};

const size_t options_of_engine_n = sizeof(options_of_engine) / sizeof(*options_of_engine);
