/* Completion scripts, from the tables of options and commands. */
#include "inject/options/manual.h"

/* Writes text for single quotes of bash and zsh, and escapes the given characters. */
static void complete_quote(struct buf *out, const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_puts(out, "'\\''");
		else if (strchr(escaped, *text))
			buf_fmt(out, "\\%c", *text);
		else
			buf_putc(out, *text);
	}
}

/* The text of an option, valid until the buffer is freed. */
static const char *complete_read_help(const struct option *o, struct buf *text)
{
	const char *help;

	buf_reset(text);
	manual_write_help(o, text);
	help = buf_cstr(text);
	return help ? help : "";
}

static void complete_write_names(struct buf *out, const char *separator)
{
	for (const struct command *const *c = commands; *c; c++)
		buf_fmt(out, "%s%s", c == commands ? "" : separator, (*c)->name);
}

/* The commands that list the possible operands, in any shell. */
static const char *const operand_lists[] = {
	[SUBJECT_SANDBOX] = "od-runtime ps -q 2>/dev/null",
	[SUBJECT_PLACE] = "od-runtime ps -q 2>/dev/null",
	[SUBJECT_COPY] = "od-runtime ps -q 2>/dev/null | sed \"s/\\$/:/\"",
	[SUBJECT_WORD] = "echo ",
};

static bool complete_has_operands(const struct command *c)
{
	return c->subject < ARRAY_LEN(operand_lists) && operand_lists[c->subject];
}

/* Appends text with the command in the place of its "%", if the command has operands. */
static void complete_write_operands(
	const struct command *c, const char *text, struct buf *out)
{
	size_t n = strcspn(text, "%");

	if (!complete_has_operands(c))
		return;
	buf_put(out, text, n);
	buf_puts(out, operand_lists[c->subject]);
	if (c->words)
		buf_puts(out, c->words);
	buf_puts(out, text + n + 1);
}

/* --- bash ----------------------------------------------------------------------- */

static void complete_bash_value(const struct option *o, struct buf *out)
{
	buf_fmt(out, "\t\t--%s", o->name);
	if (o->letter)
		buf_fmt(out, "|-%c", o->letter);
	buf_puts(out, ") ");
	if (o->choices) {
		buf_puts(out, "words='");
		for (size_t i = 0; o->choices[i]; i++)
			buf_fmt(out, "%s%s", i ? " " : "", o->choices[i]);
		buf_puts(out, "' ;;\n");
	} else if (o->offer == OFFER_FILES) {
		buf_puts(out, "COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
	} else {
		buf_puts(out, "return ;;\n");
	}
}

static void complete_bash_command(const struct command *c, struct buf *out)
{
	const struct option *o;
	struct option_walk w;
	const char *separator = "";

	buf_fmt(out, "\t%s)\n\t\tcase $prev in\n", c->name);
	option_walk_begin(&w, c);
	while ((o = option_walk_next(&w)))
		if (o->value)
			complete_bash_value(o, out);
	buf_puts(out, "\t\tesac\n\t\t[[ $cur == -* ]] && words='");
	option_walk_begin(&w, c);
	for (; (o = option_walk_next(&w)); separator = " ")
		buf_fmt(out, "%s--%s", separator, o->name);
	buf_puts(out, "'\n");
	complete_write_operands(c, "\t\t[[ $cur == -* ]] || words=$(%)\n", out);
	if (c->subject == SUBJECT_COPY)
		buf_puts(out,
			"\t\t[[ $cur == -* ]] || COMPREPLY=($(compgen -f -- "
			"\"$cur\"))\n");
	buf_puts(out, "\t\t;;\n");
}

/* bash splits at "=": "--pull=" comes as three words. */
static void complete_write_bash(struct buf *out)
{
	buf_puts(out,
		"# bash completion for od-runtime, made by \"od-runtime completion "
		"bash\"\n"
		"_od_runtime()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tlocal i command= words=\n\tCOMPREPLY=()\n"
		"\tif [[ $cur == = ]]; then\n\t\tcur=\n"
		"\telif [[ $prev == = ]]; "
		"then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\tcase ${COMP_WORDS[i]} in\n\t\t--) return ;;\n\t\t");
	complete_write_names(out, "|");
	buf_puts(out,
		") command=${COMP_WORDS[i]}; break ;;\n"
		"\t\tesac\n\tdone\n"
		"\tcase $command in\n\t'') words='");
	complete_write_names(out, " ");
	buf_puts(out, "' ;;\n");
	for (const struct command *const *c = commands; *c; c++)
		complete_bash_command(*c, out);
	buf_puts(out,
		"\tesac\n"
		"\tCOMPREPLY+=($(compgen -W \"$words\" -- \"$cur\"))\n"
		"}\ncomplete -F _od_runtime od-runtime\n");
}

/* --- zsh ------------------------------------------------------------------------ */

static void complete_zsh_option(const struct option *o, struct buf *out)
{
	const char *star = o->kind == OPTION_LIST ? "*" : "";
	struct buf text = BUF_INIT(INJECT_TEXT_MAX);
	const char *help = complete_read_help(o, &text);

	for (int letter = o->letter ? 1 : 0; letter >= 0; letter--) {
		buf_puts(out, " \\\n\t\t\t'");
		if (letter)
			buf_fmt(out, "%s-%c%s", star, o->letter, o->value ? "+" : "");
		else
			buf_fmt(out, "%s--%s%s", star, o->name, o->value ? "=" : "");
		buf_putc(out, '[');
		complete_quote(out, help, "[]:\\");
		buf_putc(out, ']');
		if (o->value) {
			buf_puts(out, o->default_choice ? "::" : ":");
			complete_quote(out, o->value, "[]:\\");
			buf_putc(out, ':');
		}
		if (o->choices) {
			buf_putc(out, '(');
			for (size_t i = 0; o->choices[i]; i++)
				buf_fmt(out, "%s%s", i ? " " : "", o->choices[i]);
			buf_putc(out, ')');
		} else if (o->offer == OFFER_FILES) {
			buf_puts(out, "_files");
		}
		buf_putc(out, '\'');
	}
	buf_free(&text);
}

static void complete_zsh_command(const struct command *c, struct buf *out)
{
	const struct option *o;
	struct option_walk w;

	buf_fmt(out, "\t%s)\n\t\t_arguments -s", c->name);
	option_walk_begin(&w, c);
	while ((o = option_walk_next(&w)))
		complete_zsh_option(o, out);
	complete_write_operands(c,
		c->subject == SUBJECT_COPY
			? " \\\n\t\t\t'*:path:{ compadd -S \"\" -- $(%); _files }'"
			: " \\\n\t\t\t'*:name:{ compadd -- $(%) }'",
		out);
	buf_puts(out, "\n\t\t;;\n");
}

static void complete_write_zsh(struct buf *out)
{
	buf_puts(out,
		"#compdef od-runtime\n"
		"# made by \"od-runtime completion zsh\"\n"
		"_od-runtime()\n{\n\tlocal context state state_descr line\n"
		"\ttypeset -A opt_args\n"
		"\t_arguments -C '1:command:->command' '*::argument:->argument'\n"
		"\tif [[ $state == command ]]; then\n\t\tlocal -a subcommands=(\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_fmt(out, "\t\t\t'%s:", (*c)->name);
		complete_quote(out, (*c)->purpose, ":\\");
		buf_puts(out, "'\n");
	}
	buf_puts(out,
		"\t\t)\n\t\t_describe command subcommands\n\t\treturn\n\tfi\n\tcase "
		"$words[1] "
		"in\n");
	for (const struct command *const *c = commands; *c; c++)
		complete_zsh_command(*c, out);
	buf_puts(out,
		"\tesac\n}\n"
		"if [[ $funcstack[1] == _od-runtime ]]; then\n\t_od-runtime \"$@\"\n"
		"else\n\tcompdef _od-runtime od-runtime\nfi\n");
}

/* --- fish ----------------------------------------------------------------------- */

static void complete_fish_quote(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *text);
	}
}

static void complete_fish_option(
	const struct option *o, const struct command *c, struct buf *out)
{
	struct buf text = BUF_INIT(INJECT_TEXT_MAX);

	buf_fmt(out, "complete -c od-runtime -n '__fish_seen_subcommand_from %s' -l %s",
		c->name, o->name);
	if (o->letter)
		buf_fmt(out, " -s %c", o->letter);
	if (o->choices) {
		buf_puts(out, " -x -a '");
		for (size_t i = 0; o->choices[i]; i++)
			buf_fmt(out, "%s%s", i ? " " : "", o->choices[i]);
		buf_putc(out, '\'');
	} else if (o->value) {
		buf_puts(out, o->offer == OFFER_FILES ? " -r -F" : " -x");
	}
	buf_puts(out, " -d '");
	complete_fish_quote(out, complete_read_help(o, &text));
	buf_puts(out, "'\n");
	buf_free(&text);
}

static void complete_fish_command(const struct command *c, struct buf *out)
{
	const struct option *o;
	struct option_walk w;

	buf_fmt(out, "complete -c od-runtime -n __fish_use_subcommand -a %s -d '",
		c->name);
	complete_fish_quote(out, c->purpose);
	buf_puts(out, "'\n");
	if (complete_has_operands(c)) {
		buf_fmt(out,
			"complete -c od-runtime -n '__fish_seen_subcommand_from %s' -a "
			"'(",
			c->name);
		complete_write_operands(c, "% | string split \" \")'\n", out);
	}
	if (c->subject == SUBJECT_COPY)
		buf_fmt(out,
			"complete -c od-runtime -n '__fish_seen_subcommand_from "
			"%s' -F\n",
			c->name);
	option_walk_begin(&w, c);
	while ((o = option_walk_next(&w)))
		complete_fish_option(o, c, out);
}

static void complete_write_fish(struct buf *out)
{
	buf_puts(out,
		"# fish completion for od-runtime, made by \"od-runtime completion "
		"fish\"\n"
		"complete -c od-runtime -f\n");
	for (const struct command *const *c = commands; *c; c++)
		complete_fish_command(*c, out);
}

int complete_write(const char *shell, struct buf *out)
{
	static const struct {
		const char *name;
		void (*write)(struct buf *out);
	} shells[] = {{"bash", complete_write_bash}, {"zsh", complete_write_zsh},
		{"fish", complete_write_fish}};

	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		if (strcmp(shells[i].name, shell) != 0)
			continue;
		shells[i].write(out);
		return out->err;
	}
	return ERR_TYPE;
}
