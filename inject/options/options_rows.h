/*
 * Macros for the rows of tables of options. A file defines OPTIONS as the struct of its
 * table.
 */
#ifndef INJECT_OPTIONS_OPTIONS_ROWS_H
#define INJECT_OPTIONS_OPTIONS_ROWS_H

#include "inject/options/options.h"

#include <stddef.h>

#define NEXT_HELP out_help_hint()

#define AT(member) .at = offsetof(OPTIONS, member)
#define SEEN(member) .seen = offsetof(OPTIONS, member)
#define GIVEN_AS(member) .text = offsetof(OPTIONS, member)
#define FLAG .kind = OPTION_FLAG
#define TEXT .kind = OPTION_TEXT
#define NUMBER(least, most) .kind = OPTION_NUMBER, .min = (least), .max = (most)
#define DURATION(least, most) .kind = OPTION_DURATION, .min = (least), .max = (most)
#define SIZE .kind = OPTION_SIZE, .min = 1, .max = INT64_MAX
#define LIST(member) .kind = OPTION_LIST, AT(member)
#define CHOICE(words) .kind = OPTION_CHOICE, .choices = (words)
#define FILES .offer = OFFER_FILES
#define FOLDERS .offer = OFFER_FOLDERS
#define DEFAULT(words) .by_default = (words)
#define INITIAL(words) .by_default = (words), .initial = true
#define EXAMPLE(words) .example = (words)
#define GROUP(which) .group = OPTION_GROUP_##which
/* The value is sent to the engine unchanged, as this member of HostConfig. */
#define HOST(name) .member = (name)

/* Includes a set; its struct is the member, or OPTIONS itself. */
#define SET(included, member) .set = &(included), AT(member)
#define SET_HERE(included) .set = &(included)

/* Whether value is a choice of opt; NULL counts as no choice. */
bool options_has_choice(const struct option *opt, const char *value);

/*
 * Stores the value of opt (a flag: NULL) in values, the struct of its table. 0, -ENOMEM,
 * or FAIL_USAGE with a line printed.
 */
int options_set_value(struct command_line *line, void *values, const struct option *opt,
	const char *value) MUST_USE;

#endif
