/* Macros for the rows of the tables of options, and these tables. */
#ifndef INJECT_OPTIONS_OPTIONS_ROWS_H
#define INJECT_OPTIONS_OPTIONS_ROWS_H

#include "inject/options/options.h"

#include <stddef.h>

#define NEXT_HELP out_help_hint()

#define AT(member) .at = offsetof(struct options, member)
#define SEEN(member) .seen = offsetof(struct options, member)
#define GIVEN_AS(member) .text = offsetof(struct options, member)
#define FLAG .kind = OPTION_FLAG
#define TEXT .kind = OPTION_TEXT
#define NUMBER(least, most) .kind = OPTION_NUMBER, .min = (least), .max = (most)
#define DURATION(least, most) .kind = OPTION_DURATION, .min = (least), .max = (most)
#define SIZE .kind = OPTION_SIZE, .min = 1, .max = INT64_MAX
#define LIST(which) .kind = OPTION_LIST, .at = (which)
#define CHOICE(words) .kind = OPTION_CHOICE, .choices = (words)
#define FILES .offer = OFFER_FILES
#define FOLDERS .offer = OFFER_FOLDERS
#define DEFAULT(words) .by_default = (words)
#define EXAMPLE(words) .example = (words)
#define GROUP(which) .group = OPTION_GROUP_##which
/* The value is sent to the engine unchanged, as this member of HostConfig. */
#define HOST(name) .member = (name)
#define RUNNING FOR_RUN | FOR_MCP
#define ONTO_IMAGES FOR_BUILD | FOR_DOCKERFILE | RUNNING | FOR_TAGS
#define INTO_ANY ONTO_IMAGES | FOR_INJECT | FOR_DOCTOR
#define STARTING RUNNING | FOR_INJECT
#define EXECUTING FOR_EXEC | FOR_RUN

/* Options about images and the client. */
extern const struct option options_of_image[];
extern const size_t options_of_image_n;

/* Options about sandboxes and the commands in them. */
extern const struct option options_of_sandbox[];
extern const size_t options_of_sandbox_n;

/* Options of run that are sent to the engine. */
extern const struct option options_of_engine[];
extern const size_t options_of_engine_n;

/* Options of single commands, and of all commands. */
extern const struct option options_of_command[];
extern const size_t options_of_command_n;

/* Whether value is a choice of opt; NULL counts as no choice. */
bool options_has_choice(const struct option *opt, const char *value);

/* Stores the value of opt (a flag: NULL) in o. 0 or FAIL_USAGE with a line printed. */
int options_set_value(
	struct options *o, const struct option *opt, const char *value) MUST_USE;

#endif
