/*
 * A server of MCP that runs in the sandbox and speaks over stdin and stdout: its process,
 * started again when it dies, and the requests that it has not answered. We are its
 * client, one for all of ours.
 *
 *   OFF -> HELLO -> READY -> PAUSED -> HELLO
 *
 * HELLO, too, leads to PAUSED; each to LEAVING and OFF.
 */
#ifndef PLUG_MCP_CHILD_H
#define PLUG_MCP_CHILD_H

#include "base/lines.h"
#include "limits.h"
#include "net/jsonrpc.h"
#include "proc/children.h"
#include "proc/spawn.h"

enum mcp_child_state {
	MCP_CHILD_OFF,   /* it does not run, and will not by itself */
	MCP_CHILD_HELLO, /* its answer to initialize has not come */
	MCP_CHILD_READY,
	MCP_CHILD_PAUSED,  /* it has died; another one is started soon */
	MCP_CHILD_LEAVING, /* it is not wanted any more, and has been told */
};

struct mcp_child;

/* A request on its way to a server; of its owner. */
struct mcp_ask {
	struct mcp_child *child; /* NULL: it is not on its way */
	struct mcp_ask *next;
	uint64_t id;
	/* The last call: a result or an error, as JSON; or why there is neither. */
	void (*done)(struct mcp_ask *q, const struct jsonrpc *m, const char *why);
	/* It reports progress: the params of that; NULL where nobody has asked. */
	void (*progress)(struct mcp_ask *q, struct json_val params);
};

struct mcp_child_ops {
	/* Its state is another one; but LEAVING and OFF, of which the owner knows. */
	void (*changed)(struct mcp_child *c, enum mcp_child_state from);
	/* It asks its client for something, or tells him, but for progress and ping. */
	void (*heard)(struct mcp_child *c, const struct jsonrpc *m);
	/* LEAVING: it has left, and is OFF. */
	void (*left)(struct mcp_child *c);
};

struct mcp_child {
	struct mcp_child *next; /* of the owner */
	const struct mcp_child_ops *ops;
	void *arg;
	struct loop *loop;
	const struct spawn_user *user;
	const char *cwd;
	char name[MCP_NAME_MAX + 1];
	struct arena memory; /* of what follows */
	const char *path, *const *argv, *const *env;

	enum mcp_child_state state;
	char why[MCP_WHY_MAX]; /* it is not ready */
	pid_t pid;
	struct child child;
	struct spawn_report report;
	struct io in, out; /* its standard input and output; fd -1: closed */
	struct buf send;
	struct lines lines; /* of its standard output */
	struct mcp_ask *asks;
	struct mcp_ask hello;
	uint64_t last_id;
	unsigned strange; /* lines that were no messages; only the first is told */
	uint64_t since;   /* of the state */
	uint64_t pause;
	bool termed; /* LEAVING: it has been sent a SIGTERM */
	struct timer timer;
};

/* Starts it. What fails is told by changed, perhaps before this returns. */
void mcp_child_start(struct mcp_child *c);
/*
 * Ends it: all who wait for it are answered with why, and its input ends; SIGTERM and
 * SIGKILL follow if it stays. left follows, before this returns if it does not run.
 */
void mcp_child_leave(struct mcp_child *c, const char *why);
/*
 * Closes all that leads to it, and frees what it has, but not c. kill: the process, too;
 * else, which is for the end of the sandbox, all processes are ended anyway.
 */
void mcp_child_free(struct mcp_child *c, const char *why, bool kill);

/*
 * Sends a request: method, and its params in JSON or nothing; done follows. Unless
 * READY, ERR_CLOSED; ERR_LIMIT when it does not read what it is sent.
 */
int mcp_child_ask(struct mcp_child *c, struct mcp_ask *q, struct str method,
	struct str params) MUST_USE;
/* The id that the next request will have, which may stand in it. */
uint64_t mcp_child_next_id(const struct mcp_child *c);
/* Tells it something: params are JSON, or empty. What finds no room is dropped. */
void mcp_child_tell(struct mcp_child *c, struct str method, struct str params);
/* Answers what it has asked, under its id: with m, a response; or else an error. */
void mcp_child_answer(struct mcp_child *c, struct str id, const struct jsonrpc *m);
void mcp_child_refuse(struct mcp_child *c, struct str id, int code, const char *words);
/* Forgets a request; tell: the server, too, which may then spare the work. */
void mcp_child_forget(struct mcp_ask *q, bool tell);

#endif
