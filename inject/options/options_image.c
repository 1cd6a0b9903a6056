/* Options about images and the client. */
#include "inject/options/options_rows.h"

static const char *const pull_words[] = {"never", "missing", "always", NULL};
static const char *const via_words[] = {
	"auto", "bind", "volume", "put", "build", "commit", NULL};
static const char *const style_words[] = {"three", "legacy", NULL};

const struct option options_of_image[] = {
	{"pull", "never|missing|always",
		"pull IMAGE from its registry always, never, or if the engine does not "
		"have it (missing); --pull alone means missing",
		CHOICE(pull_words), .default_choice = PULL_MISSING, AT(pull),
		DEFAULT("missing"), GROUP(IMAGE), .commands = ONTO_IMAGES},
	{"platform", "OS/ARCH",
		"require IMAGE to be for this platform; with --output, select this "
		"platform of a multi-platform IMAGE",
		TEXT, AT(platform), EXAMPLE("linux/amd64"), GROUP(IMAGE),
		.commands = FOR_BUILD},
	{"platform", "OS/ARCH", "require IMAGE to be for this platform", TEXT,
		AT(platform), EXAMPLE("linux/amd64"), GROUP(IMAGE),
		.commands = FOR_DOCKERFILE | RUNNING | FOR_TAGS},
	{"force", NULL, "build the image even if it exists", FLAG, AT(force),
		GROUP(IMAGE), .commands = FOR_BUILD | FOR_RUN},
	{"output", "PLACE",
		"read IMAGE from a place and write the result to PLACE without an "
		"engine; a place is oci:DIR[:REF], archive:FILE[:REF] or "
		"registry:HOST/NAME[:TAG]",
		TEXT, FILES, .letter = 'o', AT(output), EXAMPLE("oci:./image"),
		GROUP(IMAGE), .commands = FOR_BUILD},
	{"tag", "NAME[:TAG]",
		"add this name to the image, at the engine or in --output; TAG is latest "
		"if absent, and prune keeps images with such a name",
		TEXT, .letter = 't', AT(tag), EXAMPLE("agent:1"), GROUP(IMAGE),
		.commands = FOR_BUILD},
	{"ca", "FILE", "trust the certificate authorities in FILE (PEM) for registries",
		TEXT, FILES, AT(ca), DEFAULT("the authorities of this machine"),
		GROUP(IMAGE), .commands = FOR_BUILD},
	{"plain-http", NULL,
		"use HTTP for registries; registries on loopback addresses do not need "
		"this option",
		FLAG, AT(plain_http), GROUP(IMAGE), .commands = FOR_BUILD},
	{"verify", NULL,
		"verify the digests of layers that are linked or copied without being "
		"read",
		FLAG, AT(verify), GROUP(IMAGE), .commands = FOR_BUILD},
	{"realm", "HOST",
		"allow the token server HOST to receive the credentials for a registry",
		TEXT, AT(realm), EXAMPLE("auth.example.com"), GROUP(IMAGE),
		.commands = FOR_BUILD},
	{"extra-deps", "CMDS",
		"execute CMDS as root before all other steps of the build, with the "
		"shell of IMAGE and with network access",
		TEXT, AT(extra_deps), EXAMPLE("\"apt-get install -y git\""), GROUP(IMAGE),
		.commands = ONTO_IMAGES},
	{"dry-run", NULL, "print what the command would do, and change nothing", FLAG,
		AT(dry_run), GROUP(IMAGE), .commands = FOR_BUILD | FOR_PRUNE},
	{"build-folder", "DIR",
		"write the build context to DIR, for docker build, and build nothing",
		TEXT, FOLDERS, AT(build_folder), EXAMPLE("./context"), GROUP(IMAGE),
		.commands = FOR_BUILD},
	{"tag-style", "three|legacy",
		"select the names of the image; legacy adds "
		"od_runtime:od_v..._image_NAME__TAG, or od_runtime_dev:... if "
		"SANDBOX_UPDATE_SOURCE_CODE is set",
		CHOICE(style_words), AT(tag_style), DEFAULT("three"), GROUP(IMAGE),
		.commands = FOR_BUILD | FOR_TAGS},
	{"timings", NULL, "print the milliseconds of each step on stderr", FLAG,
		AT(timings), GROUP(IMAGE), .commands = FOR_BUILD},
	{"keep", "N", "keep the newest N runtime images of each base image",
		NUMBER(0, INT32_MAX), AT(keep), DEFAULT("3"), GROUP(IMAGE),
		.commands = FOR_PRUNE},
	{"client", "PATH",
		"use the od-runtime-client at PATH, and od-plugins from the same folder",
		TEXT, FILES, AT(client),
		DEFAULT("OD_RUNTIME_CLIENT, else the file beside od-runtime, else the "
			"copy inside od-runtime"),
		GROUP(CLIENT), .commands = INTO_ANY | FOR_UPDATE},
	{"busybox", "PATH", "add the static busybox at PATH if IMAGE has no shell", TEXT,
		FILES, AT(busybox),
		DEFAULT("od-busybox beside od-runtime, else /usr/lib/od-runtime/busybox, "
			"else /bin/busybox"),
		GROUP(CLIENT), .commands = INTO_ANY},
	{"no-busybox", NULL, "add no busybox if IMAGE has no shell", FLAG, AT(no_busybox),
		GROUP(CLIENT), .commands = INTO_ANY},
	{"no-od-plugins", NULL,
		"leave od-plugins out; the sandbox then has no browser driver and no "
		"skills",
		FLAG, AT(no_od_plugins), GROUP(CLIENT), .commands = INTO_ANY},
	{"no-od-plugins", NULL, "keep the od-plugins of the sandbox unchanged", FLAG,
		AT(no_od_plugins), GROUP(CLIENT), .commands = FOR_UPDATE},
	{"plugin", "NAME=DIR|IMAGE",
		"add plugin NAME in /.od/plugins/NAME: a folder of this machine (DIR "
		"begins with / or .), or all files of an image",
		LIST(LIST_PLUGIN), EXAMPLE("hello=./hello"), GROUP(CLIENT),
		.commands = FOR_BUILD | FOR_DOCKERFILE | FOR_TAGS},
	{"plugin", "NAME[=DIR|IMAGE]",
		"start plugin NAME; with DIR or IMAGE, add it to the sandbox first, as "
		"build does",
		LIST(LIST_PLUGIN), EXAMPLE("jupyter"), GROUP(CLIENT),
		.commands = RUNNING},
	{"plugin", "NAME[=DIR|IMAGE]", "include the files of plugin NAME, as build does",
		LIST(LIST_PLUGIN), EXAMPLE("hello=./hello"), GROUP(CLIENT),
		.commands = FOR_DOCTOR},
	{"via", "auto|bind|volume|put|build|commit",
		"add the client to the sandbox by this method: bind (mount a file of "
		"this machine), volume (mount a volume), put (copy before the start), "
		"build or commit (make an image); auto is the first of bind, put and "
		"volume that works",
		CHOICE(via_words), .default_choice = INJECTION_AUTO, AT(via),
		DEFAULT("auto"), GROUP(CLIENT), .commands = RUNNING},
	{"via", "auto|bind|volume|put|build|commit",
		"make the image by this method, build or commit; auto is commit if no "
		"step needs a builder",
		CHOICE(via_words), .default_choice = INJECTION_AUTO, AT(via),
		DEFAULT("auto"), GROUP(CLIENT), .commands = FOR_BUILD},
	{"port", "N", "publish the API on port N of 127.0.0.1", NUMBER(1, 65535),
		AT(port), DEFAULT("a free port"), GROUP(CLIENT), .commands = RUNNING},
	{"port", "N", "serve the API on port N in the container", NUMBER(1, 65535),
		AT(port), DEFAULT("8000"), GROUP(CLIENT), .commands = FOR_INJECT},
	{"tls", NULL,
		"serve the API over TLS with a self-signed certificate, and pin the "
		"SHA-256 of its key",
		FLAG, AT(tls), GROUP(CLIENT), .commands = RUNNING},
	{"state-dir", "DIR",
		"record actions with an id in DIR of the sandbox, so that the server "
		"reports their results after a restart; if DIR is on a volume, the next "
		"sandbox has the record too",
		TEXT, AT(state_dir), EXAMPLE("/var/lib/od"), GROUP(CLIENT),
		.commands = RUNNING},
	{"connect", "URL",
		"connect the sandbox to a backend, such as od-runtime listen: "
		"ws://HOST:PORT/connect, wss://HOST:PORT/connect or unix:/PATH, as seen "
		"from the sandbox",
		TEXT, AT(connect), EXAMPLE("ws://10.0.0.1:8787/connect"), GROUP(CLIENT),
		.commands = FOR_RUN},
	{"connect-id", "NAME", "use NAME as the name of the sandbox at the backend", TEXT,
		AT(connect_id), DEFAULT("the name of the sandbox"), GROUP(CLIENT),
		.commands = FOR_RUN},
	{"connect-token", "FILE",
		"send the token in FILE to the backend; the sandbox gets a copy of FILE, "
		"which only root can read if the server runs as root",
		FILES, TEXT, AT(connect_token), GROUP(CLIENT), .commands = FOR_RUN},
	{"connect-ca", "FILE",
		"verify a wss:// backend by the certificate authorities in FILE (PEM)",
		FILES, TEXT, AT(connect_ca), GROUP(CLIENT), .commands = FOR_RUN},
	{"connect-pin", "SHA256",
		"verify a wss:// backend by the SHA-256 of its public key "
		"(SubjectPublicKeyInfo), in hex",
		TEXT, AT(connect_pin), GROUP(CLIENT), .commands = FOR_RUN},
	{"connect-cert", "FILE",
		"send the certificate in FILE (PEM) to the backend; needs --connect-key",
		FILES, TEXT, AT(connect_cert), GROUP(CLIENT), .commands = FOR_RUN},
	{"connect-key", "FILE", "use the private key in FILE (PEM) for --connect-cert",
		FILES, TEXT, AT(connect_key), GROUP(CLIENT), .commands = FOR_RUN},
};

const size_t options_of_image_n = sizeof(options_of_image) / sizeof(*options_of_image);
