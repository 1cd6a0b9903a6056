/* The command line: one table of options, one of commands. */
#ifndef INJECT_OPTIONS_H
#define INJECT_OPTIONS_H

#include "base/str.h"

enum {
	SECONDS_MAX = 31536000, /* a year stands for "no limit" */
	START_SECONDS = 30,
	STOP_SECONDS = 10,
};

struct options {
	const struct command *command;
	const char *operand[2]; /* what stands before "--" */
	size_t operand_n;
	char **words; /* what stands behind it */
	size_t word_n;

	const char *host, *client, *busybox, *name, *working_dir, *username;
	bool json, timings, help, version, pull, force, remove, follow, no_busybox;
	uint64_t port, user_id, timeout, timeout_start, tail, time;
	bool has_user_id, has_tail;
};

/* What a command accepts behind its operands. */
enum command_words { WORDS_NONE, WORDS_MAY, WORDS_MUST };

/* What its first operand is the name of. */
enum command_subject { SUBJECT_NONE, SUBJECT_IMAGE, SUBJECT_SANDBOX };

struct command {
	const char *name;
	const char *args; /* for people */
	const char *help; /* one line */
	size_t operands;  /* how many there must be */
	bool fewer;       /* or one fewer */
	enum command_subject subject;
	enum command_words words;
	unsigned bit;                        /* which options it takes */
	int (*run)(const struct options *o); /* 0, an exit code, or negative */
};

/* Bits of the commands that an option belongs to. */
enum {
	FOR_BUILD = 1,
	FOR_DOCKERFILE = 2,
	FOR_RUN = 4,
	FOR_EXEC = 8,
	FOR_ACTION = 16,
	FOR_PS = 32,
	FOR_LOGS = 64,
	FOR_STOP = 128,
	FOR_RM = 256,
	FOR_HELP = 512,
	FOR_ALL = 1023,
};

/* All commands, ended by a row without a name; defined with them. */
extern const struct command commands[];

/*
 * Reads the command line into *o, whose strings belong to argv. Options stand
 * anywhere before "--", as --name value or --name=value. 0 or FAIL_USAGE, with
 * the reason printed; a name that none can have is such a reason. With --help or
 * --version nothing else is asked for.
 */
int options_read(struct options *o, int argc, char **argv) MUST_USE;

/* Prints help: on one command, or, for NULL, on all. 0 or -errno. */
int options_help(const struct command *c) MUST_USE;

#endif
