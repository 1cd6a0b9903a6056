/* The command line: one table of options, one of commands. */
#ifndef INJECT_OPTIONS_OPTIONS_H
#define INJECT_OPTIONS_OPTIONS_H

#include "base/str.h"
#include "limits.h"

enum {
	SECONDS_MAX = 31536000, /* a year stands for "no limit" */
	START_SECONDS = 30,
	STOP_SECONDS = 10,
};

enum tag_style { TAG_STYLE_THREE, TAG_STYLE_LEGACY };

enum pull_policy { PULL_NEVER, PULL_MISSING, PULL_ALWAYS };

/* How the client gets into a sandbox; injection.c has the table. */
enum injection_kind {
	INJECTION_AUTO,
	INJECTION_BIND,
	INJECTION_VOLUME,
	INJECTION_PUT,
	INJECTION_BUILD,
	INJECTION_COMMIT
};

/* Options that may be given more than once. */
enum option_list {
	LIST_ENV,
	LIST_ENV_FILE,
	LIST_VOLUME,
	LIST_MOUNT,
	LIST_TMPFS,
	LIST_PUBLISH,
	LIST_LABEL,
	LIST_CAP_ADD,
	LIST_CAP_DROP,
	LIST_SECURITY_OPT,
	LIST_ULIMIT,
	LIST_ADD_HOST,
	LIST_PLUGIN,
	LIST_FILTER,
	LIST_DEVICE,
	LIST_DNS,
	LIST_DNS_SEARCH,
	LIST_DNS_OPTION,
	LIST_GROUP_ADD,
	LIST_VOLUMES_FROM,
	LIST_SYSCTL,
	LIST_LOG_OPT,
	LIST_ANNOTATION,
};

/* When the image's own entrypoint runs in a sandbox. */
enum entrypoint_mode { ENTRYPOINT_NONE, ENTRYPOINT_RUN, ENTRYPOINT_WAIT };

struct options {
	const struct command *command;
	const char *operand[OPTION_OPERANDS_MAX]; /* the arguments before "--" */
	size_t operand_n;
	const char *specific; /* the first given option that few commands have */
	char **argv;          /* the arguments after "--" */
	size_t argc;

	const char *host, *client, *busybox, *name, *working_dir, *username;
	const char *extra_deps, *build_folder;
	const char *user, *network, *gpus, *platform, *output, *tag, *ca, *realm,
		*hostname, *signal, *since, *until, *state_dir, *address, *token,
		*session, *tls_cert, *tls_key, *tls_client_ca, *end;
	const char *connect, *connect_id, *connect_token, *connect_ca, *connect_pin,
		*connect_cert, *connect_key;
	bool plain_http, json, timings, help, version, force, remove, follow, no_busybox;
	bool dry_run, verify, tls, no_token, operator, no_od_plugins;
	bool detach, interactive, tty, init, read_only, all, quiet, timestamps;
	uint64_t port, user_id, timeout, timeout_start, tail, time;
	const char *timeout_text; /* timeout as the user wrote it */
	uint64_t memory, shm_size, nano_cpus, pids;
	bool has_user_id, has_tail, has_time, has_stop_timeout;
	const char *ipc, *pid, *uts, *userns, *cgroupns, *runtime, *cpuset_cpus, *restart,
		*stop_signal, *log_driver;
	bool privileged, publish_all;
	uint64_t memory_swap, memory_reservation, cpu_shares, stop_timeout;
	unsigned pull;       /* enum pull_policy */
	unsigned via;        /* enum injection_kind */
	unsigned tag_style;  /* enum tag_style */
	unsigned entrypoint; /* enum entrypoint_mode */
	uint64_t keep;
	bool stats, no_stats; /* of ps */

	struct {
		enum option_list list;
		const char *value;
	} list_values
		[OPTION_LIST_MAX]; /* the options that may repeat, in the order given */
	size_t list_values_n;
};

/* The next value of a list, from index *it (0 at first); NULL: there is none. */
const char *options_next(const struct options *o, enum option_list list, size_t *it);

enum option_kind {
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_NUMBER,
	OPTION_DURATION, /* seconds, as 300, 5m, 1h30m */
	OPTION_SIZE,     /* bytes, as 512m */
	OPTION_NANO,     /* a decimal fraction, in billionths */
	OPTION_CHOICE,   /* one of a few words */
	OPTION_LIST,
};

/* The completions that a shell offers for a value. */
enum option_offer { OFFER_NOTHING, OFFER_FILES, OFFER_FOLDERS };

/* The groups of options in the help, in its order; help.c has their titles. */
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

struct option {
	const char *name;
	const char *value; /* the placeholder of the value in the help; NULL for flags */
	const char *help;  /* a verb phrase, without default and example */
	const char *by_default; /* the value without the option; NULL: none */
	const char *example;    /* a value as a user types it; NULL: none */
	enum option_group group;
	char letter;
	enum option_kind kind;
	enum option_offer offer;
	uint64_t min, max; /* of a number */
	size_t at;         /* the offset in struct options; for a list its option_list */
	size_t seen;       /* the offset of a bool that is set too; 0: none */
	size_t text;       /* the offset for the text of a number; 0: none */
	const char *const *choices; /* ended by NULL; the index is stored */
	unsigned default_choice; /* the index of the choice for --name without a value */
	const char *member; /* the member of HostConfig that gets the value; or NULL */
	bool unlimited;     /* the number may be -1: no limit */
	uint64_t commands;
};

/* Whether an operand of cp is SANDBOX:PATH and not a path of this machine. */
bool options_is_remote(const char *operand);

/* Row i of the table, for help, manual and completion; NULL after the last row. */
const struct option *options_get_row(size_t i);

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

struct command {
	const char *name;
	const char *args; /* operands as the help shows them */
	const char *help; /* the purpose: one line that begins with a verb */
	const char *more; /* sentences that explain more; NULL: none */
	const char *example[COMMAND_EXAMPLES_MAX]; /* command lines */
	size_t operands;                           /* the number of required operands */
	bool last_optional;                        /* or one operand less */
	bool variadic; /* or more operands; each is the name of a sandbox */
	bool hidden;   /* for packagers: not in the list of commands */
	enum command_subject subject;
	enum command_argv argv;
	uint64_t bit;                        /* its bit in the commands of an option */
	int (*run)(const struct options *o); /* 0, an exit code, or negative */
};

/* Bits for the commands that an option belongs to. */
enum {
	FOR_BUILD = 1 << 0,
	FOR_DOCKERFILE = 1 << 1,
	FOR_RUN = 1 << 2,
	FOR_EXEC = 1 << 3,
	FOR_ACTION = 1 << 4,
	FOR_PS = 1 << 5,
	FOR_LOGS = 1 << 6,
	FOR_STOP = 1 << 7,
	FOR_RM = 1 << 8,
	FOR_HELP = 1 << 9,
	FOR_SHELL = 1 << 10,
	FOR_ATTACH = 1 << 11,
	FOR_CP = 1 << 12,
	FOR_LS = 1 << 13,
	FOR_PAUSE = 1 << 14,
	FOR_RESUME = 1 << 15,
	FOR_WAIT = 1 << 16,
	FOR_KILL = 1 << 17,
	FOR_COMPLETION = 1 << 18,
	FOR_MAN = 1 << 19,
	FOR_INJECT = 1 << 20,
	FOR_DOCTOR = 1 << 21,
	FOR_TAGS = 1 << 22,
	FOR_PRUNE = 1 << 23,
	FOR_UPDATE = 1 << 24,
	FOR_MCP = 1 << 25,
	FOR_LISTEN = 1 << 26,
	FOR_SCREENSHOT = 1 << 27,
	FOR_TOKEN = 1 << 28,
	FOR_START = 1 << 29,
	FOR_RESTART = 1 << 30,
	FOR_INSPECT = INT64_C(1) << 31,
	FOR_ENV = INT64_C(1) << 32,
	FOR_SESSIONS = INT64_C(1) << 33,
	FOR_ALL = (INT64_C(1) << 34) - 1,
};

/* All commands; a row without a name ends the table. */
extern const struct command commands[];

/*
 * Reads the command line into *o, whose strings belong to argv. Options may come anywhere
 * before "--", as --name value, --name=value, -n value or -nvalue; flags may be joined
 * (-it). The words of a command for the sandbox begin after "--", or with the first word
 * after the operands that is no option. 0, or FAIL_USAGE with the reason printed, also
 * for a name that is never valid. With --help or --version no operand is required.
 */
int options_read(struct options *o, int argc, char **argv) MUST_USE;

/* Prints help: on one command, or, for NULL, on all. 0 or -errno. */
int options_print_help(const struct command *c) MUST_USE;

#endif
