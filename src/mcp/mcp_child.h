/*
 * An MCP server that runs in the sandbox and uses stdin and stdout: its process, which is
 * restarted when it ends, and the requests that it has not answered. The sandbox is its
 * only client, on behalf of all clients of the sandbox. Its service is READY when it has
 * answered initialize.
 */
#ifndef MCP_MCP_CHILD_H
#define MCP_MCP_CHILD_H

#include "base/lines.h"
#include "codec/http/jsonrpc.h"
#include "limits.h"
#include "proc/service.h"

enum { MCP_WHY_MAX = 160 }; /* bytes of a sentence */

struct mcp_child;

/* A request to a server that has no answer yet. Its owner allocates it. */
struct mcp_child_call {
	struct list node;
	struct mcp_child *child; /* NULL: it was not sent, or is done */
	uint64_t id;
	/*
	 * The last call: m is the response with a result or an error; NULL: why is the
	 * reason.
	 */
	void (*done)(struct mcp_child_call *q, const struct jsonrpc *m, const char *why);
	/* The server reports progress with these params. May be NULL. */
	void (*progress)(struct mcp_child_call *q, struct json_val params);
};

struct mcp_child_ops {
	/* The service is READY or PAUSED now. */
	void (*on_state)(struct mcp_child *c);
	/* The server has sent a request or a notification, except progress and ping. */
	void (*on_message)(struct mcp_child *c, const struct jsonrpc *m);
	/* After mcp_child_stop: the process has ended. */
	void (*on_stopped)(struct mcp_child *c);
};

struct mcp_child {
	struct list node; /* in the owner's list */
	const struct mcp_child_ops *ops;
	void *arg;
	const struct spawn_user *user;
	const char *cwd;
	char name[MCP_NAME_MAX + 1];
	struct arena memory; /* of what follows */
	const char *path, *const *argv, *const *env;

	char why[MCP_WHY_MAX]; /* why it is not ready */
	struct service service;
	struct lines lines; /* of its standard output */
	struct list calls;  /* newest first */
	struct mcp_child_call hello;
	uint64_t last_id;
	unsigned bad_lines; /* lines that are no messages; the first is logged */
	bool stopping;      /* mcp_child_stop was called */
};

/* Prepares a zeroed child. */
void mcp_child_init(struct mcp_child *c, struct loop *loop);
/* Starts the process. on_state reports a failure, possibly before this returns. */
void mcp_child_start(struct mcp_child *c);
/*
 * Stops the server: all requests are answered with why, and its input is closed. SIGTERM
 * and SIGKILL follow if it does not end. ops->on_stopped is called at the end; if the
 * process does not run, before this returns.
 */
void mcp_child_stop(struct mcp_child *c, const char *why);
/*
 * Closes everything that leads to the process and frees what c holds, but not c. kill:
 * kills the process, too. Otherwise the sandbox is stopping and ends all processes
 * itself.
 */
void mcp_child_free(struct mcp_child *c, const char *why, bool kill);

/*
 * Sends a request: method, and its params as JSON or empty. q->done follows. ERR_CLOSED:
 * it is not READY; ERR_LIMIT: it does not read.
 */
int mcp_child_request(struct mcp_child *c, struct mcp_child_call *q, struct str method,
	struct str params) MUST_USE;
/* The id of the next request, for use inside the params of that request. */
uint64_t mcp_child_next_id(const struct mcp_child *c);
/* Sends a notification: params are JSON, or empty. It is dropped if there is no space. */
void mcp_child_notify(struct mcp_child *c, struct str method, struct str params);
/* Answers a request of the server with this id: with the response m, or with an error. */
void mcp_child_send_answer(struct mcp_child *c, struct str id, const struct jsonrpc *m);
void mcp_child_send_error(
	struct mcp_child *c, struct str id, int code, const char *words);
/*
 * Drops a request. If the second argument is true, the server receives a cancellation and
 * may stop its work.
 */
void mcp_child_cancel(struct mcp_child_call *q, bool tell);

#endif
