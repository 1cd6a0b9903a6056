#include "inject/options/options.h"

#include "inject/console/out.h"
#include "inject/names/ref.h"
#include "inject/names/state.h"
#include "inject/options/options_connect.h"
#include "inject/options/options_rows.h"
#include "limits.h"

#include <stdio.h>

static const char *const pull_words[] = {"never", "missing", "always", NULL};
static const char *const via_words[] = {
	"auto", "bind", "volume", "put", "build", "commit", NULL};
static const char *const entrypoint_words[] = {"none", "run", "wait", NULL};
static const char *const style_words[] = {"three", "legacy", NULL};

static const struct option table[] = {
	{"host", "URL",
		"the engine, unix:///path, or tcp://HOST:PORT over TLS; else "
		"DOCKER_HOST, "
		"else the usual socket",
		TEXT, AT(host), .commands = FOR_ALL},
	{"json", NULL, "print JSON for programs", FLAG, AT(json), .commands = FOR_ALL},
	{"timings", NULL, "print milliseconds per step on stderr", FLAG, AT(timings),
		.commands = FOR_BUILD | FOR_RUN | FOR_UPDATE},
	{"client", "PATH",
		"the od-runtime-client to put in, with od-plugins from the same folder; "
		"else"
		" OD_RUNTIME_CLIENT, else the one beside this program, else the one "
		"inside"
		" it",
		TEXT, FILES, AT(client), .commands = INTO_ANY | FOR_UPDATE},
	{"busybox", "PATH",
		"the static busybox to put in if IMAGE has no shell; else od-busybox"
		" beside this program, /usr/lib/od-runtime/busybox, /bin/busybox",
		TEXT, FILES, AT(busybox), .commands = INTO_ANY},
	{"no-busybox", NULL, "leave an IMAGE without a shell as it is", FLAG,
		AT(no_busybox), .commands = INTO_ANY},
	{"no-od-plugins", NULL,
		"leave od-plugins out: the sandbox has no browser driver and no skills",
		FLAG, AT(no_od_plugins), .commands = INTO_ANY},
	{"no-od-plugins", NULL, "leave the od-plugins of the sandbox as it is", FLAG,
		AT(no_od_plugins), .commands = FOR_UPDATE},
	{"pull", "never|missing|always",
		"when the engine fetches IMAGE from its registry; default: missing, if "
		"the engine does not have it; --pull alone means missing",
		.kind = OPTION_CHOICE, .choices = pull_words,
		.default_choice = PULL_MISSING, AT(pull), .commands = ONTO_IMAGES},
	{"platform", "OS/ARCH",
		"require IMAGE to be for OS/ARCH, as linux/amd64; with --output: take "
		"this one of several in IMAGE",
		TEXT, AT(platform), .commands = ONTO_IMAGES},
	{"force", NULL, "build even if the result is there already", FLAG, AT(force),
		.commands = FOR_BUILD | FOR_RUN},
	{"output", "PLACE",
		"write the image there, and read IMAGE from such a place, without an"
		" engine: oci:DIR[:REF], archive:FILE[:REF], registry:HOST/NAME[:TAG]",
		TEXT, FILES, .letter = 'o', AT(output), .commands = FOR_BUILD},
	{"output", "FILE", "write to FILE instead of stdout", TEXT, FILES, .letter = 'o',
		AT(output), .commands = FOR_SCREENSHOT},
	{"tag", "NAME[:TAG]",
		"also give the image this name, at the engine or in --output; without "
		"TAG it is latest; prune keeps images with a name of yours",
		TEXT, .letter = 't', AT(tag), .commands = FOR_BUILD},
	{"ca", "FILE",
		"trust the certificate authorities in FILE (PEM) for registries; "
		"default: those of this machine",
		TEXT, FILES, AT(ca), .commands = FOR_BUILD},
	{"plain-http", NULL,
		"use HTTP with registries; not needed for registries on the loopback",
		FLAG, AT(plain_http), .commands = FOR_BUILD},
	{"verify", NULL, "also check the layers that can be linked or copied unread",
		FLAG, AT(verify), .commands = FOR_BUILD},
	{"realm", "HOST",
		"allow the token server HOST to receive the login of a registry", TEXT,
		AT(realm), .commands = FOR_BUILD},
	{"extra-deps", "CMDS",
		"execute CMDS in IMAGE as root before anything else, as \"apt-get "
		"install -y git\"; with the shell of IMAGE and with a network",
		TEXT, AT(extra_deps), .commands = ONTO_IMAGES},
	{"plugin", "NAME=DIR|IMAGE",
		"put a folder of this machine (with a / or . in front), or all of an "
		"image, into /.od/plugins/NAME",
		LIST(LIST_PLUGIN), .commands = FOR_BUILD | FOR_DOCKERFILE | FOR_TAGS},
	{"dry-run", NULL, "print what would be done, and do nothing", FLAG, AT(dry_run),
		.commands = FOR_BUILD | FOR_PRUNE},
	{"build-folder", "DIR",
		"write what the engine would get into DIR, for docker build, and build "
		"nothing",
		TEXT, FOLDERS, AT(build_folder), .commands = FOR_BUILD},
	{"tag-style", "three|legacy",
		"legacy names the image od_runtime:od_v..._image_NAME__TAG as well, or "
		"od_runtime_dev:... with SANDBOX_UPDATE_SOURCE_CODE",
		.kind = OPTION_CHOICE, .choices = style_words, AT(tag_style),
		.commands = FOR_BUILD | FOR_TAGS},
	{"keep", "N", "keep the newest N images of each base; default: 3",
		NUMBER(0, INT32_MAX), AT(keep), .commands = FOR_PRUNE},
	{"rm", NULL, "remove the sandbox when it has stopped or CMD has ended", FLAG,
		AT(remove), .commands = FOR_RUN},
	{"detach", NULL,
		"print the name of the sandbox and leave it running with CMD, whose "
		"output od-runtime logs prints; the default without CMD",
		FLAG, .letter = 'd', AT(detach), .commands = FOR_RUN},
	{"interactive", NULL,
		"pass stdin on to CMD; without this option CMD reads an empty stdin",
		FLAG, .letter = 'i', AT(interactive), .commands = EXECUTING},
	{"tty", NULL,
		"give CMD a terminal of the size of this one; -it for programs that are "
		"used by hand",
		FLAG, .letter = 't', AT(tty), .commands = EXECUTING},
	{"detach", NULL, "start CMD and leave it running", FLAG, .letter = 'd',
		AT(detach), .commands = FOR_EXEC},
	{"via", "auto|bind|volume|put|build|commit",
		"how the client gets into the sandbox: as a file of this machine, in a "
		"volume, put in before the start, or in an image that is made; auto is "
		"the first of bind, put and volume that works; for build: build or "
		"commit, and auto is commit where nothing needs a builder",
		.kind = OPTION_CHOICE, .choices = via_words,
		.default_choice = INJECTION_AUTO, AT(via),
		.commands = RUNNING | FOR_BUILD},
	{"entrypoint", "none|run|wait",
		"start the program of IMAGE: not at all, beside the server when that is "
		"ready, or to its end before that; default: none",
		.kind = OPTION_CHOICE, .choices = entrypoint_words, AT(entrypoint),
		.commands = RUNNING},
	{"name", "NAME", "name the sandbox; default: od-XXXXXXXX", TEXT, AT(name),
		.commands = RUNNING},
	{"port", "N",
		"publish the server on port N of 127.0.0.1; default: a free port; "
		"inject: listen on port N in the container; default: 8000",
		NUMBER(1, 65535), AT(port), .commands = STARTING},
	{"working-dir", "DIR",
		"start commands in DIR; default: the working directory of IMAGE, else /",
		TEXT, AT(working_dir), .commands = STARTING},
	{"workdir", "DIR", "same as --working-dir", TEXT, .letter = 'w', AT(working_dir),
		.commands = STARTING},
	{"username", "NAME",
		"run commands as user NAME; the server keeps its own user, see --user",
		TEXT, AT(username), .commands = STARTING},
	{"workdir", "DIR",
		"execute CMD in DIR; default: the working directory of the sandbox", TEXT,
		.letter = 'w', AT(working_dir), .commands = FOR_EXEC},
	{"user", "USER[:GROUP]", "execute CMD as USER; default: the user of the sandbox",
		TEXT, .letter = 'u', AT(user), .commands = FOR_EXEC},
	{"user-id", "N", "user ID of --username if that user has to be added",
		NUMBER(0, UINT32_MAX - 1), AT(user_id), SEEN(has_user_id),
		.commands = STARTING},
	{"user", "USER[:GROUP]",
		"run the server, and commands without --username, as USER; default: the "
		"user of IMAGE",
		TEXT, .letter = 'u', AT(user), .commands = STARTING},
	{"tls", NULL,
		"serve TLS with a self-signed certificate, and pin the SHA-256 of its "
		"key",
		FLAG, AT(tls), .commands = RUNNING},
	{"state-dir", "DIR",
		"remember actions with an id in DIR of the sandbox when its server "
		"starts again; if DIR is on a volume, for the next sandbox too",
		TEXT, AT(state_dir), .commands = RUNNING},
	{"timeout-start", "DURATION",
		"wait for DURATION, as 90s or 5m, until the sandbox is ready; default: "
		"30s",
		DURATION(1, SECONDS_MAX), AT(timeout_start),
		.commands = STARTING | FOR_START | FOR_RESTART},
	{"timeout", "DURATION",
		"kill CMD when it has run for DURATION, as 90s or 1h30m; the exit code "
		"is "
		"124; default: no limit",
		DURATION(1, SECONDS_MAX), AT(timeout), GIVEN_AS(timeout_text),
		.commands = EXECUTING},
	{"timeout", "DURATION",
		"limit the whole command to DURATION, as 90s or 1h30m; the action goes "
		"on, and the exit code is 124; "
		"default: the action's own timeout, if it has one, and 30 s",
		DURATION(1, SECONDS_MAX), AT(timeout), GIVEN_AS(timeout_text),
		.commands = FOR_ACTION},
	{"env", "NAME[=VALUE]",
		"set an environment variable in the sandbox; without VALUE: to its value "
		"here",
		LIST(LIST_ENV), .letter = 'e', .commands = RUNNING | FOR_EXEC},
	{"env-file", "FILE", "set the variables in FILE, one NAME[=VALUE] per line",
		LIST(LIST_ENV_FILE), FILES, .commands = RUNNING | FOR_EXEC},
	{"volume", "SOURCE:PATH[:MODES]",
		"show a path of this machine, or a volume by its name, at PATH; modes "
		"are ro, rw, z, Z, nocopy, and overlay: writes stay in the sandbox",
		LIST(LIST_VOLUME), .letter = 'v', FILES, .commands = RUNNING},
	{"mount", "KEY=VALUE,...",
		"same as --volume and --tmpfs, by keys: type=bind|volume|tmpfs|overlay, "
		"source=, target=, readonly, tmpfs-size=, tmpfs-mode=, volume-nocopy, "
		"bind-propagation=",
		LIST(LIST_MOUNT), .commands = RUNNING},
	{"tmpfs", "PATH[:OPTIONS]",
		"mount a folder in memory at PATH; OPTIONS as mode=1777,size=64m",
		LIST(LIST_TMPFS), .commands = RUNNING},
	{"publish", "[[ADDRESS:]PORT:]PORT[/udp]",
		"publish a port of the sandbox, or a range of ports, on this machine; on "
		"127.0.0.1 unless ADDRESS is given",
		LIST(LIST_PUBLISH), .letter = 'p', .commands = RUNNING},
	{"network", "NAME",
		"connect the sandbox to network NAME; none: no network; host: the host's "
		"network",
		TEXT, AT(network), .commands = RUNNING},
	{"hostname", "NAME", "set the host name of the sandbox", TEXT, AT(hostname),
		.commands = RUNNING},
	{"add-host", "NAME:ADDRESS", "add a line to /etc/hosts of the sandbox",
		LIST(LIST_ADD_HOST), .commands = RUNNING},
	{"memory", "BYTES", "limit the memory of the sandbox, as 512m or 2g", SIZE,
		.letter = 'm', AT(memory), .commands = RUNNING},
	{"cpus", "N", "limit the processors of the sandbox, as 1.5", .kind = OPTION_NANO,
		AT(nano_cpus), .commands = RUNNING},
	{"pids-limit", "N",
		"limit the number of processes and threads in the sandbox; with -1: not "
		"at all",
		NUMBER(1, INT32_MAX), .unlimited = true, AT(pids), .commands = RUNNING},
	{"pids", "N", "same as --pids-limit", NUMBER(1, INT32_MAX), .unlimited = true,
		AT(pids), .commands = RUNNING},
	{"gpus", "all|N|device=ID,...", "give GPUs to the sandbox", TEXT, AT(gpus),
		.commands = RUNNING},
	{"shm-size", "BYTES", "set the size of /dev/shm of the sandbox", SIZE,
		AT(shm_size), .commands = RUNNING},
	{"ulimit", "NAME=SOFT[:HARD]", "set a resource limit, as nofile=1024:2048",
		LIST(LIST_ULIMIT), .commands = RUNNING},
	{"init", NULL, "run the engine's own init as process 1", FLAG, AT(init),
		.commands = RUNNING},
	{"read-only", NULL, "mount the files of IMAGE read-only", FLAG, AT(read_only),
		.commands = RUNNING},
	{"cap-add", "NAME", "add a capability", LIST(LIST_CAP_ADD), .commands = RUNNING},
	{"cap-drop", "NAME", "drop a capability, or ALL", LIST(LIST_CAP_DROP),
		.commands = RUNNING},
	{"security-opt", "OPTION",
		"set a security option: no-new-privileges, seccomp=FILE and the like",
		LIST(LIST_SECURITY_OPT), .commands = RUNNING},
	{"label", "NAME[=VALUE]", "set a label of the sandbox", LIST(LIST_LABEL),
		.letter = 'l', .commands = RUNNING},
	{"plugin", "NAME[=DIR|IMAGE]",
		"start a plugin; with DIR or IMAGE: put it into the sandbox first, as "
		"build does",
		LIST(LIST_PLUGIN), .commands = RUNNING},
	{"plugin", "NAME[=DIR|IMAGE]", "count what the plugin brings, as build does",
		LIST(LIST_PLUGIN), .commands = FOR_DOCTOR},
	OPTIONS_CONNECT,
	{"follow", NULL, "print new lines until the sandbox stops", FLAG, .letter = 'f',
		AT(follow), .commands = FOR_LOGS},
	{"tail", "N", "print only the last N lines", NUMBER(0, INT32_MAX), .letter = 'n',
		AT(tail), SEEN(has_tail), .commands = FOR_LOGS},
	{"since", "TIME",
		"print only lines since TIME: seconds since 1970, or a duration before "
		"now, as 90s, 1h30m, 1d",
		TEXT, AT(since), .commands = FOR_LOGS},
	{"until", "TIME", "print only lines until TIME, as with --since", TEXT, AT(until),
		.commands = FOR_LOGS},
	{"timestamps", NULL, "print the time in front of each line", FLAG, .letter = 't',
		AT(timestamps), .commands = FOR_LOGS},
	{"all", NULL, "no effect: stopped sandboxes are always listed", FLAG,
		.letter = 'a', AT(all), .commands = FOR_PS},
	{"filter", "KEY=VALUE", "list only sandboxes with this name, id, status or label",
		LIST(LIST_FILTER), .commands = FOR_PS},
	{"stats", NULL,
		"ask the engine for CPU and MEMORY of sandboxes whose server does not "
		"answer on a port of this machine; takes some engines a second",
		FLAG, AT(stats), .commands = FOR_PS},
	{"no-stats", NULL,
		"do not measure what the sandboxes use: no columns CPU (time since the "
		"start) and MEMORY",
		FLAG, AT(no_stats), .commands = FOR_PS},
	{"quiet", NULL, "print names only", FLAG, .letter = 'q', AT(quiet),
		.commands = FOR_PS},
	{"time", "DURATION",
		"wait for DURATION, as 90s or 5m, until the sandbox has ended before "
		"killing it; default: its --stop-timeout, else 10s",
		DURATION(0, 3600), .letter = 't', AT(time), SEEN(has_time),
		.commands = FOR_STOP | FOR_RESTART},
	{"signal", "SIGNAL", "send SIGNAL; default: KILL", TEXT, .letter = 's',
		AT(signal), .commands = FOR_KILL},
	{"force", NULL, "stop the sandbox first if it is running", FLAG, .letter = 'f',
		AT(force), .commands = FOR_RM},
	{"kill", "NAME",
		"end session NAME with all its processes; the next command gets a fresh "
		"shell",
		TEXT, AT(end), .commands = FOR_SESSIONS},
	{"session", "NAME",
		"show its live terminal, a session of shells: what it prints, and its "
		"screen at first; what is typed goes to the command that runs, and ^] "
		"leaves",
		TEXT, AT(session), .commands = FOR_ATTACH},
	{"session", "NAME",
		"execute CMD as text of the shell in the session NAME, which keeps its "
		"directory and variables for the next one",
		TEXT, AT(session), .commands = FOR_EXEC},
	{"address", "ADDRESS:PORT",
		"listen on ADDRESS:PORT; default: 127.0.0.1:8787; port 0 is any free "
		"port",
		TEXT, AT(address), .commands = FOR_LISTEN},
	{"token", "FILE",
		"the secret from which the tokens of sandboxes are derived, 16 bytes or "
		"more (\"openssl rand -hex 32\"); it stays on this machine; od-runtime "
		"token prints the tokens",
		TEXT, FILES, AT(token), .commands = FOR_LISTEN},
	{"no-token", NULL,
		"let sandboxes dial in without a token: the first to use a name keeps it "
		"while it is connected",
		FLAG, AT(no_token), .commands = FOR_LISTEN},
	{"operator", NULL,
		"print the operator's token, which lists the sandboxes (GET /sandboxes)",
		FLAG, AT(operator), .commands = FOR_TOKEN},
	{"tls-cert", "FILE",
		"serve TLS 1.2 with this certificate chain (PEM); needs --tls-key", TEXT,
		FILES, AT(tls_cert), .commands = FOR_LISTEN},
	{"tls-key", "FILE", "private key of --tls-cert (PEM)", TEXT, FILES, AT(tls_key),
		.commands = FOR_LISTEN},
	{"tls-client-ca", "FILE",
		"accept only clients with a certificate of this authority (PEM)", TEXT,
		FILES, AT(tls_client_ca), .commands = FOR_LISTEN},
	{"help", NULL, "print this text", FLAG, .letter = 'h', AT(help),
		.commands = FOR_ALL},
	{"version", NULL, "print the version", FLAG, AT(version), .commands = FOR_ALL},
};

static const struct command *options_find_command(struct str name)
{
	for (const struct command *c = commands; c->name; c++)
		if (str_eq(name, str_c(c->name)))
			return c;
	return NULL;
}

/* Finds an option of the command, or, before the command, one that all commands have. */
static const struct option *options_find(
	const struct options *o, struct str name, char letter)
{
	const struct option *opt;

	for (size_t i = 0; (opt = options_get_row(i)); i++) {
		if (o->command ? !(opt->commands & o->command->bit)
			       : opt->commands != FOR_ALL)
			continue;
		if (letter ? opt->letter == letter : str_eq(name, str_c(opt->name)))
			return opt;
	}
	return NULL;
}

const struct option *options_get_row(size_t i)
{
	if (i < ARRAY_LEN(table))
		return &table[i];
	i -= ARRAY_LEN(table);
	return i < options_of_engine_n ? &options_of_engine[i] : NULL;
}

static int options_fail_option(const struct options *o, const char *word)
{
	return out_fail_usage(NEXT_HELP, "%s%s has no option %s",
		o->command ? "" : "od-runtime", o->command ? o->command->name : "", word);
}

/*
 * The option of a word with letters, which may begin with several flags (-it), and the
 * value that is joined to it. All flags but the last are set. NULL: there is none.
 */
static const struct option *options_find_letters(
	struct options *o, const char *word, const char **value)
{
	for (const char *p = word + 1;; p++) {
		const struct option *opt = options_find(o, (struct str){0}, *p);

		*value = NULL;
		if (!opt || !p[1])
			return opt;
		if (opt->kind != OPTION_FLAG) {
			*value = p + 1 + (p[1] == '=');
			return opt;
		}
		if (options_set_value(o, opt, NULL))
			return NULL;
	}
}

/* The option that the word begins with, and the value that is joined to it. */
static const struct option *options_find_word(
	struct options *o, const char *word, const char **value)
{
	struct str rest = str_skip(str_c(word), 2), name;

	*value = NULL;
	if (word[1] != '-')
		return options_find_letters(o, word, value);
	name = str_cut(&rest, '=');
	if (name.n + 2 < strlen(word))
		*value = rest.p;
	return options_find(o, name, '\0');
}

/* Reads the option at argv[*i]; *i is advanced if its value is the next word. */
static int options_read_option(struct options *o, int argc, char **argv, int *i)
{
	const char *value;
	const struct option *opt = options_find_word(o, argv[*i], &value);

	if (!opt)
		return options_fail_option(o, argv[*i]);
	if (opt->kind == OPTION_FLAG && value)
		return out_fail_usage(NEXT_HELP, "--%s takes no value", opt->name);
	if (opt->default_choice && !value)
		value = options_has_choice(opt, *i + 1 < argc ? argv[*i + 1] : NULL)
			? argv[++*i]
			: opt->choices[opt->default_choice];
	if (opt->kind != OPTION_FLAG && !value) {
		if (*i + 1 >= argc)
			return out_fail_usage(NEXT_HELP, "--%s needs a value", opt->name);
		value = argv[++*i];
	}
	if (opt->commands != FOR_ALL && !o->specific)
		o->specific = opt->name;
	return options_set_value(o, opt, value);
}

static int options_read_operand(struct options *o, const char *word)
{
	if (!o->command) {
		o->command = options_find_command(str_c(word));
		if (!o->command)
			return out_fail_usage(NEXT_HELP, "there is no command %s", word);
		out_set_command(o->command->name);
		return 0;
	}
	if (o->operand_n ==
		(o->command->variadic ? OPTION_OPERANDS_MAX : o->command->operands))
		return out_fail_usage(o->command->argv
				? "a command for the sandbox stands behind --"
				: NEXT_HELP,
			"one word too many: %s", word);
	o->operand[o->operand_n++] = word;
	return 0;
}

static int options_check_image(const char *name)
{
	const char *why;
	struct ref ref;

	if (ref_parse(&ref, str_c(name), &why) == 0)
		return 0;
	return out_fail_usage(
		"names look like debian:12, host:5000/a/b:tag, name@sha256:...",
		"'%s' is not the name of an image: %s", name, why);
}

static int options_check_sandbox(const char *name)
{
	if (state_is_name(str_c(name)))
		return 0;
	return out_fail_usage(
		"two characters or more: a letter or digit, then letters, digits, _ . -",
		"'%s' cannot be the name of a sandbox", name);
}

/* SANDBOX:PATH; a colon after a slash belongs to a path. */
bool options_is_remote(const char *operand)
{
	size_t colon = strcspn(operand, ":/");

	return colon && operand[colon] == ':';
}

/* Checks the name in SANDBOX:PATH. */
static int options_check_remote(const char *remote)
{
	if (state_is_name(str_make(remote, strcspn(remote, ":"))))
		return 0;
	return out_fail_usage(NEXT_HELP, "no sandbox can have the name in '%s'", remote);
}

static int options_check_copy(const struct options *o)
{
	const char *from = o->operand[0], *to = o->operand[1];
	const char *remote = options_is_remote(from) ? from : to;

	if (options_is_remote(from) == options_is_remote(to))
		return out_fail_usage("as in: cp box:/etc/hosts . or cp ./src box:/work",
			"cp copies from a sandbox or to one, so that one of the two is "
			"SANDBOX:PATH");
	return options_check_remote(remote);
}

static int options_check_place(const struct options *o)
{
	const char *place = o->operand[0];

	if (!options_is_remote(place))
		return options_check_sandbox(place);
	if (o->operand_n > 1)
		return out_fail_usage("as in: ls box:/etc or ls box /etc",
			"%s names a folder already, and %s is one too many", place,
			o->operand[1]);
	return options_check_remote(place);
}

static int options_check_names(const struct options *o)
{
	size_t named = o->command->variadic ? o->operand_n : 1;
	int r = 0;

	/* With --output both operands are places of images; opening them checks them. */
	if (o->command->subject == SUBJECT_IMAGE && o->operand_n && !o->output)
		r = options_check_image(o->operand[0]);
	else if (o->command->subject == SUBJECT_COPY)
		r = options_check_copy(o);
	else if (o->command->subject == SUBJECT_PLACE)
		r = options_check_place(o);
	else if (o->command->subject == SUBJECT_SANDBOX)
		for (size_t i = 0; i < named && !r; i++)
			r = options_check_sandbox(o->operand[i]);
	if (!r && o->name)
		r = options_check_sandbox(o->name);
	return r;
}

static int options_check(const struct options *o)
{
	const struct command *c = o->command;
	size_t plugin = 0;

	if (!c)
		return out_fail_usage(NEXT_HELP, "no command given");
	if (o->operand_n + c->last_optional < c->operands ||
		(!o->argc && c->argv == ARGV_REQUIRED))
		return out_fail_usage(NEXT_HELP, "%s needs %s", c->name, c->args);
	if (o->argc && c->argv == ARGV_NONE)
		return out_fail_usage(NEXT_HELP, "%s takes nothing behind --", c->name);
	if ((o->ca || o->realm || o->plain_http || o->verify) && !o->output)
		return out_fail_usage(NEXT_HELP,
			"--ca, --plain-http, --realm and --verify are for images in "
			"--output");
	if (o->tag && (o->build_folder || o->dry_run))
		return out_fail_usage("leave --tag out",
			"--tag needs an image, and --build-folder and --dry-run make "
			"none");
	if (o->output &&
		(o->extra_deps || o->build_folder || o->dry_run ||
			o->via != INJECTION_AUTO))
		return out_fail_usage("leave --output out",
			"--extra-deps, --build-folder, --dry-run and --via need an "
			"engine");
	if (o->output && options_next(o, LIST_PLUGIN, &plugin))
		return out_fail_usage(
			"leave --output out", "--plugin needs an engine to build with");
	if (o->busybox && o->no_busybox)
		return out_fail_usage(
			NEXT_HELP, "--busybox and --no-busybox contradict each other");
	return options_check_names(o);
}

/* After the last operand, a word that is no option begins the command. */
static bool options_is_argv_start(const struct options *o, const char *word)
{
	const struct command *c = o->command;

	return c && c->argv != ARGV_NONE && o->operand_n == c->operands &&
		(word[0] != '-' || !word[1]);
}

int options_read(struct options *o, int argc, char **argv)
{
	bool plain = false; /* after -- there are no options */

	*o = (struct options){.pull = PULL_MISSING,
		.timeout_start = START_SECONDS,
		.keep = INJECT_KEEP};
	for (int i = 1; i < argc; i++) {
		bool dashes = strcmp(argv[i], "--") == 0;
		int r;

		if (dashes && o->command && o->operand_n < o->command->operands) {
			plain = true;
			continue;
		}
		if (dashes || options_is_argv_start(o, argv[i])) {
			o->argv = argv + i + dashes;
			o->argc = (size_t)(argc - i - dashes);
			break;
		}
		/* A single "-" is the standard input. */
		r = !plain && argv[i][0] == '-' && argv[i][1]
			? options_read_option(o, argc, argv, &i)
			: options_read_operand(o, argv[i]);
		if (r)
			return r;
	}
	return o->help || o->version ? 0 : options_check(o);
}
