/*
 * The HTTP interface: one table of routes, the key check, the handlers.
 * The wire contract is in docs/protocol.md.
 */
#ifndef SERVER_API_H
#define SERVER_API_H

#include "action/act.h"
#include "mcp/mcp_server.h"
#include "net/penalty.h"
#include "net/server.h"

enum { INFO_CACHE_MAX = 1024 }; /* bytes: eleven numbers and their names */

#define API_JSON "application/json"
/* Messages of several replies. */
#define API_NO_MEMORY "The sandbox is out of memory for this request."
#define API_NO_ACTION "body: an object under \"action\" is required"

struct attachments;
struct entrypoint;
struct idem;
struct processes;
struct streams;

/* The member "resources" of /server_info, cached: it costs a dozen system calls. */
struct info_cache {
	char text[INFO_CACHE_MAX];
	size_t n;
	uint64_t until; /* monotonic ms */
};

struct api {
	struct box *box;
	struct idem *idem; /* actions with an id */
	struct processes *processes;
	struct attachments *attachments;
	const struct entrypoint *entrypoint;
	uint64_t started;     /* monotonic ms */
	uint64_t last_action; /* when the last action was accepted, monotonic ms */
	struct info_cache info;
	struct penalty penalty; /* for peers that send no key or a wrong key */
	struct mcp_server mcp;  /* the sandbox as an MCP server */
	struct server *server;
	struct streams *streams;
};

/* For server_new; their arg is a struct api. */
extern const struct server_ops api_ops;

/* Whether key is the session key, or there is none. Takes constant time. */
bool api_check_key(const struct api *api, struct str key);
/*
 * Adds the fields of a reply with the bytes [from, next) of an output. The request asked
 * for bytes from offset asked on. If from is greater, [asked, from) is lost: X-Gap.
 */
void api_add_part(struct request *rq, uint64_t asked, uint64_t from, uint64_t next);
/* Writes {"detail"}, or {"detail", "errors"} of an invalid request, as a body. */
void api_write_detail(struct buf *out, struct str detail);
void api_write_errors(struct buf *out, const char *errors);
/* Answers with {"detail", "errors"} as the contract has it; 503 as api_reply_nomem. */
void api_refuse(struct request *rq, unsigned status, const char *errors);
/* As api_refuse, with status 422. */
void api_reply_invalid(struct request *rq, const char *errors);
/* Answers 503: out of memory. */
void api_reply_nomem(struct request *rq);

#endif
