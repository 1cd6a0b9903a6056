/*
 * The command line. A command is a const entry with a table of options, which may include
 * sets that commands share (options_sets.h). Help, manual and completion are made of
 * these.
 */
#ifndef INJECT_OPTIONS_OPTIONS_H
#define INJECT_OPTIONS_OPTIONS_H

#include "base/arena.h"
#include "base/str.h"
#include "limits.h"

enum {
	SECONDS_MAX = 31536000, /* a year stands for "no limit" */
	START_SECONDS = 30,
	STOP_SECONDS = 10,
};

/* --- Options ------------------------------------------------------------------------ */

/* The values of an option that may be given more than once, in the order given. */
struct option_value {
	const char *text;
	struct option_value *next;
};
struct option_values {
	struct option_value *first, *last;
	size_t n;
};

enum option_kind {
	OPTION_FLAG,     /* a bool */
	OPTION_TEXT,     /* a const char * */
	OPTION_NUMBER,   /* a uint64_t, as the four that follow */
	OPTION_DURATION, /* seconds, as 300, 5m, 1h30m */
	OPTION_SIZE,     /* bytes, as 512m */
	OPTION_NANO,     /* a decimal fraction, in billionths */
	OPTION_CHOICE,   /* one of a few words; an unsigned */
	OPTION_LIST,     /* a struct option_values */
};

/* The completions that a shell offers for a value. */
enum option_offer { OFFER_NOTHING, OFFER_FILES, OFFER_FOLDERS };

/* The groups of options in the help, in its order; manual.c has their titles. */
enum option_group {
	OPTION_GROUP_IMAGE = 1,
	OPTION_GROUP_CLIENT,
	OPTION_GROUP_COMMAND,
	OPTION_GROUP_FILES,
	OPTION_GROUP_NETWORK,
	OPTION_GROUP_RESOURCES,
	OPTION_GROUP_PRIVILEGES,
	OPTION_GROUP_LIFECYCLE,
	OPTION_GROUP_COMMON, /* the options of every command */
	OPTION_GROUPS,
};

/* A row of a table of options, which a row of zeros ends. */
struct option {
	const char *name;
	const char *value; /* the placeholder of the value in the help; NULL for flags */
	const char *help;  /* a verb phrase, without default and example */
	const char *by_default;       /* the value without the option; NULL: none */
	const char *example;          /* a value as a user types it; NULL: none */
	const struct option_set *set; /* the row includes it; its struct is at "at" */
	const char *const *choices;   /* ended by NULL; the index is stored */
	const char *member; /* the member of HostConfig that gets the value; or NULL */
	uint64_t min, max;  /* of a number */
	enum option_group group : 8;
	enum option_kind kind : 8;
	enum option_offer offer : 8;
	char letter;
	uint16_t at;            /* the offset of the value in the struct of the table */
	uint16_t seen;          /* the offset of a bool that is set too; 0: none */
	uint16_t text;          /* the offset for the text of a number; 0: none */
	uint8_t default_choice; /* the index of the choice for --name without a value */
	bool initial;           /* by_default is stored before the command line is read */
	bool unlimited;         /* the number may be -1: no limit */
};

/* Options that several commands have, for a struct that their structs contain. */
struct option_set {
	const struct option *options;
	int (*check)(const void *values); /* 0 or FAIL_USAGE; NULL: nothing to check */
};

/* The options of every command; their values are in struct command_line. */
extern const struct option common_options[];

/* --- Commands ----------------------------------------------------------------------- */

/* Whether a command accepts arguments after its operands. */
enum command_argv { ARGV_NONE, ARGV_OPTIONAL, ARGV_REQUIRED };

/* The kind of object that the first operand names. */
enum command_subject {
	SUBJECT_NONE,
	SUBJECT_IMAGE,
	SUBJECT_SANDBOX,
	SUBJECT_COPY,  /* one of the two operands is SANDBOX:PATH */
	SUBJECT_PLACE, /* a sandbox, or SANDBOX:PATH */
	SUBJECT_ANY,   /* an image or a sandbox; the command finds out which */
	SUBJECT_WORD,  /* one of the words that the command defines */
};

enum { COMMAND_EXAMPLES_MAX = 2 };

struct command_line {
	const struct command *command;
	const char *operand[OPTION_OPERANDS_MAX]; /* the arguments before "--" */
	size_t operand_n;
	char **argv; /* the arguments after "--" */
	size_t argc;
	void *options;        /* the struct of the command's options, in the arena */
	const char *specific; /* the first given option that not every command has */
	struct arena arena;
	size_t list_values_n; /* of all lists */

	/* The options of every command. */
	const char *host;
	bool json, help, version;
};

struct command {
	const char *name;
	const char *usage;   /* operands as the help shows them */
	const char *purpose; /* one line that begins with a verb */
	const char *more;    /* sentences that explain more; NULL: none */
	const char *examples[COMMAND_EXAMPLES_MAX]; /* command lines */
	const struct option *options;               /* NULL: none of its own */
	size_t options_size;                        /* the size of their struct */
	size_t operands;                            /* the number of required operands */
	bool last_optional;                         /* or one operand less */
	bool variadic; /* or more operands; each is the name of a sandbox */
	bool hidden;   /* for packagers: not in the list of commands */
	enum command_subject subject;
	const char *words; /* of SUBJECT_WORD, separated by blanks */
	enum command_argv argv;
	/* Checks operands and options, instead of the check by subject; or NULL. */
	int (*check)(const struct command_line *line);
	int (*run)(const struct command_line *line); /* 0, an exit code, or negative */
};

/* All commands, ended by NULL. */
extern const struct command *const commands[];

/*
 * A walk over the options of a command, in the order of its table, with those of the sets
 * in their places and then those of every command. NULL: only the last.
 */
struct option_walk {
	struct {
		const struct option *next;
		size_t base; /* the offset of the table's struct */
	} level[5];
	unsigned depth;
	size_t base;    /* of the option that was returned */
	bool is_common; /* the option that was returned is one of every command */
};
void option_walk_begin(struct option_walk *w, const struct command *c);
/* The next option; NULL after the last one. */
const struct option *option_walk_next(struct option_walk *w);
/* The struct with the value of the option that was returned; at, seen, text are in it. */
void *option_walk_values(const struct option_walk *w, struct command_line *line);

/*
 * Reads the command line into *line, whose strings belong to argv. Options may come
 * anywhere before "--", as --name value, --name=value, -n value or -nvalue; flags may be
 * joined (-it). The words of a command for the sandbox begin after "--", or with the
 * first word after the operands that is no option. 0, or FAIL_USAGE with the reason
 * printed, also for a name that is never valid; -ENOMEM. With --help or --version no
 * operand is required. options_free in any case.
 */
int options_read(struct command_line *line, int argc, char **argv) MUST_USE;
void options_free(struct command_line *line);

/* Whether the text is the name of an image, or of a sandbox. 0 or FAIL_USAGE. */
int options_check_image(const char *name) MUST_USE;
int options_check_sandbox(const char *name) MUST_USE;

/* Prints help: on one command, or, for NULL, on all. 0 or -errno. */
int options_print_help(const struct command *c) MUST_USE;

#endif
