/*
 * JSON-RPC 2.0: classifies and checks messages, and writes answers. An engine without
 * I/O.
 */
#ifndef CODEC_HTTP_JSONRPC_H
#define CODEC_HTTP_JSONRPC_H

#include "base/json.h"
#include "base/jw.h"

/* Error codes (specification, section 5.1). */
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

/* A message. Its texts point into the JSON that was parsed, or into the arena. */
struct jsonrpc {
	enum jsonrpc_kind kind;
	struct str id;     /* as it was sent, in JSON; empty: none */
	struct str method; /* decoded */
	struct json_val params, result, error;
};

/*
 * Reads v as a single message (a batch is an array of them). 0; ERR_TYPE: v is no
 * message, *why is the reason, and m->id is the id if it could be read; -ENOMEM. An id is
 * a string or a number (as MCP restricts it) of at most JSONRPC_ID_MAX bytes; params are
 * an object or an array.
 */
int jsonrpc_read(
	struct json_val v, struct arena *a, struct jsonrpc *m, const char **why) MUST_USE;

/*
 * Finds the id, as it was sent, in a text that was meant as a response but is malformed
 * in any way. Empty: the text has no id that is a number, or is no response.
 */
struct str jsonrpc_recover_id(struct str text);

/*
 * Opens an answer up to the value of its result. The caller writes the value and calls
 * end.
 */
void jsonrpc_begin(struct jw *w, struct buf *out, struct str id);
void jsonrpc_end(struct jw *w);
/* Writes a whole answer. An empty id becomes null. */
void jsonrpc_write_error(struct buf *out, struct str id, int code, struct str words);
/* Writes a whole answer with the result or the error of the response m. */
void jsonrpc_write_forward(struct buf *out, struct str id, const struct jsonrpc *m);

/*
 * Writes a whole request, or, if id is 0, a notification. params are JSON; empty: none.
 */
void jsonrpc_write_call(
	struct buf *out, uint64_t id, struct str method, struct str params);

#endif
