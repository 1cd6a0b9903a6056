/*
 * The values of options with a syntax: sizes, ports, mounts. No I/O. The results point
 * into the text of the command line. After ERR_SYNTAX or ERR_RANGE *why has the reason.
 */
#ifndef INJECT_OPTIONS_SPEC_H
#define INJECT_OPTIONS_SPEC_H

#include "base/str.h"

/* Bytes: digits and b, k, m, g or t of either case, in powers of 1024. */
int spec_parse_size(struct str s, uint64_t max, uint64_t *bytes) MUST_USE;

/* A decimal fraction above 0, in billionths: "1.5". */
int spec_parse_nano(struct str s, uint64_t *nano) MUST_USE;

/*
 * Seconds: digits alone, or digits with units, each unit once and from large to small:
 * 300, 300s, 5m, 1h30m, 1d12h. ERR_SYNTAX; ERR_RANGE above max.
 */
int spec_parse_duration(struct str s, uint64_t max, uint64_t *seconds) MUST_USE;

/* A time: seconds since 1970, or a duration with units before now (seconds). */
int spec_parse_time(struct str s, int64_t now, int64_t *seconds) MUST_USE;

struct spec_parse_ports {
	struct str address;   /* empty for none */
	uint16_t inside;      /* the first port */
	uint16_t outside;     /* the first port; 0: free ports */
	uint16_t n;           /* the number of ports */
	uint16_t outside_n;   /* n; or, for one inside, the number to choose from */
	const char *protocol; /* "tcp" or "udp" */
};

/* [[ADDRESS:]OUTSIDE:]INSIDE[/PROTOCOL]; ports are N or N-N; [::1] has brackets. */
int spec_parse_ports(struct str s, struct spec_parse_ports *p, const char **why) MUST_USE;

enum spec_mount_type {
	SPEC_BIND,
	SPEC_VOLUME,
	SPEC_TMPFS,
	SPEC_OVERLAY, /* of a path of the host; written files are stored apart */
};

struct spec_parse_mount {
	enum spec_mount_type type;
	struct str source; /* empty for a volume without a name */
	struct str target; /* absolute */
	struct str modes;  /* of -v, unparsed, for the engine; empty: none */
	struct str propagation;
	bool short_form; /* -v: a missing source is created */
	bool read_only, no_copy, has_size, has_mode;
	uint64_t size; /* of tmpfs, bytes */
	unsigned mode; /* of its top folder, octal */
};

/* -v [SOURCE:]TARGET[:MODES]. A source that begins with / or . is a path. */
int spec_parse_volume(
	struct str s, struct spec_parse_mount *m, const char **why) MUST_USE;
/* --mount KEY=VALUE,...; docs/commands.md has the keys. */
int spec_parse_mount(struct str s, struct spec_parse_mount *m, const char **why) MUST_USE;

struct spec_parse_ulimit {
	struct str name;
	int64_t soft, hard; /* -1: unlimited */
};
/* NAME=SOFT[:HARD] */
int spec_parse_ulimit(
	struct str s, struct spec_parse_ulimit *u, const char **why) MUST_USE;

struct spec_parse_device {
	struct str outside, inside; /* paths */
	struct str rights;          /* letters of "rwm" */
};
/* PATH[:PATH][:RIGHTS] */
int spec_parse_device(
	struct str s, struct spec_parse_device *d, const char **why) MUST_USE;

struct spec_parse_restart {
	struct str policy;
	uint64_t retries; /* of on-failure; 0: no limit */
};
/* no, always, unless-stopped, on-failure[:N] */
int spec_parse_restart(
	struct str s, struct spec_parse_restart *p, const char **why) MUST_USE;

/* A kernel parameter of a namespace, as NAME=VALUE. */
int spec_check_sysctl(struct str s, const char **why) MUST_USE;

/* A domain to complete names with, or "." */
bool spec_is_search_domain(struct str s);

/* An IPv4 or IPv6 address without a port. */
bool spec_is_address(const char *s);

/* NAME=VALUE or NAME alone; the name is not empty and has no blank. */
int spec_parse_pair(struct str s, struct str *name, struct str *value) MUST_USE;

/* linux/ARCH or linux/ARCH/VARIANT: gives ARCH. */
int spec_parse_platform(struct str s, struct str *arch, const char **why) MUST_USE;

struct spec_parse_gpus {
	int64_t count;  /* -1: all; 0: ids counts */
	struct str ids; /* separated by commas */
};
/* all, a number, or device=ID,... in quotes or not */
int spec_parse_gpus(struct str s, struct spec_parse_gpus *g, const char **why) MUST_USE;

#endif
