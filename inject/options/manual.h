/* Texts made from the tables of options and commands, besides --help. */
#ifndef INJECT_OPTIONS_MANUAL_H
#define INJECT_OPTIONS_MANUAL_H

#include "base/buf.h"
#include "inject/options/options.h"

struct manual_row {
	const char *name, *text; /* both NULL at the end */
};
extern const struct manual_row manual_environment[];
extern const struct manual_row manual_exits[];
extern const struct manual_row manual_examples[];

/* "-e, --env NAME[=VALUE]" */
void manual_write_option(const struct option *o, struct buf *out);

/* The help of the option, with its example and its default in parentheses. */
void manual_write_help(const struct option *o, struct buf *out);

/*
 * The title of the options of command c in the group: "Options" if it has no other group
 * of its own. NULL: the command has none.
 */
const char *manual_group_title(const struct command *c, enum option_group group);

/* Appends the forms of DURATION and BYTES, as sentences, if c has such options. */
void manual_write_forms(const struct command *c, struct buf *out);

/* Appends the text as a sentence, with a capital and a full stop. */
void manual_write_sentence(struct buf *out, const char *text);

/*
 * Appends the text in lines of at most width columns, which begin at column; at is the
 * current column, at most column.
 */
void manual_wrap_text(
	struct str text, size_t at, size_t column, size_t width, struct buf *out);

/* Append od-runtime(1) for man, and the content of docs/commands.md. */
void manual_write_roff(struct buf *out);
void manual_write_markdown(struct buf *out);

/* Appends the completion script for a shell: 0; ERR_TYPE: the shell is not supported. */
int complete_write(const char *shell, struct buf *out) MUST_USE;

#endif
