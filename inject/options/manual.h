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

/* Append od-runtime(1) for man, and the content of docs/commands.md. */
void manual_write_roff(struct buf *out);
void manual_write_markdown(struct buf *out);

/* Appends the completion script for a shell: 0; ERR_TYPE: the shell is not supported. */
int complete_write(const char *shell, struct buf *out) MUST_USE;

#endif
