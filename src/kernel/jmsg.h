/*
 * Messages of Jupyter kernels, as of protocol 5.3: the parts of a ZMTP message, with a
 * signature (HMAC-SHA256) over four JSON texts. Without I/O.
 */
#ifndef KERNEL_JMSG_H
#define KERNEL_JMSG_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "limits.h"

/* The delimiter, the signature, header, parent, metadata, content. */
enum { JMSG_PARTS = 6, JMSG_SESSION = 32, JMSG_ID_MAX = JMSG_SESSION + 24 };

/* One end of the talk: who we are, and the key that both ends have. */
struct jmsg_session {
	char id[JMSG_SESSION + 1];
	uint64_t sent;
	bool is_signed;
	struct hmac_key key;
};

/* A fresh session. An empty key: nothing is signed or checked. -errno of random. */
int jmsg_session_init(struct jmsg_session *s, struct str key) MUST_USE;

/* A message to be sent. Zeroed to begin with; the memory is kept for the next one. */
struct jmsg_out {
	struct buf text;
	char signature[SHA256_HEX + 1];
	char id[JMSG_ID_MAX]; /* which the answers name as their parent */
	struct str parts[JMSG_PARTS];
};

/*
 * Each makes a request in *o: 0, or what stuck in its buffer. A cell runs without
 * stdin, is not kept in the history, and its error does not abort what is queued.
 */
int jmsg_execute_request(
	struct jmsg_session *s, struct str code, struct jmsg_out *o) MUST_USE;
/* A shutdown_request, to a kernel that another one follows. */
int jmsg_restart_request(struct jmsg_session *s, struct jmsg_out *o) MUST_USE;
/* One that has nothing to tell: kernel_info_request, interrupt_request. */
int jmsg_plain_request(
	struct jmsg_session *s, const char *type, struct jmsg_out *o) MUST_USE;
void jmsg_out_free(struct jmsg_out *o);

enum jmsg_type {
	JMSG_OTHER, /* known by its name only */
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

/* A message that came, its signature checked. Borrows the parts and the arena. */
struct jmsg {
	enum jmsg_type type;
	struct str name;   /* of the type */
	struct str parent; /* id of the request that this is about; empty for none */
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
 * Reads the parts of one message; what stands before the delimiter and behind the
 * content is passed over. 0; ERR_SYNTAX, ERR_TYPE and the errors of json_parse, with
 * *why a static string; -ENOMEM. Text that is no UTF-8, which a kernel sends for names
 * of files that are none, is repaired.
 */
int jmsg_read(const struct jmsg_session *s, const struct str *parts, size_t n,
	struct arena *a, struct jmsg *out, const char **why) MUST_USE;

#endif
