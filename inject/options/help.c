/* The output of --help: texts made from the tables. */
#include "inject/options/manual.h"

#include "inject/console/out.h"
#include "limits.h"

enum { HELP_COLUMN = 28, HELP_COLUMNS = 79 };

/* Writes the text at HELP_COLUMN, behind the term that begins at offset from. */
static void help_write_row(struct buf *b, size_t from, struct str text)
{
	size_t at = b->n - from;

	if (at + 2 > HELP_COLUMN) {
		buf_putc(b, '\n');
		at = 0;
	}
	manual_wrap_text(text, at, HELP_COLUMN, HELP_COLUMNS, b);
}

/* Writes a group of the options of c, or, for NULL, of every command. */
static void help_write_group(struct buf *b, const struct command *c,
	enum option_group group, const char *title)
{
	struct buf text = BUF_INIT(INJECT_TEXT_MAX);
	const struct option *o;
	struct option_walk w;

	buf_fmt(b, "\n%s:\n", title);
	option_walk_begin(&w, c);
	while ((o = option_walk_next(&w))) {
		size_t from = b->n;

		if (o->group != group)
			continue;
		buf_puts(b, o->letter ? "  " : "      ");
		manual_write_option(o, b);
		buf_reset(&text);
		manual_write_help(o, &text);
		help_write_row(b, from, buf_view(&text));
	}
	buf_free(&text);
}

static void help_write_rows(
	struct buf *b, const char *title, const struct manual_row *row)
{
	buf_fmt(b, "\n%s:\n", title);
	for (; row->name; row++) {
		size_t from = b->n;

		buf_fmt(b, "  %s", row->name);
		help_write_row(b, from, str_c(row->text));
	}
}

static void help_write_all(struct buf *b)
{
	buf_puts(b,
		"Usage: od-runtime COMMAND [OPTION...] [ARGUMENT...]\n\n"
		"od-runtime turns images into sandboxes that execute actions.\n\n"
		"Commands:\n");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			buf_fmt(b, "  %-10s %s\n", (*c)->name, (*c)->purpose);
	help_write_group(b, NULL, OPTION_GROUP_COMMON, "Options of every command");
	help_write_rows(b, "Environment", manual_environment);
	help_write_rows(b, "Exit codes", manual_exits);
	buf_puts(b, "\n\"od-runtime COMMAND --help\" prints the options of a command.\n");
}

static void help_write_command(struct buf *b, const struct command *c)
{
	struct buf purpose = BUF_INIT(INJECT_TEXT_MAX);

	buf_fmt(b, "Usage: od-runtime %s %s\n\n", c->name, c->usage);
	manual_write_sentence(&purpose, c->purpose);
	if (c->more)
		buf_fmt(&purpose, " %s", c->more);
	manual_wrap_text(buf_view(&purpose), 0, 0, HELP_COLUMNS, b);
	buf_reset(&purpose);
	for (unsigned g = OPTION_GROUP_IMAGE; g < OPTION_GROUPS; g++) {
		const char *title = manual_group_title(c, (enum option_group)g);

		if (title)
			help_write_group(b, c, (enum option_group)g, title);
	}
	manual_write_forms(c, &purpose);
	if (purpose.n) {
		buf_putc(b, '\n');
		manual_wrap_text(buf_view(&purpose), 0, 0, HELP_COLUMNS, b);
	}
	buf_free(&purpose);
	buf_fmt(b, "\n%s:\n", c->examples[1] ? "Examples" : "Example");
	for (size_t i = 0; i < COMMAND_EXAMPLES_MAX && c->examples[i]; i++)
		buf_fmt(b, "  %s\n", c->examples[i]);
}

int options_print_help(const struct command *c)
{
	struct buf b = BUF_INIT(INJECT_TEXT_MAX);
	int r;

	if (c)
		help_write_command(&b, c);
	else
		help_write_all(&b);
	r = out_write_buf(&b);
	buf_free(&b);
	return r;
}
