/*
 * Sets of options that several commands share. A command has the struct of a set in its
 * own struct.
 */
#ifndef INJECT_OPTIONS_OPTIONS_SETS_H
#define INJECT_OPTIONS_OPTIONS_SETS_H

#include "inject/options/options.h"

/* --- Images and the client ---------------------------------------------------------- */

struct client_options {
	const char *client, *busybox;
	bool no_busybox, no_od_plugins;
};
extern const struct option_set client_set;
extern const struct option_set client_path_set; /* --client alone */

struct plugin_options {
	struct option_values plugins;
	bool source_optional; /* a value may name a plugin that the image has */
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

extern const char *const injection_choices[]; /* ended by NULL */

/* The image, and how the client is added to it. */
struct image_options {
	unsigned pull; /* enum pull_policy */
	const char *platform, *extra_deps;
	bool force;
	unsigned tag_style; /* enum tag_style */
	unsigned via;       /* enum injection_kind */
	struct client_options client;
	struct plugin_options plugin;
};
extern const struct option_set pull_set;
extern const struct option_set platform_set;
extern const struct option_set force_build_set;
extern const struct option_set extra_deps_set;
extern const struct option_set tag_style_set;
extern const struct option_set plugin_source_set; /* plugins with a source */

struct dry_run_options {
	bool dry_run;
};
extern const struct option_set dry_run_set;

/* Where build writes an image without an engine. */
struct output_options {
	const char *output, *tag, *ca, *realm;
	bool plain_http, verify;
};

/* --- Sandboxes ---------------------------------------------------------------------- */

/* The user and the folder of commands. */
struct identity_options {
	const char *working_dir, *user, *username;
	uint64_t user_id;
	bool has_user_id;
};
extern const struct option_set identity_set;

struct env_options {
	struct option_values env, env_file;
};
extern const struct option_set env_set;

struct ready_options {
	uint64_t timeout_start; /* seconds until the sandbox must be ready */
};
extern const struct option_set ready_set;

struct timings_options {
	bool timings;
};
extern const struct option_set timings_set;

/* The backend that a sandbox dials out to. */
struct connect_options {
	const char *connect, *connect_id, *connect_pin;
	const char *connect_token, *connect_ca, *connect_cert, *connect_key; /* files */
};
extern const struct option_set connect_set;

/* When the image's own entrypoint runs in a sandbox. */
enum entrypoint_mode { ENTRYPOINT_NONE, ENTRYPOINT_RUN, ENTRYPOINT_WAIT };

/* The settings of a new sandbox: the options of run and mcp. */
struct sandbox_options {
	struct image_options image;
	struct identity_options identity;
	struct env_options env;
	struct ready_options ready;
	uint64_t port;
	bool tls;
	const char *state_dir;
	unsigned entrypoint; /* enum entrypoint_mode */

	const char *name;
	bool remove, init;
	const char *restart, *stop_signal, *log_driver;
	uint64_t stop_timeout;
	bool has_stop_timeout;
	struct option_values label, log_opt, annotation;

	struct option_values volume, mount, tmpfs, volumes_from;
	bool read_only;

	const char *network, *hostname;
	bool publish_all;
	struct option_values publish, add_host, dns, dns_search, dns_option;

	uint64_t memory, memory_swap, memory_reservation, shm_size;
	uint64_t nano_cpus, cpu_shares, pids;
	const char *cpuset_cpus, *gpus;
	struct option_values ulimit, sysctl;

	bool privileged;
	const char *runtime, *ipc, *pid, *uts, *userns, *cgroupns;
	struct option_values cap_add, cap_drop, security_opt, device, group_add;
};
extern const struct option_set server_set;     /* how the server gets in and is reached */
extern const struct option_set entrypoint_set; /* also the user and the environment */
extern const struct option_set container_set;  /* files, network, limits, name */
extern const struct option_set start_set;
extern const struct option_set engine_set; /* options of docker run, sent unchanged */
extern const struct option_set stop_set;

#endif
