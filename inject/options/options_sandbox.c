/* Sets of options about sandboxes. */
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"

static const char *const entrypoint_choices[] = {"none", "run", "wait", NULL};

#define OPTIONS struct identity_options
static const struct option identity_options[] = {
	{"working-dir", "DIR", "start commands in DIR", TEXT, AT(working_dir),
		DEFAULT("the working directory of IMAGE, else /"), EXAMPLE("/work"),
		GROUP(COMMAND)},
	{"workdir", "DIR", "start commands in DIR (alias of --working-dir)", TEXT,
		.letter = 'w', AT(working_dir), GROUP(COMMAND)},
	{"user", "USER[:GROUP]",
		"run the server, and commands without --username, as USER, a name or an "
		"ID",
		TEXT, .letter = 'u', AT(user), DEFAULT("the user of IMAGE"),
		EXAMPLE("1000:1000"), GROUP(COMMAND)},
	{"username", "NAME",
		"run commands as user NAME; --user sets the user of the server", TEXT,
		AT(username), GROUP(COMMAND)},
	{"user-id", "N", "use the user ID N if the user of --username is added",
		NUMBER(0, UINT32_MAX - 1), AT(user_id), SEEN(has_user_id),
		EXAMPLE("1000"), GROUP(COMMAND)},
	{0},
};
const struct option_set identity_set = {.options = identity_options};

#undef OPTIONS

#define OPTIONS struct env_options
static const struct option env_options[] = {
	{"env", "NAME[=VALUE]",
		"set an environment variable; without VALUE, copy its value from this "
		"machine",
		LIST(env), .letter = 'e', EXAMPLE("LANG=C.UTF-8"), GROUP(COMMAND)},
	{"env-file", "FILE",
		"set the environment variables in FILE, one NAME[=VALUE] per line",
		LIST(env_file), FILES, GROUP(COMMAND)},
	{0},
};
const struct option_set env_set = {.options = env_options};

#undef OPTIONS

#define OPTIONS struct ready_options
static const struct option ready_options[] = {
	{"timeout-start", "DURATION", "wait at most DURATION until the sandbox is ready",
		DURATION(1, SECONDS_MAX), AT(timeout_start), EXAMPLE("5m"),
		INITIAL("30s"), GROUP(LIFECYCLE)},
	{0},
};
const struct option_set ready_set = {.options = ready_options};

#undef OPTIONS

#define OPTIONS struct timings_options
static const struct option timings_options[] = {
	{"timings", NULL, "print the milliseconds of each step on stderr", FLAG,
		AT(timings), GROUP(LIFECYCLE)},
	{0},
};
const struct option_set timings_set = {.options = timings_options};

#undef OPTIONS

#define OPTIONS struct connect_options
static const struct option connect_options[] = {
	{"connect", "URL",
		"connect the sandbox to a backend, such as od-runtime listen: "
		"ws://HOST:PORT/connect, wss://HOST:PORT/connect or unix:/PATH, as seen "
		"from the sandbox",
		TEXT, AT(connect), EXAMPLE("ws://10.0.0.1:8787/connect"), GROUP(CLIENT)},
	{"connect-id", "NAME", "use NAME as the name of the sandbox at the backend", TEXT,
		AT(connect_id), DEFAULT("the name of the sandbox"), GROUP(CLIENT)},
	{"connect-token", "FILE",
		"send the token in FILE to the backend; the sandbox gets a copy of FILE, "
		"which only root can read if the server runs as root",
		FILES, TEXT, AT(connect_token), GROUP(CLIENT)},
	{"connect-ca", "FILE",
		"verify a wss:// backend by the certificate authorities in FILE (PEM)",
		FILES, TEXT, AT(connect_ca), GROUP(CLIENT)},
	{"connect-pin", "SHA256",
		"verify a wss:// backend by the SHA-256 of its public key "
		"(SubjectPublicKeyInfo), in hex",
		TEXT, AT(connect_pin), GROUP(CLIENT)},
	{"connect-cert", "FILE",
		"send the certificate in FILE (PEM) to the backend; needs --connect-key",
		FILES, TEXT, AT(connect_cert), GROUP(CLIENT)},
	{"connect-key", "FILE", "use the private key in FILE (PEM) for --connect-cert",
		FILES, TEXT, AT(connect_key), GROUP(CLIENT)},
	{0},
};
const struct option_set connect_set = {.options = connect_options};

#undef OPTIONS

#define OPTIONS struct sandbox_options
static const struct option server_options[] = {
	{SET(extra_deps_set, image)},
	{SET(client_set, image.client)},
	{"plugin", "NAME[=DIR|IMAGE]",
		"start plugin NAME; with DIR or IMAGE, add it to the sandbox first, as "
		"build does",
		LIST(image.plugin.plugins), SEEN(image.plugin.source_optional),
		EXAMPLE("jupyter"), GROUP(CLIENT)},
	{"via", "auto|bind|volume|put|build|commit",
		"add the client to the sandbox by this method: bind (mount a file of "
		"this machine), volume (mount a volume), put (copy before the start), "
		"build or commit (make an image); auto is the first of bind, put and "
		"volume that works",
		CHOICE(injection_choices), .default_choice = INJECTION_AUTO,
		AT(image.via), DEFAULT("auto"), GROUP(CLIENT)},
	{"port", "N", "publish the API on port N of 127.0.0.1", NUMBER(1, 65535),
		AT(port), DEFAULT("a free port"), GROUP(CLIENT)},
	{"tls", NULL,
		"serve the API over TLS with a self-signed certificate, and pin the "
		"SHA-256 of its key",
		FLAG, AT(tls), GROUP(CLIENT)},
	{"state-dir", "DIR",
		"record actions with an id in DIR of the sandbox, so that the server "
		"reports their results after a restart; if DIR is on a volume, the next "
		"sandbox has the record too",
		TEXT, AT(state_dir), EXAMPLE("/var/lib/od"), GROUP(CLIENT)},
	{0},
};
const struct option_set server_set = {.options = server_options};

static const struct option entrypoint_options[] = {
	{"entrypoint", "none|run|wait",
		"start the entrypoint of IMAGE: \"none\" never, \"run\" when the server "
		"is ready, \"wait\" before that, until it has ended",
		CHOICE(entrypoint_choices), AT(entrypoint), DEFAULT("none"),
		GROUP(COMMAND)},
	{SET(identity_set, identity)},
	{SET(env_set, env)},
	{0},
};
const struct option_set entrypoint_set = {.options = entrypoint_options};

static int container_options_check(const void *values)
{
	const struct sandbox_options *o = values;

	return o->name ? options_check_sandbox(o->name) : 0;
}

static const struct option container_options[] = {
	/* Files */
	{"volume", "SOURCE:PATH[:MODES]",
		"mount a path of this machine, or a volume by its name, at PATH; MODES "
		"are ro, rw, z, Z, nocopy and overlay, which keeps writes in the sandbox",
		LIST(volume), .letter = 'v', FILES, EXAMPLE("./src:/work:overlay"),
		GROUP(FILES)},
	{"mount", "KEY=VALUE,...",
		"mount as --volume and --tmpfs do, by keys: "
		"type=bind|volume|tmpfs|overlay, source=, target=, readonly, "
		"tmpfs-size=, tmpfs-mode=, volume-nocopy, bind-propagation=",
		LIST(mount), EXAMPLE("type=volume,source=cache,target=/cache"),
		GROUP(FILES)},
	{"tmpfs", "PATH[:OPTIONS]", "mount a tmpfs at PATH", LIST(tmpfs),
		EXAMPLE("/scratch:mode=1777,size=64m"), GROUP(FILES)},
	{"read-only", NULL, "mount the root filesystem of the sandbox read-only", FLAG,
		AT(read_only), GROUP(FILES)},
	/* Network */
	{"publish", "[[ADDRESS:]PORT:]PORT[/udp]",
		"publish a port of the sandbox, or a range of ports, on this machine; "
		"ADDRESS is 127.0.0.1 if absent",
		LIST(publish), .letter = 'p', EXAMPLE("8080:80"), GROUP(NETWORK)},
	{"publish-all", NULL,
		"publish all ports that IMAGE exposes, on free ports of all addresses of "
		"the engine's machine",
		FLAG, .letter = 'P', AT(publish_all), GROUP(NETWORK)},
	{"network", "NAME",
		"connect the sandbox to network NAME (\"none\": no network, \"host\": "
		"share the host's network)",
		TEXT, AT(network), GROUP(NETWORK)},
	{"net", "NAME", "connect the sandbox to network NAME (alias of --network)", TEXT,
		AT(network), GROUP(NETWORK)},
	{"hostname", "NAME", "set the host name of the sandbox", TEXT, AT(hostname),
		GROUP(NETWORK)},
	{"add-host", "NAME:ADDRESS", "add an entry to /etc/hosts of the sandbox",
		LIST(add_host), EXAMPLE("db:10.0.0.2"), GROUP(NETWORK)},
	/* Resources */
	{"memory", "BYTES", "limit the memory of the sandbox", SIZE, .letter = 'm',
		AT(memory), EXAMPLE("512m"), DEFAULT("no limit"), GROUP(RESOURCES)},
	{"cpus", "N", "limit the number of CPUs of the sandbox", .kind = OPTION_NANO,
		AT(nano_cpus), EXAMPLE("1.5"), DEFAULT("no limit"), GROUP(RESOURCES)},
	{"pids-limit", "N",
		"limit the number of processes and threads in the sandbox; -1 means no "
		"limit",
		NUMBER(1, INT32_MAX), .unlimited = true, AT(pids), EXAMPLE("500"),
		GROUP(RESOURCES)},
	{"pids", "N", "limit the number of processes and threads (alias of --pids-limit)",
		NUMBER(1, INT32_MAX), .unlimited = true, AT(pids), GROUP(RESOURCES)},
	{"gpus", "all|N|device=ID,...", "add GPUs to the sandbox", TEXT, AT(gpus),
		EXAMPLE("all"), GROUP(RESOURCES)},
	{"shm-size", "BYTES", "set the size of /dev/shm", SIZE, AT(shm_size),
		EXAMPLE("1g"), GROUP(RESOURCES)},
	{"ulimit", "NAME=SOFT[:HARD]", "set a ulimit of the processes in the sandbox",
		LIST(ulimit), EXAMPLE("nofile=1024:2048"), GROUP(RESOURCES)},
	/* Privileges */
	{"cap-add", "NAME", "add a Linux capability", LIST(cap_add),
		EXAMPLE("SYS_PTRACE"), GROUP(PRIVILEGES)},
	{"cap-drop", "NAME", "drop a Linux capability; ALL drops all of them",
		LIST(cap_drop), EXAMPLE("ALL"), GROUP(PRIVILEGES)},
	{"security-opt", "OPTION",
		"set a security option, such as no-new-privileges or seccomp=FILE",
		LIST(security_opt), GROUP(PRIVILEGES)},
	/* Name */
	{"name", "NAME", "set the name of the sandbox", TEXT, AT(name),
		DEFAULT("a random name, od-XXXXXXXX"), GROUP(LIFECYCLE)},
	{"label", "NAME[=VALUE]", "set a label of the sandbox", LIST(label),
		.letter = 'l', EXAMPLE("team=a"), GROUP(LIFECYCLE)},
	{0},
};
const struct option_set container_set = {
	container_options, .check = container_options_check};

static const struct option start_options[] = {
	{"init", NULL, "run the init of the engine as process 1", FLAG, AT(init),
		GROUP(LIFECYCLE)},
	{SET(ready_set, ready)},
	{0},
};
const struct option_set start_set = {.options = start_options};

#undef OPTIONS
