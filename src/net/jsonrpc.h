/*
 * JSON-RPC 2.0: messages told apart and checked, answers written. An engine: it
 * neither reads nor sends.
 */
#ifndef NET_JSONRPC_H
#define NET_JSONRPC_H

#include "base/json.h"
#include "base/jw.h"

/* Codes of errors, of the specification's section 5.1. */
enum {
	JSONRPC_PARSE = -32700,
	JSONRPC_INVALID = -32600,
	JSONRPC_NO_METHOD = -32601,
	JSONRPC_PARAMS = -32602,
	JSONRPC_INTERNAL = -32603,
};

enum jsonrpc_kind {
	JSONRPC_REQUEST,      /* id, method */
	JSONRPC_NOTIFICATION, /* method */
	JSONRPC_RESPONSE,     /* id, and one of result and error */
};

/* One message; its texts belong to what it was read from, and to the arena. */
struct jsonrpc {
	enum jsonrpc_kind kind;
	struct str id;     /* as it was written, in JSON; empty for none */
	struct str method; /* decoded */
	struct json_val params, result, error;
};

/*
 * Reads v as one message, which a batch has several of. 0; ERR_TYPE: it is none, *why
 * says so, and m->id is what could be read of an id; -ENOMEM. An id is a string or a
 * number, as MCP has it, of JSONRPC_ID_MAX bytes; params are an object or an array.
 */
int jsonrpc_read(
	struct json_val v, struct arena *a, struct jsonrpc *m, const char **why) MUST_USE;

/*
 * The id, as it is written, of a text that was meant as a response but cannot be read as
 * one, by whatever is wrong with it. Empty: it has none that is a number, or is something
 * else.
 */
struct str jsonrpc_spoiled_id(struct str text);

/* Opens an answer up to the value of its result, which the caller writes, then ends. */
void jsonrpc_begin(struct jw *w, struct buf *out, struct str id);
void jsonrpc_end(struct jw *w);
/* A whole answer; an empty id becomes null. */
void jsonrpc_error(struct buf *out, struct str id, int code, struct str words);
/* The same with what m, a response, has for its result or error. */
void jsonrpc_pass(struct buf *out, struct str id, const struct jsonrpc *m);

/* A whole request, or with an id of 0 a notification; params are JSON, or empty: none. */
void jsonrpc_call(struct buf *out, uint64_t id, struct str method, struct str params);

#endif
