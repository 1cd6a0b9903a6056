/* Sets of options about images and the client. */
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"

#include "inject/console/out.h"

static const char *const pull_choices[] = {"never", "missing", "always", NULL};
static const char *const style_choices[] = {"three", "legacy", NULL};
const char *const injection_choices[] = {
	"auto", "bind", "volume", "put", "build", "commit", NULL};

#define OPTIONS struct image_options
static const struct option pull_options[] = {
	{"pull", "never|missing|always",
		"pull IMAGE from its registry always, never, or if the engine does not "
		"have it (missing); --pull alone means missing",
		CHOICE(pull_choices), .default_choice = PULL_MISSING, AT(pull),
		INITIAL("missing"), GROUP(IMAGE)},
	{0},
};
const struct option_set pull_set = {.options = pull_options};

static const struct option platform_options[] = {
	{"platform", "OS/ARCH", "require IMAGE to be for this platform", TEXT,
		AT(platform), EXAMPLE("linux/amd64"), GROUP(IMAGE)},
	{0},
};
const struct option_set platform_set = {.options = platform_options};

static const struct option force_build_options[] = {
	{"force", NULL, "build the image even if it exists", FLAG, AT(force),
		GROUP(IMAGE)},
	{0},
};
const struct option_set force_build_set = {.options = force_build_options};

static const struct option extra_deps_options[] = {
	{"extra-deps", "CMDS",
		"execute CMDS as root before all other steps of the build, with the "
		"shell of IMAGE and with network access",
		TEXT, AT(extra_deps), EXAMPLE("\"apt-get install -y git\""),
		GROUP(IMAGE)},
	{0},
};
const struct option_set extra_deps_set = {.options = extra_deps_options};

static const struct option tag_style_options[] = {
	{"tag-style", "three|legacy",
		"select the names of the image; legacy adds "
		"od_runtime:od_v..._image_NAME__TAG, or od_runtime_dev:... if "
		"SANDBOX_UPDATE_SOURCE_CODE is set",
		CHOICE(style_choices), AT(tag_style), DEFAULT("three"), GROUP(IMAGE)},
	{0},
};
const struct option_set tag_style_set = {.options = tag_style_options};

#undef OPTIONS

#define OPTIONS struct plugin_options
static const struct option plugin_source_options[] = {
	{"plugin", "NAME=DIR|IMAGE",
		"add plugin NAME in /.od/plugins/NAME: a folder of this machine (DIR "
		"begins with / or .), or all files of an image",
		LIST(plugins), EXAMPLE("hello=./hello"), GROUP(CLIENT)},
	{0},
};
const struct option_set plugin_source_set = {.options = plugin_source_options};

#undef OPTIONS

#define OPTIONS struct dry_run_options
static const struct option dry_run_options[] = {
	{"dry-run", NULL, "print what the command would do, and change nothing", FLAG,
		AT(dry_run), GROUP(IMAGE)},
	{0},
};
const struct option_set dry_run_set = {.options = dry_run_options};

#undef OPTIONS

#define OPTIONS struct client_options
static const struct option client_path_options[] = {
	{"client", "PATH",
		"use the od-runtime-client at PATH, and od-plugins from the same folder",
		TEXT, FILES, AT(client),
		DEFAULT("OD_RUNTIME_CLIENT, else the file beside od-runtime, else the "
			"copy inside od-runtime"),
		GROUP(CLIENT)},
	{0},
};
const struct option_set client_path_set = {.options = client_path_options};

static int client_options_check(const void *values)
{
	const struct client_options *o = values;

	if (o->busybox && o->no_busybox)
		return out_fail_usage(
			NEXT_HELP, "--busybox and --no-busybox cannot be combined");
	return 0;
}

static const struct option client_options[] = {
	{SET_HERE(client_path_set)},
	{"busybox", "PATH", "add the static busybox at PATH if IMAGE has no shell", TEXT,
		FILES, AT(busybox),
		DEFAULT("od-busybox beside od-runtime, else /usr/lib/od-runtime/busybox, "
			"else /bin/busybox"),
		GROUP(CLIENT)},
	{"no-busybox", NULL, "add no busybox if IMAGE has no shell", FLAG, AT(no_busybox),
		GROUP(CLIENT)},
	{"no-od-plugins", NULL,
		"leave od-plugins out; the sandbox then has no browser driver and no "
		"skills",
		FLAG, AT(no_od_plugins), GROUP(CLIENT)},
	{0},
};
const struct option_set client_set = {.options = client_options,
	.check = client_options_check};

#undef OPTIONS
