/*
 * The frames between the server and a plugin from a folder: a JSON object per line, see
 * docs/plugins.md. An engine without I/O: the caller passes whole lines.
 */
#ifndef CODEC_PLUGIN_FRAME_H
#define CODEC_PLUGIN_FRAME_H

#include "base/json.h"
#include "base/jw.h"
#include "limits.h"

enum plugin_op {
	PLUGIN_READY,
	PLUGIN_UNAVAILABLE, /* with a text */
	PLUGIN_LOG,         /* with a text */
	PLUGIN_PONG,        /* the answer to a ping */
	PLUGIN_REPLY,       /* with an id; the rest is in root */
};

/* A frame from a plugin. */
struct plugin_frame {
	enum plugin_op op;
	uint64_t id;
	struct str text;
	struct json json;
	struct json_val root;
};

/*
 * Parses a line. f must not move; its texts point into the line or the arena. 0;
 * ERR_SYNTAX with why, a static string; -ENOMEM.
 */
int plugin_frame_read(struct plugin_frame *f, struct str line, struct arena *a,
	const char **why) MUST_USE;

/*
 * Recognizes a reply of a built-in plugin, {"op":"reply","id":7,"observation":{...}} to
 * the byte. Its observation is complete and is not parsed. False: it is another frame.
 */
bool plugin_frame_match_reply(struct str line, uint64_t *id, struct str *observation);

/* The reply to a request, read from a frame. */
struct plugin_answer {
	unsigned status;
	const char *type; /* content type; NULL: none */
	struct plugin_field {
		struct str name, value;
	} fields[PLUGIN_HEADERS_MAX];
	size_t fields_n;
	struct buf body; /* owned by the caller */
	bool more;       /* another piece follows */
};
/* Reads the first piece, or the whole reply. 0; ERR_SYNTAX with why; -ENOMEM. */
int plugin_answer_read(struct plugin_answer *an, struct json_val root, struct arena *a,
	const char **why) MUST_USE;
/* Reads a piece after the first, of which only body and more count. As above. */
int plugin_piece_read(struct plugin_answer *an, struct json_val root, struct arena *a,
	const char **why) MUST_USE;

/* Checks an observation and completes it. If it has no kind, kind is used. As above. */
int plugin_frame_put_observation(struct json_val root, const char *kind, struct arena *a,
	struct buf *out, const char **why) MUST_USE;

/* Writes a body: as "body" if it is text, else in Base64 as "body64". */
void plugin_body_write(struct jw *w, struct str body);
/* Writes JSON without the blanks between its tokens, and so without newlines. */
int plugin_json_write(struct jw *w, struct str json, struct arena *a) MUST_USE;

#endif
