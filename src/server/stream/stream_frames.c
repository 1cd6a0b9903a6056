/* Frames from the peer of a stream. */
#include "server/stream/stream_private.h"

#include "limits.h"
#include "server/idempotency/once_private.h"
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
static void refuse(
	struct stream *s, const struct stream_ask *ask, const struct channel_refusal *why)
{
	struct jw w;

	stream_say(s, &w, stream_find(s, ask->id) ? "error" : "closed");
	if (ask->id) {
		jw_key(&w, "id");
		jw_uint(&w, ask->id);
	}
	if (why->status) {
		jw_key(&w, "status");
		jw_uint(&w, why->status);
	}
	jw_key(&w, "detail");
	jw_cstr(&w, why->words);
	stream_said(s, &w);
}

static void on_open(struct stream *s, const struct stream_ask *ask)
{
	const struct channel_kind *kind = channel_kinds[ask->kind];
	struct channel_refusal why = {0};
	struct channel *c = NULL;
	struct channel **end = &s->channels;
	struct buf text = BUF_INIT(STREAM_TEXT_OUT);
	struct jw w;

	if (!ask->id)
		why.words = "A channel needs an id from 1 on.";
	else if (stream_find(s, ask->id))
		why.words = "There is a channel of this id.";
	else if (s->channels_n == STREAM_CHANNELS_MAX)
		why.words = "There are too many channels.";
	else if (!s->trusted && !kind->open)
		why.words = "The key has to be shown before.";
	/* A buffer of its own, because another channel may send a frame meanwhile. */
	stream_say_in(&text, &w, "opened");
	jw_key(&w, "id");
	jw_uint(&w, ask->id);
	if (!why.words)
		c = kind->begin(s, ask, &w, &why);
	if (!c) {
		buf_free(&text);
		refuse(s, ask, &why);
		return;
	}
	c->kind = kind;
	c->stream = s;
	c->id = (uint32_t)ask->id;
	/* The kind may have set a smaller maximum. */
	if (!c->window || ask->window < c->window)
		c->window = (uint32_t)ask->window;
	c->next = NULL;
	while (*end)
		end = &(*end)->next;
	*end = c;
	s->channels_n++;
	stream_said(s, &w);
	if (kind->opened)
		kind->opened(c);
	channel_wake(c);
}

static void on_ack(struct stream *s, const struct stream_ask *ask)
{
	struct channel *c = stream_find(s, ask->id);

	/* The channel may have been closed just before. */
	if (!c)
		return;
	if (ask->bytes > c->sent) {
		channel_close(c, -1, "More was acknowledged than sent.");
		return;
	}
	if (ask->bytes > c->acked)
		c->acked = ask->bytes;
	channel_wake(c);
}

static void on_resize(struct stream *s, const struct stream_ask *ask)
{
	struct channel *c = stream_find(s, ask->id);

	if (c && c->kind->resize && ask->rows && ask->columns)
		c->kind->resize(c, (uint16_t)ask->rows, (uint16_t)ask->columns);
}

static void on_end(struct stream *s, const struct stream_ask *ask)
{
	struct channel *c = stream_find(s, ask->id);

	if (c && c->kind->end)
		c->kind->end(c);
}

static void on_close(struct stream *s, const struct stream_ask *ask)
{
	struct channel *c = stream_find(s, ask->id);

	if (c)
		channel_close(c, -1, NULL);
}

static void on_cancel(struct stream *s, const struct stream_ask *ask)
{
	struct channel *c = stream_find(s, ask->id);

	if (c && c->kind->cancel)
		c->kind->cancel(c, ask->mode);
}

static void on_heartbeat(struct stream *s, const struct stream_ask *ask)
{
	(void)s;
	(void)ask;
}

static void on_key(struct stream *s, const struct stream_ask *ask)
{
	s->trusted = api_knows_key(s->all->api, ask->key);
	if (!s->trusted)
		stream_complain(s, 0, "error", "Invalid API Key");
}

/* Fencing: the highest lease wins. Streams with a lower one are closed. */
static void on_lease(struct stream *s, const struct stream_ask *ask)
{
	struct jw w;
	int r = s->trusted ? once_lease(s->all->api->once, ask->lease) : -EACCES;

	if (r == -EACCES) {
		stream_complain(s, 0, "error", "The key has to be shown before.");
	} else if (r && r != ERR_RANGE) {
		stream_complain(s, 0, "error", "The lease cannot be recorded.");
	} else {
		s->lease = ask->lease;
		stream_say(s, &w, "lease");
		jw_key(&w, "lease");
		jw_uint(&w, s->all->api->once->ledger.lease);
		stream_said(s, &w);
		streams_fence(s->all->api);
	}
}

enum {
	ASK_OPEN,
	ASK_ACK,
	ASK_RESIZE,
	ASK_END,
	ASK_CLOSE,
	ASK_CANCEL,
	ASK_HEARTBEAT,
	ASK_KEY,
	ASK_LEASE,
	ASK_PROVE,
	ASK_PROOF,
	ASKS,
};

static const char *const types[ASKS + 1] = {
	[ASK_OPEN] = "open",
	[ASK_ACK] = "ack",
	[ASK_RESIZE] = "resize",
	[ASK_END] = "end",
	[ASK_CLOSE] = "close",
	[ASK_CANCEL] = "cancel",
	[ASK_HEARTBEAT] = "heartbeat",
	[ASK_KEY] = "key",
	[ASK_LEASE] = "lease",
	[ASK_PROVE] = "prove",
	[ASK_PROOF] = "proof",
};

static void (*const handlers[ASKS])(struct stream *s, const struct stream_ask *ask) = {
	[ASK_OPEN] = on_open,
	[ASK_ACK] = on_ack,
	[ASK_RESIZE] = on_resize,
	[ASK_END] = on_end,
	[ASK_CLOSE] = on_close,
	[ASK_CANCEL] = on_cancel,
	[ASK_HEARTBEAT] = on_heartbeat,
	[ASK_KEY] = on_key,
	[ASK_LEASE] = on_lease,
	[ASK_PROVE] = stream_proof_answer,
	[ASK_PROOF] = stream_proof_check,
};

#define AT(member) .at = offsetof(struct stream_ask, member)
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
	{"mode", PARAM_CHOICE, false, AT(mode), .words = once_modes},
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

void stream_take_text(struct stream *s, struct str text)
{
	struct arena arena;
	struct params p = {.arena = &arena};
	struct stream_ask ask = {.offset = UINT64_MAX, .window = STREAM_WINDOW};
	int r;

	arena_init(&arena, STREAM_TEXT_MEMORY);
	r = text.n > STREAM_TEXT_MAX ? params_wrong(&p, "frame", "it is too long")
				     : params_body(&p, text);
	if (!r)
		r = params_take(&p, members, ARRAY_LEN(members), &ask);
	if (!r && json_type(json_get(p.body, "action")) == JSON_OBJECT)
		ask.action = json_raw(json_get(p.body, "action"));
	if (!r)
		ask.start = json_get(p.body, "start");
	if (r)
		stream_complain(
			s, ask.id, "error", p.wrong[0] ? p.wrong : "Out of memory.");
	else
		handlers[ask.type](s, &ask);
	arena_reset(&arena);
}

void stream_take_bytes(struct stream *s, struct str frame)
{
	struct channel_frame f = {0};
	struct channel *c;
	int r = channel_frame_get(frame, &f);

	if (r == ERR_SYNTAX || (!r && f.kind != CHANNEL_INPUT)) {
		stream_complain(
			s, 0, "error", "A binary frame is input, behind its head.");
		return;
	}
	if (r) {
		ws_conn_close(s->ws, WS_PROTOCOL, STR("bytes have changed on their way"));
		return;
	}
	c = stream_find(s, f.id);
	if (!c)
		return;
	if (f.at != c->got || f.span != f.bytes.n) {
		channel_close(c, -1, "This is not the next of the input.");
		return;
	}
	c->got += f.bytes.n;
	if (c->got - c->took > STREAM_INPUT)
		channel_close(c, -1, "There is more input than its window has.");
	else
		c->kind->input(c, f.bytes);
}
