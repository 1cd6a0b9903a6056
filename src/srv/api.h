/*
 * The HTTP interface: one table of routes, the key check, the handlers.
 * The wire contract is in docs/protocol.md.
 */
#ifndef SRV_API_H
#define SRV_API_H

#include "act/act.h"
#include "net/penalty.h"
#include "net/server.h"
#include "plug/mcp_server.h"

#define API_JSON "application/json"

struct attachments;
struct entrypoint;
struct once;
struct processes;
struct streams;

/* Begins what rq->user of a route of actions leads to. */
struct asked {
	void (*gone)(struct request *rq); /* who asked has hung up */
	void (*room)(struct request *rq); /* see server_ops; NULL where nothing streams */
	/* For bodies that stream; see server_ops. */
	size_t (*body)(struct request *rq, struct str piece);
	ssize_t (*move)(struct request *rq, int fd, size_t n);
	void (*ready)(struct request *rq);
};

/* The member resources of /server_info, which takes a dozen system calls. */
struct info_cache {
	char text[INFO_CACHE_MAX];
	size_t n;
	uint64_t until; /* monotonic ms */
};

struct api {
	struct box *box;
	struct once *once; /* actions that have an id */
	struct processes *processes;
	struct attachments *attachments;
	const struct entrypoint *entrypoint;
	uint64_t started;     /* monotonic ms */
	uint64_t last_action; /* when the last action was accepted, monotonic ms */
	struct info_cache info;
	struct penalty penalty; /* of peers that show no key, or a wrong one */
	struct mcp_server mcp;  /* the sandbox as one */
	struct server *server;
	struct streams *streams;
};

/* The callbacks for server_new; their arg is a struct api. */
extern const struct server_ops api_ops;

/* Whether it is the session key, or there is none; takes the same time for all. */
bool api_knows_key(const struct api *api, struct str key);
/*
 * The fields of a reply that is the bytes from from to next of what a command prints;
 * asked for were those from asked on, and what is between is gone.
 */
void api_add_part(struct request *rq, uint64_t asked, uint64_t from, uint64_t next);
/* Answers in the contract's shape for what is not understood; 503 as below. */
void api_refuse(struct request *rq, unsigned status, const char *errors);
/* The same with 422. */
void api_invalid(struct request *rq, const char *errors);
/* Answers 503: out of memory. */
void api_no_memory(struct request *rq);

#endif
