/*
 * A sandbox as programs read it: one table of JSON members for "ps --json",
 * "inspect", and the --json of commands that start a sandbox.
 */
#ifndef INJECT_SANDBOX_SANDBOX_INFO_H
#define INJECT_SANDBOX_SANDBOX_INFO_H

#include "base/jw.h"
#include "inject/sandbox/sandbox_origin.h"

/* Kinds of members; docs/host.md defines their meanings. */
enum sandbox_members {
	SANDBOX_MEMBERS_LIST = 1 << 0,    /* of a row of ps */
	SANDBOX_MEMBERS_START = 1 << 1,   /* of run, start, restart, update and inject */
	SANDBOX_MEMBERS_INSPECT = 1 << 2, /* of inspect */
};

/* The strings and values are valid as long as doc, the engine's answer. */
struct sandbox_info {
	struct json_doc *doc;
	struct str name, id;
	struct str image;         /* as the user typed it, or as the engine reports it */
	struct str runtime_image; /* the image that the engine started */
	struct str image_id;
	struct str state, network;
	struct str address; /* in its own network; empty for none */
	struct str method;  /* the injection method */
	struct json_val labels, ports, limits;
	enum sandbox_origin origin;
	int64_t created, started; /* seconds since 1970; started < 0: never */
	int64_t exit_code;        /* < 0: it has not ended */
	uint16_t port;            /* on the engine's machine; 0 for none */
	uint16_t inside;          /* the port in its own network */
	bool running, paused, tls;
	bool keyed;              /* its key is in the state folder */
	bool pinned;             /* so is the public key of its TLS server: */
	uint8_t pin[SHA256_LEN]; /* of the last run that was seen here */
	/* For ps: the resources that the sandbox has used. */
	bool measured;
	uint64_t cpu_ns, memory;
};

/*
 * Reads one element of the engine's list, or the engine's description of one container,
 * in d. 0; 1 if the container is no sandbox; -EINTR, -ENOMEM or FAIL_*.
 */
int sandbox_info_read_row(struct sandbox_origins *o, struct json_doc *d,
	struct json_val v, struct sandbox_info *info) MUST_USE;
int sandbox_info_read(struct sandbox_origins *o, struct json_doc *d,
	struct sandbox_info *info) MUST_USE;

/* Writes the members of one kind into the object that the caller has begun. */
void sandbox_info_write(
	const struct sandbox_info *info, enum sandbox_members which, struct jw *w);

/* Requests the description of a container and writes its members. Errors as above. */
int sandbox_info_request(const struct engine *e, const char *id,
	enum sandbox_members which, struct jw *w) MUST_USE;

/*
 * The output of a command that started the container: its name, or with json
 * an object with the members of START and those that more adds, unless it is NULL.
 */
int sandbox_info_print(const struct engine *e, const struct state *s, bool json,
	void (*more)(void *arg, struct jw *w), void *arg) MUST_USE;

/* Appends the same output to out, without its line feed. */
int sandbox_info_render(const struct engine *e, const struct state *s, bool json,
	void (*more)(void *arg, struct jw *w), void *arg, struct buf *out) MUST_USE;

#endif
