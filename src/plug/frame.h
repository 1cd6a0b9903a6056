/*
 * The frames between the server and a plugin on the disk: one JSON object per line, as
 * docs/plugins.md has it. An engine: it is given whole lines.
 */
#ifndef PLUG_FRAME_H
#define PLUG_FRAME_H

#include "base/json.h"
#include "base/jw.h"
#include "limits.h"

enum plugin_op {
	PLUGIN_READY,
	PLUGIN_UNAVAILABLE, /* with words */
	PLUGIN_LOG,         /* with words */
	PLUGIN_PONG,        /* it lives */
	PLUGIN_REPLY,       /* with an id; the rest is in root */
};

/* What a plugin says. */
struct plugin_frame {
	enum plugin_op op;
	uint64_t id;
	struct str words;
	struct json json;
	struct json_val root;
};

/*
 * Reads one line; f stays where it is, and its texts are the line's or the arena's. 0;
 * ERR_SYNTAX with why, a static string; -ENOMEM.
 */
int plugin_frame_read(struct plugin_frame *f, struct str line, struct arena *a,
	const char **why) MUST_USE;

/*
 * A reply of a program of ours, {"op":"reply","id":7,"observation":{...}} to the byte,
 * whose observation is complete and is not looked into. False: it is another frame.
 */
bool plugin_own_reply(struct str line, uint64_t *id, struct str *observation);

/* The reply to a request, as it stands in a frame. */
struct plugin_answer {
	unsigned status;
	const char *type; /* content type; NULL: none */
	struct plugin_field {
		struct str name, value;
	} fields[PLUGIN_HEADERS_MAX];
	size_t fields_n;
	struct buf body; /* to be freed */
	bool more;       /* this is one piece, and another one follows */
};
/* The first piece, or all of it. 0; ERR_SYNTAX with why; -ENOMEM. */
int plugin_answer_read(struct plugin_answer *an, struct json_val root, struct arena *a,
	const char **why) MUST_USE;
/* A piece behind the first, of which body and more count. As above. */
int plugin_piece_read(struct plugin_answer *an, struct json_val root, struct arena *a,
	const char **why) MUST_USE;

/* Checks an observation and completes it: kind is for one that has none. As above. */
int plugin_observation(struct json_val root, const char *kind, struct arena *a,
	struct buf *out, const char **why) MUST_USE;

/* A body: text as "body" where it is text, or else Base64 as "body64". */
void plugin_body_write(struct jw *w, struct str body);
/* JSON without the blanks between its tokens, so without a newline. */
int plugin_json_write(struct jw *w, struct str json, struct arena *a) MUST_USE;

#endif
