#include "inject/options/options.h"

#include "inject/console/out.h"
#include "inject/names/ref.h"
#include "inject/names/state.h"
#include "inject/options/options_rows.h"
#include "limits.h"

static const struct {
	const struct option *rows;
	const size_t *n;
} tables[] = {
	{options_of_image, &options_of_image_n},
	{options_of_sandbox, &options_of_sandbox_n},
	{options_of_engine, &options_of_engine_n},
	{options_of_command, &options_of_command_n},
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
	for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
		if (i < *tables[t].n)
			return &tables[t].rows[i];
		i -= *tables[t].n;
	}
	return NULL;
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
			return out_fail_usage(
				NEXT_HELP, "od-runtime has no command %s", word);
		out_set_command(o->command->name);
		return 0;
	}
	if (o->operand_n ==
		(o->command->variadic ? OPTION_OPERANDS_MAX : o->command->operands))
		return out_fail_usage(o->command->argv
				? "put -- before a command for the sandbox"
				: NEXT_HELP,
			"unexpected argument: %s", word);
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
	return out_fail_usage("a name has two or more characters: a letter or digit, "
			      "then letters, digits, _ . -",
		"'%s' is not a valid name of a sandbox", name);
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
	return out_fail_usage(
		NEXT_HELP, "'%s' does not begin with a valid name of a sandbox", remote);
}

static int options_check_copy(const struct options *o)
{
	const char *from = o->operand[0], *to = o->operand[1];
	const char *remote = options_is_remote(from) ? from : to;

	if (options_is_remote(from) == options_is_remote(to))
		return out_fail_usage(
			"give for example: cp box:/etc/hosts . or cp ./src box:/work",
			"exactly one of the two arguments of cp must be SANDBOX:PATH");
	return options_check_remote(remote);
}

static int options_check_place(const struct options *o)
{
	const char *place = o->operand[0];

	if (!options_is_remote(place))
		return options_check_sandbox(place);
	if (o->operand_n > 1)
		return out_fail_usage("give for example: ls box:/etc or ls box /etc",
			"two folders are given: '%s' and '%s'", place, o->operand[1]);
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
		return out_fail_usage(NEXT_HELP, "no command is given");
	if (o->operand_n + c->last_optional < c->operands ||
		(!o->argc && c->argv == ARGV_REQUIRED))
		return out_fail_usage(NEXT_HELP, "%s needs %s", c->name, c->args);
	if (o->argc && c->argv == ARGV_NONE)
		return out_fail_usage(NEXT_HELP, "%s takes no command after --", c->name);
	if ((o->ca || o->realm || o->plain_http || o->verify) && !o->output)
		return out_fail_usage(NEXT_HELP,
			"--ca, --plain-http, --realm and --verify need --output");
	if (o->tag && (o->build_folder || o->dry_run))
		return out_fail_usage("leave --tag out",
			"--tag cannot be combined with --build-folder or --dry-run, "
			"which make no image");
	if (o->output &&
		(o->extra_deps || o->build_folder || o->dry_run ||
			o->via != INJECTION_AUTO))
		return out_fail_usage("leave --output out",
			"--extra-deps, --build-folder, --dry-run and --via need an "
			"engine, which --output does not use");
	if (o->output && options_next(o, LIST_PLUGIN, &plugin))
		return out_fail_usage("leave --output out",
			"--plugin needs an engine, which --output does not use");
	if (o->busybox && o->no_busybox)
		return out_fail_usage(
			NEXT_HELP, "--busybox and --no-busybox cannot be combined");
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
