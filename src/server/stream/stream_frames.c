/* Frames from the peer of a stream. */
#include "server/stream/stream_private.h"

#include "limits.h"
#include "server/idempotency/idem_private.h"
#include "server/params.h"

#include <errno.h>

enum {
	KIND_SESSION,
	KIND_TERMINAL,
	KIND_HTTP,
	KIND_ACTION,
	KIND_EVENTS,
	KIND_PROCESS,
	KINDS,
};

static const char *const kinds[KINDS + 1] = {
	[KIND_SESSION] = "session",
	[KIND_TERMINAL] = "terminal",
	[KIND_HTTP] = "http",
	[KIND_ACTION] = "action",
	[KIND_EVENTS] = "events",
	[KIND_PROCESS] = "process",
};

static const struct channel_kind *const channel_kinds[KINDS] = {
	[KIND_SESSION] = &channel_session,
	[KIND_TERMINAL] = &channel_terminal,
	[KIND_HTTP] = &channel_http,
	[KIND_ACTION] = &channel_action,
	[KIND_EVENTS] = &channel_events,
	[KIND_PROCESS] = &channel_process,
};

/* If the id is in use, "error" is sent, because "closed" would close that channel. */
static void stream_frames_refuse(struct stream *s, const struct stream_request *ask,
	const struct channel_refusal *why)
{
	struct jw w;

	stream_begin_text(s, &w, stream_find(s, ask->id) ? "error" : "closed");
	if (ask->id) {
		jw_key(&w, "id");
		jw_uint(&w, ask->id);
	}
	if (why->status) {
		jw_key(&w, "status");
		jw_uint(&w, why->status);
	}
	jw_key(&w, "detail");
	jw_cstr(&w, why->message);
	stream_end_text(s, &w);
}

static void stream_frames_on_open(struct stream *s, const struct stream_request *ask)
{
	const struct channel_kind *kind = channel_kinds[ask->kind];
	struct channel_refusal why = {0};
	struct channel *c = NULL;
	struct buf text = BUF_INIT(STREAM_TEXT_OUT);
	struct jw w;

	if (!ask->id)
		why.message = "The id of a channel must be 1 or higher.";
	else if (stream_find(s, ask->id))
		why.message = "A channel with this id is already open.";
	else if (s->channels_n == STREAM_CHANNELS_MAX)
		why.message = "Too many channels are open in this stream.";
	else if (!s->trusted && !kind->open)
		why.message = "The session key is required first.";
	/* A buffer of its own, because another channel may send a frame meanwhile. */
	stream_begin_text_in(&text, &w, "opened");
	jw_key(&w, "id");
	jw_uint(&w, ask->id);
	if (!why.message)
		c = kind->begin(s, ask, &w, &why);
	if (!c) {
		buf_free(&text);
		stream_frames_refuse(s, ask, &why);
		return;
	}
	c->kind = kind;
	c->stream = s;
	c->id = (uint32_t)ask->id;
	/* The kind may have set a smaller maximum. */
	if (!c->window || ask->window < c->window)
		c->window = (uint32_t)ask->window;
	list_append(&s->channels, &c->node);
	s->channels_n++;
	stream_end_text(s, &w);
	if (kind->opened)
		kind->opened(c);
	channel_wake(c);
}

static void stream_frames_on_ack(struct stream *s, const struct stream_request *ask)
{
	struct channel *c = stream_find(s, ask->id);

	/* The channel may have been closed just before. */
	if (!c)
		return;
	if (ask->bytes > c->sent) {
		channel_close(c, -1, "More bytes were acknowledged than sent.");
		return;
	}
	if (ask->bytes > c->acked)
		c->acked = ask->bytes;
	channel_wake(c);
}

static void stream_frames_on_resize(struct stream *s, const struct stream_request *ask)
{
	struct channel *c = stream_find(s, ask->id);

	if (c && c->kind->resize && ask->rows && ask->columns)
		c->kind->resize(c, (uint16_t)ask->rows, (uint16_t)ask->columns);
}

static void stream_frames_on_end(struct stream *s, const struct stream_request *ask)
{
	struct channel *c = stream_find(s, ask->id);

	if (c && c->kind->end)
		c->kind->end(c);
}

static void stream_frames_on_close(struct stream *s, const struct stream_request *ask)
{
	struct channel *c = stream_find(s, ask->id);

	if (c)
		channel_close(c, -1, NULL);
}

static void stream_frames_on_cancel(struct stream *s, const struct stream_request *ask)
{
	struct channel *c = stream_find(s, ask->id);

	if (c && c->kind->cancel)
		c->kind->cancel(c, ask->mode);
}

static void stream_frames_on_heartbeat(struct stream *s, const struct stream_request *ask)
{
	(void)s;
	(void)ask;
}

static void stream_frames_on_key(struct stream *s, const struct stream_request *ask)
{
	s->trusted = api_check_key(s->all->api, ask->key);
	if (!s->trusted)
		stream_send_error(s, 0, "error", "Invalid API Key");
}

/* Fencing: the highest lease wins. Streams with a lower one are closed. */
static void stream_frames_on_lease(struct stream *s, const struct stream_request *ask)
{
	struct jw w;
	int r = s->trusted ? idem_set_lease(s->all->api->idem, ask->lease) : -EACCES;

	if (r == -EACCES) {
		stream_send_error(s, 0, "error", "The session key is required first.");
	} else if (r && r != ERR_RANGE) {
		stream_send_error(s, 0, "error", "The lease cannot be recorded.");
	} else {
		s->lease = ask->lease;
		stream_begin_text(s, &w, "lease");
		jw_key(&w, "lease");
		jw_uint(&w, s->all->api->idem->ledger.lease);
		stream_end_text(s, &w);
		streams_fence(s->all->api);
	}
}

enum {
	FRAME_OPEN,
	FRAME_ACK,
	FRAME_RESIZE,
	FRAME_END,
	FRAME_CLOSE,
	FRAME_CANCEL,
	FRAME_HEARTBEAT,
	FRAME_KEY,
	FRAME_LEASE,
	FRAME_PROVE,
	FRAME_PROOF,
	FRAME_TYPES,
};

static const char *const types[FRAME_TYPES + 1] = {
	[FRAME_OPEN] = "open",
	[FRAME_ACK] = "ack",
	[FRAME_RESIZE] = "resize",
	[FRAME_END] = "end",
	[FRAME_CLOSE] = "close",
	[FRAME_CANCEL] = "cancel",
	[FRAME_HEARTBEAT] = "heartbeat",
	[FRAME_KEY] = "key",
	[FRAME_LEASE] = "lease",
	[FRAME_PROVE] = "prove",
	[FRAME_PROOF] = "proof",
};

static void (*const handlers[FRAME_TYPES])(
	struct stream *s, const struct stream_request *ask) = {
	[FRAME_OPEN] = stream_frames_on_open,
	[FRAME_ACK] = stream_frames_on_ack,
	[FRAME_RESIZE] = stream_frames_on_resize,
	[FRAME_END] = stream_frames_on_end,
	[FRAME_CLOSE] = stream_frames_on_close,
	[FRAME_CANCEL] = stream_frames_on_cancel,
	[FRAME_HEARTBEAT] = stream_frames_on_heartbeat,
	[FRAME_KEY] = stream_frames_on_key,
	[FRAME_LEASE] = stream_frames_on_lease,
	[FRAME_PROVE] = stream_proof_answer,
	[FRAME_PROOF] = stream_proof_check,
};

#define AT(member) .at = offsetof(struct stream_request, member)
static const struct param members[] = {
	{"type", PARAM_CHOICE, true, AT(type), .words = types},
	{"kind", PARAM_CHOICE, false, AT(kind), .words = kinds},
	{"id", PARAM_NUMBER, false, AT(id), .max = UINT32_MAX},
	{"offset", PARAM_NUMBER, false, AT(offset), .max = INT64_MAX},
	{"bytes", PARAM_NUMBER, false, AT(bytes), .max = INT64_MAX},
	{"window", PARAM_NUMBER, false, AT(window), .min = STREAM_WINDOW_MIN,
		.max = STREAM_WINDOW},
	{"rows", PARAM_NUMBER, false, AT(rows), .max = STREAM_SIZE_MAX},
	{"columns", PARAM_NUMBER, false, AT(columns), .max = STREAM_SIZE_MAX},
	{"mode", PARAM_CHOICE, false, AT(mode), .words = idem_cancel_modes},
	{"lease", PARAM_NUMBER, false, AT(lease), .max = INT64_MAX},
	{"action_id", PARAM_TEXT, false, AT(action_id)},
	{"process", PARAM_TEXT, false, AT(process)},
	{"stderr", PARAM_NUMBER, false, AT(stderr_at), .max = INT64_MAX},
	{"keep", PARAM_BOOL, false, AT(keep)},
	{"terminal", PARAM_TEXT, false, AT(terminal)},
	{"epoch", PARAM_TEXT, false, AT(epoch)},
	{"session", PARAM_TEXT, false, AT(session)},
	{"key", PARAM_TEXT, false, AT(key)},
	{"authorized", PARAM_BOOL, false, AT(authorized)},
	{"nonce", PARAM_TEXT, false, AT(nonce)},
	{"proof", PARAM_TEXT, false, AT(proof)},
};

void stream_handle_text(struct stream *s, struct str text)
{
	struct arena arena;
	struct params p = {.arena = &arena};
	struct stream_request ask = {.offset = UINT64_MAX, .window = STREAM_WINDOW};
	int r;

	arena_init(&arena, STREAM_TEXT_MEMORY);
	r = text.n > STREAM_TEXT_MAX ? params_set_error(&p, "frame", "it is too long")
				     : params_parse_body(&p, text);
	if (!r)
		r = params_read(&p, members, ARRAY_LEN(members), &ask);
	if (!r && json_type(json_get(p.body, "action")) == JSON_OBJECT)
		ask.action = json_raw(json_get(p.body, "action"));
	if (!r)
		ask.start = json_get(p.body, "start");
	if (r)
		stream_send_error(
			s, ask.id, "error", p.error[0] ? p.error : "Out of memory.");
	else
		handlers[ask.type](s, &ask);
	arena_reset(&arena);
}

void stream_handle_bytes(struct stream *s, struct str frame)
{
	struct channel_frame f = {0};
	struct channel *c;
	int r = channel_frame_get(frame, &f);

	if (r == ERR_SYNTAX || (!r && f.kind != CHANNEL_INPUT)) {
		stream_send_error(
			s, 0, "error", "A binary frame must be input with its header.");
		return;
	}
	if (r) {
		ws_conn_close(
			s->ws, WS_PROTOCOL, STR("the checksum of a frame is wrong"));
		return;
	}
	c = stream_find(s, f.id);
	if (!c)
		return;
	if (f.at != c->received || f.span != f.bytes.n) {
		channel_close(
			c, -1, "The input does not continue at the expected offset.");
		return;
	}
	c->received += f.bytes.n;
	if (c->received - c->handled > STREAM_INPUT)
		channel_close(c, -1, "More input was sent than the window allows.");
	else
		c->kind->input(c, f.bytes);
}
