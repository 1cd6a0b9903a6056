#include "inject/options.h"

#include "inject/out.h"
#include "inject/ref.h"
#include "inject/state.h"
#include "limits.h"

#include <stddef.h>
#include <stdio.h>

#define NEXT_HELP "od-runtime --help"

enum kind { FLAG, TEXT, NUMBER };

static const struct option {
	const char *name;
	const char *value; /* what it is called in the help; NULL for flags */
	const char *help;
	char letter;
	enum kind kind;
	uint64_t min, max; /* of a number */
	size_t at;         /* where in struct options it goes */
	size_t seen;       /* a bool to set as well; 0 for none */
	unsigned commands;
} table[] = {
	{"host", "URL", "unix:///path of the engine; else DOCKER_HOST, else the usual",
		.kind = TEXT, .at = offsetof(struct options, host), .commands = FOR_ALL},
	{"json", NULL, "print JSON for programs", .kind = FLAG,
		.at = offsetof(struct options, json), .commands = FOR_ALL},
	{"timings", NULL, "print milliseconds per step on stderr", .kind = FLAG,
		.at = offsetof(struct options, timings), .commands = FOR_BUILD | FOR_RUN},
	{"client", "PATH",
		"the od-runtime-client to put in; else OD_RUNTIME_CLIENT,"
		" else the one beside this program",
		.kind = TEXT, .at = offsetof(struct options, client),
		.commands = FOR_BUILD | FOR_DOCKERFILE | FOR_RUN},
	{"busybox", "PATH",
		"the static busybox to put in if IMAGE has no shell; else od-busybox"
		" beside this program, /usr/lib/od-runtime/busybox, /bin/busybox",
		.kind = TEXT, .at = offsetof(struct options, busybox),
		.commands = FOR_BUILD | FOR_DOCKERFILE | FOR_RUN},
	{"no-busybox", NULL, "leave an IMAGE without a shell as it is", .kind = FLAG,
		.at = offsetof(struct options, no_busybox),
		.commands = FOR_BUILD | FOR_DOCKERFILE | FOR_RUN},
	{"pull", NULL, "let the engine fetch IMAGE if it is not there", .kind = FLAG,
		.at = offsetof(struct options, pull),
		.commands = FOR_BUILD | FOR_DOCKERFILE | FOR_RUN},
	{"force", NULL, "build even if the result is there already", .kind = FLAG,
		.at = offsetof(struct options, force), .commands = FOR_BUILD | FOR_RUN},
	{"rm", NULL, "remove the sandbox once it has stopped, or CMD has ended",
		.kind = FLAG, .at = offsetof(struct options, remove),
		.commands = FOR_RUN},
	{"name", "NAME", "of the sandbox; else od-XXXXXXXX", .kind = TEXT,
		.at = offsetof(struct options, name), .commands = FOR_RUN},
	{"port", "N", "of 127.0.0.1 to publish it on; else a free one", .kind = NUMBER,
		.min = 1, .max = 65535, .at = offsetof(struct options, port),
		.commands = FOR_RUN},
	{"working-dir", "DIR", "of the sandbox; else what the image says, else /",
		.kind = TEXT, .at = offsetof(struct options, working_dir),
		.commands = FOR_RUN},
	{"username", "NAME", "of the user in the sandbox", .kind = TEXT,
		.at = offsetof(struct options, username), .commands = FOR_RUN},
	{"user-id", "N", "of that user", .kind = NUMBER, .max = UINT32_MAX - 1,
		.at = offsetof(struct options, user_id),
		.seen = offsetof(struct options, has_user_id), .commands = FOR_RUN},
	{"timeout-start", "SECONDS", "to wait until the sandbox is ready; else 30",
		.kind = NUMBER, .min = 1, .max = SECONDS_MAX,
		.at = offsetof(struct options, timeout_start), .commands = FOR_RUN},
	{"timeout", "SECONDS", "to wait for CMD, which then goes on; else for ever",
		.kind = NUMBER, .min = 1, .max = SECONDS_MAX,
		.at = offsetof(struct options, timeout), .commands = FOR_RUN | FOR_EXEC},
	{"follow", NULL, "go on until the sandbox stops", .letter = 'f', .kind = FLAG,
		.at = offsetof(struct options, follow), .commands = FOR_LOGS},
	{"tail", "N", "the last N lines only", .kind = NUMBER, .max = INT32_MAX,
		.at = offsetof(struct options, tail),
		.seen = offsetof(struct options, has_tail), .commands = FOR_LOGS},
	{"time", "SECONDS", "to let it end by itself; else 10", .letter = 't',
		.kind = NUMBER, .max = 3600, .at = offsetof(struct options, time),
		.commands = FOR_STOP},
	{"force", NULL, "stop it first if it runs", .letter = 'f', .kind = FLAG,
		.at = offsetof(struct options, force), .commands = FOR_RM},
	{"help", NULL, "this text", .letter = 'h', .kind = FLAG,
		.at = offsetof(struct options, help), .commands = FOR_ALL},
	{"version", NULL, "print the version", .kind = FLAG,
		.at = offsetof(struct options, version), .commands = FOR_ALL},
};

static const struct command *find_command(struct str name)
{
	for (const struct command *c = commands; c->name; c++)
		if (str_eq(name, str_c(c->name)))
			return c;
	return NULL;
}

/* An option of the command, or, before one is known, of any. */
static const struct option *find(const struct options *o, struct str name, char letter)
{
	unsigned bit = o->command ? o->command->bit : FOR_ALL;

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (!(table[i].commands & bit))
			continue;
		if (letter ? table[i].letter == letter
			   : str_eq(name, str_c(table[i].name)))
			return &table[i];
	}
	return NULL;
}

static int set(struct options *o, const struct option *opt, const char *value)
{
	char *base = (char *)o;
	uint64_t n;

	switch (opt->kind) {
	case FLAG:
		*(bool *)(base + opt->at) = true;
		return 0;
	case TEXT:
		if (!*value)
			return out_fail_usage(NEXT_HELP, "--%s is empty", opt->name);
		*(const char **)(base + opt->at) = value;
		return 0;
	case NUMBER:
		if (str_u64(str_c(value), opt->max, &n) || n < opt->min)
			return out_fail_usage(NEXT_HELP,
				"--%s is '%s', not a number from %llu to %llu", opt->name,
				value, (unsigned long long)opt->min,
				(unsigned long long)opt->max);
		*(uint64_t *)(base + opt->at) = n;
		if (opt->seen)
			*(bool *)(base + opt->seen) = true;
		return 0;
	}
	return FAIL_BUG;
}

/* One option at argv[*i]; *i moves on when its value is the next word. */
static int read_option(struct options *o, int argc, char **argv, int *i)
{
	struct str word = str_c(argv[*i]), name;
	bool is_long = str_starts(word, STR("--"));
	const struct option *opt;
	const char *value = NULL;
	struct str rest = str_skip(word, is_long ? 2 : 1);

	name = str_cut(&rest, '=');
	if (is_long && name.n + 2 < word.n)
		value = rest.p;
	if (!is_long && word.n != 2)
		opt = NULL;
	else
		opt = find(o, name, is_long ? '\0' : word.p[1]);
	if (!opt)
		return out_fail_usage(NEXT_HELP, "%s%s has no option %s",
			o->command ? "" : "od-runtime",
			o->command ? o->command->name : "", argv[*i]);
	if (opt->kind == FLAG && value)
		return out_fail_usage(NEXT_HELP, "--%s takes no value", opt->name);
	if (opt->kind != FLAG && !value) {
		if (*i + 1 >= argc)
			return out_fail_usage(NEXT_HELP, "--%s needs a value", opt->name);
		value = argv[++*i];
	}
	return set(o, opt, value);
}

static int read_operand(struct options *o, const char *word)
{
	if (!o->command) {
		o->command = find_command(str_c(word));
		return o->command
			? 0
			: out_fail_usage(NEXT_HELP, "there is no command %s", word);
	}
	if (o->operand_n == o->command->operands)
		return out_fail_usage(o->command->words
				? "a command for the sandbox stands behind --"
				: NEXT_HELP,
			"one word too many: %s", word);
	o->operand[o->operand_n++] = word;
	return 0;
}

static int check_image(const char *name)
{
	const char *why;
	struct ref ref;

	if (ref_parse(&ref, str_c(name), &why) == 0)
		return 0;
	return out_fail_usage(
		"names look like debian:12, host:5000/a/b:tag, name@sha256:...",
		"'%s' is not the name of an image: %s", name, why);
}

static int check_sandbox(const char *name)
{
	if (state_is_name(str_c(name)))
		return 0;
	return out_fail_usage(
		"two characters or more: a letter or digit, then letters, digits, _ . -",
		"'%s' cannot be the name of a sandbox", name);
}

static int check_names(const struct options *o)
{
	int r = 0;

	if (o->command->subject == SUBJECT_IMAGE)
		r = check_image(o->operand[0]);
	else if (o->command->subject == SUBJECT_SANDBOX)
		r = check_sandbox(o->operand[0]);
	if (!r && o->name)
		r = check_sandbox(o->name);
	return r;
}

static int check(const struct options *o)
{
	const struct command *c = o->command;

	if (!c)
		return out_fail_usage(NEXT_HELP, "no command given");
	if (o->operand_n + c->fewer < c->operands)
		return out_fail_usage(NEXT_HELP, "%s needs %s", c->name, c->args);
	if (o->word_n && c->words == WORDS_NONE)
		return out_fail_usage(NEXT_HELP, "%s takes nothing behind --", c->name);
	if (!o->word_n && c->words == WORDS_MUST)
		return out_fail_usage(NEXT_HELP, "%s needs %s", c->name, c->args);
	if (o->busybox && o->no_busybox)
		return out_fail_usage(
			NEXT_HELP, "--busybox and --no-busybox contradict each other");
	return check_names(o);
}

int options_read(struct options *o, int argc, char **argv)
{
	*o = (struct options){.timeout_start = START_SECONDS, .time = STOP_SECONDS};
	for (int i = 1; i < argc; i++) {
		int r;

		if (strcmp(argv[i], "--") == 0) {
			o->words = argv + i + 1;
			o->word_n = (size_t)(argc - i - 1);
			break;
		}
		/* A single "-" is the standard input. */
		r = argv[i][0] == '-' && argv[i][1] ? read_option(o, argc, argv, &i)
						    : read_operand(o, argv[i]);
		if (r)
			return r;
	}
	return o->help || o->version ? 0 : check(o);
}

static void help_options(struct buf *b, unsigned bit, bool shared)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char left[64], letter[8] = "";

		if (!(table[i].commands & bit) ||
			(table[i].commands == FOR_ALL) != shared)
			continue;
		if (table[i].letter)
			snprintf(letter, sizeof(letter), "-%c, ", table[i].letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, table[i].name,
			table[i].value ? " " : "", table[i].value ? table[i].value : "");
		buf_fmt(b, "  %-24s %s\n", left, table[i].help);
	}
}

static void help_all(struct buf *b)
{
	buf_puts(b,
		"Usage: od-runtime COMMAND [OPTION...] [ARGUMENT...]\n"
		"Turns images into sandboxes that execute actions.\n\nCommands:\n");
	for (const struct command *c = commands; c->name; c++)
		buf_fmt(b, "  %-10s %s\n", c->name, c->help);
	buf_puts(b, "\nOptions of every command:\n");
	help_options(b, FOR_ALL, true);
	buf_puts(b,
		"\nEnvironment:\n"
		"  DOCKER_HOST              as --host\n"
		"  OD_RUNTIME_CLIENT        as --client\n"
		"  OD_STATE_DIR             where the keys of sandboxes are kept; else\n"
		"                           $XDG_STATE_HOME/od-runtime, else\n"
		"                           ~/.local/state/od-runtime\n"
		"\nExit codes:\n"
		"  0         done\n"
		"  100       the command line is wrong\n"
		"  101       a bug of od-runtime\n"
		"  111       the environment: no engine, no image, not ready, ...\n"
		"  124       exec and run: CMD still ran when --timeout ended\n"
		"  129 130 143  ended by SIGHUP, SIGINT, SIGTERM; nothing is left "
		"behind\n"
		"exec, and run with CMD, end with CMD's own code, 0 to 255, as ssh "
		"does.\n"
		"A CMD may choose one of the codes above; only those of od-runtime come\n"
		"with a line 'od-runtime: ...' on stderr.\n");
}

int options_help(const struct command *c)
{
	struct buf b = BUF_INIT(INJECT_TEXT_MAX);
	int r;

	if (c) {
		buf_fmt(&b, "Usage: od-runtime %s %s\n%s.\n\nOptions:\n", c->name,
			c->args, c->help);
		help_options(&b, c->bit, false);
		help_options(&b, c->bit, true);
	} else {
		help_all(&b);
	}
	r = out_buf(&b);
	buf_free(&b);
	return r;
}
