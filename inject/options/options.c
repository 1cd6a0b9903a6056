#include "inject/options/options.h"

#include "inject/console/out.h"
#include "inject/names/ref.h"
#include "inject/names/state.h"
#include "inject/options/options_rows.h"
#include "limits.h"

#include <errno.h>

/* The values of all lists are in it, and the struct of the command's options. */
enum { ARENA_MAX = 64 << 10 };

void option_walk_begin(struct option_walk *w, const struct command *c)
{
	*w = (struct option_walk){.level[0].next = common_options};
	if (c && c->options)
		w->level[++w->depth].next = c->options;
}

/* The next row: an option, or a set, whose rows follow. NULL after the last one. */
static const struct option *option_walk_step(struct option_walk *w)
{
	const struct option *row;

	do {
		row = w->level[w->depth].next++;
		w->base = w->level[w->depth].base;
		w->is_common = !w->depth;
		if (row->set) {
			w->level[++w->depth].next = row->set->options;
			w->level[w->depth].base = w->base + row->at;
		}
		if (row->name || row->set)
			return row;
	} while (w->depth--);
	return NULL;
}

const struct option *option_walk_next(struct option_walk *w)
{
	const struct option *row;

	do
		row = option_walk_step(w);
	while (row && !row->name);
	return row;
}

void *option_walk_values(const struct option_walk *w, struct command_line *line)
{
	return w->is_common ? (void *)line : (char *)line->options + w->base;
}

static const struct command *options_find_command(struct str name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (str_eq(name, str_c((*c)->name)))
			return *c;
	return NULL;
}

/* An option of the command line, and the struct for its value. */
struct option_match {
	const struct option *option;
	void *values;
};

/*
 * Finds an option of the command, or, before the command, one that all commands have. By
 * letter, or, if that is NUL, by name.
 */
static bool options_find(struct command_line *line, struct str name, char letter,
	struct option_match *match)
{
	const struct option *opt;
	struct option_walk w;

	option_walk_begin(&w, line->command);
	while ((opt = option_walk_next(&w)))
		if (letter ? opt->letter == letter : str_eq(name, str_c(opt->name)))
			break;
	*match = (struct option_match){opt, opt ? option_walk_values(&w, line) : NULL};
	if (opt && !w.is_common && !line->specific)
		line->specific = opt->name;
	return opt;
}

static int options_fail_option(const struct command_line *line, const char *word)
{
	return out_fail_usage(NEXT_HELP, "%s%s has no option %s",
		line->command ? "" : "od-runtime",
		line->command ? line->command->name : "", word);
}

/*
 * Finds the option of a word with letters, which may begin with several flags (-it), and
 * the value that is joined to it. All flags but the last are set. ERR_TYPE: there is no
 * such option.
 */
static int options_find_letters(struct command_line *line, const char *word,
	struct option_match *match, const char **value)
{
	for (const char *p = word + 1;; p++) {
		int r;

		*value = NULL;
		if (!options_find(line, (struct str){0}, *p, match))
			return ERR_TYPE;
		if (!p[1])
			return 0;
		if (match->option->kind != OPTION_FLAG) {
			*value = p + 1 + (p[1] == '=');
			return 0;
		}
		r = options_set_value(line, match->values, match->option, NULL);
		if (r)
			return r;
	}
}

/* Finds the option that the word begins with, and the value that is joined to it. */
static int options_find_word(struct command_line *line, const char *word,
	struct option_match *match, const char **value)
{
	struct str rest = str_skip(str_c(word), 2), name;

	*value = NULL;
	if (word[1] != '-')
		return options_find_letters(line, word, match, value);
	name = str_cut(&rest, '=');
	if (name.n + 2 < strlen(word))
		*value = rest.p;
	return options_find(line, name, '\0', match) ? 0 : ERR_TYPE;
}

/* Reads the option at argv[*i]; *i is advanced if its value is the next word. */
static int options_read_option(struct command_line *line, int argc, char **argv, int *i)
{
	struct option_match match;
	const struct option *opt;
	const char *value;
	int r = options_find_word(line, argv[*i], &match, &value);

	if (r)
		return r == ERR_TYPE ? options_fail_option(line, argv[*i]) : r;
	opt = match.option;
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
	return options_set_value(line, match.values, opt, value);
}

/* Makes the struct of the command's options, with the values that they begin with. */
static int options_begin_command(struct command_line *line, const struct command *c)
{
	const struct option *opt;
	struct option_walk w;
	int r = 0;

	line->command = c;
	out_set_command(c->name);
	if (!c->options)
		return 0;
	line->options = arena_alloc(&line->arena, c->options_size);
	if (!line->options)
		return -ENOMEM;
	option_walk_begin(&w, c);
	while (!r && (opt = option_walk_next(&w)))
		if (opt->initial)
			r = options_set_value(
				line, option_walk_values(&w, line), opt, opt->by_default);
	return r;
}

static int options_read_operand(struct command_line *line, const char *word)
{
	if (!line->command) {
		const struct command *c = options_find_command(str_c(word));

		return c
			? options_begin_command(line, c)
			: out_fail_usage(NEXT_HELP, "od-runtime has no command %s", word);
	}
	if (line->operand_n ==
		(line->command->variadic ? OPTION_OPERANDS_MAX : line->command->operands))
		return out_fail_usage(line->command->argv
				? "put -- before a command for the sandbox"
				: NEXT_HELP,
			"unexpected argument: %s", word);
	line->operand[line->operand_n++] = word;
	return 0;
}

int options_check_image(const char *name)
{
	const char *why;
	struct ref ref;

	if (ref_parse(&ref, str_c(name), &why) == 0)
		return 0;
	return out_fail_usage(
		"names look like debian:12, host:5000/a/b:tag, name@sha256:...",
		"'%s' is not the name of an image: %s", name, why);
}

int options_check_sandbox(const char *name)
{
	if (state_is_name(str_c(name)))
		return 0;
	return out_fail_usage("a name has two or more characters: a letter or digit, "
			      "then letters, digits, _ . -",
		"'%s' is not a valid name of a sandbox", name);
}

static int options_check_sets(const struct command_line *line)
{
	const struct option *row;
	struct option_walk w;
	int r = 0;

	option_walk_begin(&w, line->command);
	while (!r && (row = option_walk_step(&w)))
		if (row->set && row->set->check)
			r = row->set->check((char *)line->options + w.base + row->at);
	return r;
}

static int options_check_subject(const struct command_line *line)
{
	size_t named = line->command->variadic ? line->operand_n : 1;
	int r = 0;

	if (line->command->subject == SUBJECT_IMAGE && line->operand_n)
		r = options_check_image(line->operand[0]);
	else if (line->command->subject == SUBJECT_SANDBOX)
		for (size_t i = 0; i < named && !r; i++)
			r = options_check_sandbox(line->operand[i]);
	return r;
}

static int options_check(const struct command_line *line)
{
	const struct command *c = line->command;
	int r;

	if (!c)
		return out_fail_usage(NEXT_HELP, "no command is given");
	if (line->operand_n + c->last_optional < c->operands ||
		(!line->argc && c->argv == ARGV_REQUIRED))
		return out_fail_usage(NEXT_HELP, "%s needs %s", c->name, c->usage);
	if (line->argc && c->argv == ARGV_NONE)
		return out_fail_usage(NEXT_HELP, "%s takes no command after --", c->name);
	r = c->check ? c->check(line) : options_check_subject(line);
	return r ? r : options_check_sets(line);
}

/* After the last operand, a word that is no option begins the command. */
static bool options_is_argv_start(const struct command_line *line, const char *word)
{
	const struct command *c = line->command;

	return c && c->argv != ARGV_NONE && line->operand_n == c->operands &&
		(word[0] != '-' || !word[1]);
}

int options_read(struct command_line *line, int argc, char **argv)
{
	bool plain = false; /* after -- there are no options */

	*line = (struct command_line){0};
	arena_init(&line->arena, ARENA_MAX);
	for (int i = 1; i < argc; i++) {
		bool dashes = strcmp(argv[i], "--") == 0;
		int r;

		if (dashes && line->command &&
			line->operand_n < line->command->operands) {
			plain = true;
			continue;
		}
		if (dashes || options_is_argv_start(line, argv[i])) {
			line->argv = argv + i + dashes;
			line->argc = (size_t)(argc - i - dashes);
			break;
		}
		/* A single "-" is the standard input. */
		r = !plain && argv[i][0] == '-' && argv[i][1]
			? options_read_option(line, argc, argv, &i)
			: options_read_operand(line, argv[i]);
		if (r)
			return r;
	}
	return line->help || line->version ? 0 : options_check(line);
}

void options_free(struct command_line *line)
{
	arena_reset(&line->arena);
	*line = (struct command_line){0};
}
