/*
 * How the user wants a container to be: the options of run, read and checked
 * before anything is made, and written as the engine wants them.
 */
#ifndef INJECT_SETTINGS_H
#define INJECT_SETTINGS_H

#include "base/arena.h"
#include "base/jw.h"
#include "inject/options.h"
#include "inject/spec.h"

struct settings {
	const struct options *options; /* borrowed */
	struct arena arena;            /* of all that follows */
	struct str *env;               /* NAME=VALUE */
	size_t env_n;
	struct spec_ports *ports;
	size_t ports_n;
	struct spec_mount *mounts; /* sources of paths made absolute */
	size_t mounts_n;
	struct settings_security *security;
	size_t security_n;
	struct spec_gpus gpus;
};

/* One --security-opt; in a profile's place Docker wants it itself, Podman its file. */
struct settings_security {
	struct str whole, named;
};

/* The network of the host itself: nothing can be published. */
bool settings_on_host(const struct settings *s);
/* No network of its own, or that of another container: nothing, either. */
bool settings_apart(const struct settings *s);

/*
 * Reads o, and the files that it names. 0, FAIL_USAGE, FAIL_ENVIRONMENT or -ENOMEM;
 * settings_free in any case, also of a zeroed object.
 */
int settings_read(struct settings *s, const struct options *o) MUST_USE;
void settings_free(struct settings *s);

/* Checks forms and conflicts of options; s has its ports. 0 or FAIL_USAGE. */
int settings_check(const struct settings *s) MUST_USE;
/* Checks options against an engine with version 1.minor of the API. */
int settings_check_engine(const struct settings *s, unsigned minor, bool podman) MUST_USE;

/* The members of the container's own object. Labels and ports are begun by the caller. */
void settings_write(const struct settings *s, struct jw *w);
void settings_write_labels(const struct settings *s, struct jw *w);
void settings_write_exposed(const struct settings *s, struct jw *w);
/* In PortBindings. */
void settings_write_ports(const struct settings *s, struct jw *w);

/* Where the n-th overlay of a sandbox keeps what is written, on the engine's machine. */
struct settings_overlay {
	struct str upper, work;
};

/*
 * The members of HostConfig, but for PortBindings and AutoRemove; overlays in the order
 * of the mounts that are one.
 */
void settings_write_host(const struct settings *s,
	const struct settings_overlay *overlays, bool podman, struct jw *w);

#endif
