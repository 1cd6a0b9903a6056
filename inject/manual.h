/* What is made from the tables of options and commands, beside --help. */
#ifndef INJECT_MANUAL_H
#define INJECT_MANUAL_H

#include "base/buf.h"
#include "inject/options.h"

struct manual_row {
	const char *name, *text; /* both NULL at the end */
};
extern const struct manual_row manual_environment[];
extern const struct manual_row manual_exits[];
extern const struct manual_row manual_examples[];

/* "-e, --env NAME[=VALUE]" */
void manual_option(const struct option *o, struct buf *out);

/* od-runtime(1) for man, and the same as docs/commands.md. */
void manual_roff(struct buf *out);
void manual_markdown(struct buf *out);

/* The script that makes a shell complete our words: 0; ERR_TYPE for no such shell. */
int complete_write(const char *shell, struct buf *out) MUST_USE;

#endif
