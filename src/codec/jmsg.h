/*
 * Messages of Jupyter kernels, protocol 5.3: the parts of a ZMTP message, with a
 * signature (HMAC-SHA256) over four JSON texts. Without I/O.
 */
#ifndef CODEC_JMSG_H
#define CODEC_JMSG_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "limits.h"

/* JMSG_PARTS: the delimiter, the signature, header, parent, metadata, content. */
enum { JMSG_PARTS = 6, JMSG_SESSION = 32, JMSG_ID_MAX = JMSG_SESSION + 24 };

/* This end of a connection: its session id, and the key that both ends share. */
struct jmsg_session {
	char id[JMSG_SESSION + 1];
	uint64_t sent;
	bool is_signed;
	struct hmac_key key;
};

/*
 * Starts a new session. An empty key: messages are not signed or checked. -errno of
 * random.
 */
int jmsg_session_init(struct jmsg_session *s, struct str key) MUST_USE;

/*
 * A message to be sent. A zeroed object is valid; the memory is reused for the next
 * message.
 */
struct jmsg_out {
	struct buf text;
	char signature[SHA256_HEX + 1];
	char id[JMSG_ID_MAX]; /* the parent id of the replies */
	struct str parts[JMSG_PARTS];
};

/*
 * Each composes a request in *o: 0, or the error of its buffer. A cell runs without
 * stdin, is not kept in the history, and its error does not abort queued cells.
 */
int jmsg_execute_request(
	struct jmsg_session *s, struct str code, struct jmsg_out *o) MUST_USE;
/* A shutdown_request with restart set: another kernel follows. */
int jmsg_restart_request(struct jmsg_session *s, struct jmsg_out *o) MUST_USE;
/* A request without content: kernel_info_request, interrupt_request. */
int jmsg_plain_request(
	struct jmsg_session *s, const char *type, struct jmsg_out *o) MUST_USE;
void jmsg_out_free(struct jmsg_out *o);

enum jmsg_type {
	JMSG_OTHER, /* not decoded; see name */
	JMSG_STATUS,
	JMSG_STREAM,
	JMSG_EXECUTE_RESULT,
	JMSG_DISPLAY_DATA,
	JMSG_UPDATE_DISPLAY_DATA,
	JMSG_ERROR,
	JMSG_EXECUTE_REPLY,
	JMSG_KERNEL_INFO_REPLY,
};

enum jmsg_state { JMSG_BUSY, JMSG_IDLE, JMSG_STARTING };
enum jmsg_outcome { JMSG_OK, JMSG_FAILED, JMSG_ABORTED };

/* A received message with a verified signature. Borrows the parts and the arena. */
struct jmsg {
	enum jmsg_type type;
	struct str name;   /* of the type */
	struct str parent; /* id of the request that caused it; empty if there is none */
	struct json_val content;
	union {
		enum jmsg_state state; /* JMSG_STATUS */
		struct {
			struct str name, text;
		} stream;
		struct json_val
			data; /* of results and displays: an object, by MIME type */
		struct {
			struct str name, value;
			struct json_val traceback; /* an array of strings */
		} error;
		struct {
			enum jmsg_outcome outcome;
			struct json_val payload; /* an array, or absent */
		} reply;
	};
};

/*
 * Reads the parts of one message. Parts before the delimiter and after the content are
 * skipped. 0; ERR_SYNTAX, ERR_TYPE and the errors of json_parse, with *why a static
 * string; -ENOMEM. Text that is not UTF-8 is repaired: kernels send such text for file
 * names that are not UTF-8.
 */
int jmsg_read(const struct jmsg_session *s, const struct str *parts, size_t n,
	struct arena *a, struct jmsg *out, const char **why) MUST_USE;

#endif
