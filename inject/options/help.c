/* The output of --help: texts made from the tables. */
#include "inject/options/manual.h"

#include "inject/console/out.h"
#include "limits.h"

enum { HELP_COLUMN = 28, HELP_COLUMNS = 79 };

static void help_pad_column(struct buf *out, size_t *at, size_t column)
{
	for (; *at < column; (*at)++)
		buf_putc(out, ' ');
}

/* Writes the text in lines of at most HELP_COLUMNS; at is the current column. */
static void help_wrap_text(struct str text, size_t at, struct buf *out)
{
	bool begun = at < HELP_COLUMN;

	while (text.n) {
		struct str word = str_cut(&text, ' ');

		if (!begun || at + 1 + word.n > HELP_COLUMNS) {
			buf_putc(out, '\n');
			at = 0;
		}
		begun = true;
		if (at >= HELP_COLUMN) {
			buf_putc(out, ' ');
			at++;
		}
		help_pad_column(out, &at, HELP_COLUMN);
		buf_str(out, word);
		at += word.n;
	}
	buf_putc(out, '\n');
}

static void help_options(struct buf *b, uint64_t bit, bool shared)
{
	const struct option *o;

	for (size_t i = 0; (o = options_get_row(i)); i++) {
		size_t from = b->n;

		if (!(o->commands & bit) || (o->commands == FOR_ALL) != shared)
			continue;
		buf_puts(b, "  ");
		manual_write_option(o, b);
		help_wrap_text(str_c(o->help), b->n - from, b);
	}
}

static void help_rows(struct buf *b, const char *title, const struct manual_row *row)
{
	buf_fmt(b, "\n%s:\n", title);
	for (; row->name; row++) {
		size_t from = b->n;

		buf_fmt(b, "  %s", row->name);
		help_wrap_text(str_c(row->text), b->n - from, b);
	}
}

static void help_all(struct buf *b)
{
	buf_puts(b,
		"Usage: od-runtime COMMAND [OPTION...] [ARGUMENT...]\n"
		"Turns images into sandboxes that execute actions.\n\nCommands:\n");
	for (const struct command *c = commands; c->name; c++)
		if (!c->hidden)
			buf_fmt(b, "  %-10s %s\n", c->name, c->help);
	buf_puts(b, "\nOptions of every command:\n");
	help_options(b, FOR_ALL, true);
	help_rows(b, "Environment", manual_environment);
	help_rows(b, "Exit codes", manual_exits);
}

int options_print_help(const struct command *c)
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
	r = out_write_buf(&b);
	buf_free(&b);
	return r;
}
