/*
 * The user's settings for a container: the options of run, read and checked before
 * anything is created, and written in the form of the engine's API.
 */
#ifndef INJECT_SANDBOX_SETTINGS_SETTINGS_H
#define INJECT_SANDBOX_SETTINGS_SETTINGS_H

#include "base/arena.h"
#include "base/jw.h"
#include "inject/options/options_sets.h"
#include "inject/options/spec.h"

struct settings {
	const struct sandbox_options *options; /* borrowed */
	bool has_command;
	struct arena arena; /* owns all that follows */
	struct str *env;    /* NAME=VALUE */
	size_t env_n;
	struct spec_parse_ports *ports;
	size_t ports_n;
	struct spec_parse_mount *mounts; /* relative sources are made absolute */
	size_t mounts_n;
	struct settings_security *security;
	size_t security_n;
	struct spec_parse_gpus gpus;
};

/*
 * An option --security-opt. whole has the content of a profile file, as Docker needs it;
 * named has the name of the file, as Podman needs it.
 */
struct settings_security {
	struct str whole, named;
};

/* Whether the container is in the host's network: nothing can be published. */
bool settings_is_host_network(const struct settings *s);
/*
 * Whether it has no network or that of another container: nothing can be published
 * either.
 */
bool settings_is_isolated(const struct settings *s);

/*
 * Reads o, and the files that it names; has_command: a command is executed in the
 * sandbox. 0, FAIL_USAGE, FAIL_ENVIRONMENT or -ENOMEM; settings_free in any case, also of
 * a zeroed object.
 */
int settings_read(
	struct settings *s, const struct sandbox_options *o, bool has_command) MUST_USE;
void settings_free(struct settings *s);

/* Checks syntax and conflicts of options; s has its ports. 0 or FAIL_USAGE. */
int settings_check(const struct settings *s) MUST_USE;
/* Checks options against an engine with version 1.minor of the API. */
int settings_check_engine(const struct settings *s, unsigned minor, bool podman) MUST_USE;

/*
 * Write the members of the container's own object. The caller begins the objects of
 * labels and ports.
 */
void settings_write(const struct settings *s, struct jw *w);
void settings_write_labels(const struct settings *s, struct jw *w);
void settings_write_exposed(const struct settings *s, struct jw *w);
/* Writes the members of PortBindings. */
void settings_write_ports(const struct settings *s, struct jw *w);

/*
 * The folders of the n-th overlay of a sandbox for written files, on the engine's
 * machine.
 */
struct settings_overlay {
	struct str upper, work;
};

/*
 * Writes the members of HostConfig, except PortBindings and AutoRemove; overlays are in
 * the order of the mounts of that type.
 */
void settings_write_host(const struct settings *s,
	const struct settings_overlay *overlays, bool podman, struct jw *w);

#endif
