#include "srv/stream_private.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "file/crc.h"
#include "limits.h"
#include "srv/params.h"

#include <errno.h>
#include <stdlib.h>

#define PROTOCOL "od.stream.v1"
#define PROTOCOL_KEY "od.key."

enum { EPOCH = 8 };

struct streams {
	struct api *api;
	struct stream *first;
	unsigned n;
	bool stopping;
	char epoch[2 * EPOCH + 1];
	struct buf text; /* a frame that is being written */
};

struct stream {
	struct streams *all;
	struct stream **at, *next; /* in the list */
	struct ws_conn *ws;        /* NULL before it has begun, and at its end */
	bool trusted;              /* the peer has shown the key */
	struct channel *channels;  /* oldest first */
	unsigned channels_n;
	struct channel *turn; /* who is asked next for output; NULL: the first */
	struct timer timer;   /* of those who were woken */
	struct later later;
	void (*ended)(void *arg, unsigned code, const char *why); /* or NULL */
	void *arg;
};

struct api *stream_api(const struct stream *s)
{
	return s->all->api;
}

const char *stream_epoch(const struct stream *s)
{
	return s->all->epoch;
}

/* --- Text frames out ------------------------------------------------------------ */

/* Only one is written at a time. */
static void say(struct stream *s, struct jw *w, const char *type)
{
	buf_reset(&s->all->text);
	jw_init(w, &s->all->text);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
}

static void said(struct stream *s, struct jw *w)
{
	jw_end(w);
	if (s->all->text.err)
		log_warn("stream: out of memory for a frame");
	else if (s->ws)
		(void)ws_conn_send(s->ws, WS_TEXT, buf_view(&s->all->text), STR(""));
	buf_free(&s->all->text);
}

void channel_say(struct channel *c, struct jw *w, const char *type)
{
	say(c->stream, w, type);
	jw_key(w, "id");
	jw_uint(w, c->id);
}

void channel_said(struct channel *c, struct jw *w)
{
	said(c->stream, w);
}

static void complain(struct stream *s, uint64_t id, const char *type, const char *words)
{
	struct jw w;

	say(s, &w, type);
	if (id) {
		jw_key(&w, "id");
		jw_uint(&w, id);
	}
	jw_key(&w, "detail");
	jw_cstr(&w, words);
	said(s, &w);
}

void channel_complain(struct channel *c, const char *words)
{
	complain(c->stream, c->id, "error", words);
}

static void hello(struct stream *s)
{
	const struct box *box = s->all->api->box;
	struct jw w;

	say(s, &w, "hello");
	jw_key(&w, "version");
	jw_uint(&w, 1);
	jw_key(&w, "box");
	jw_cstr(&w, box->config->connect_id ? box->config->connect_id : box->host_name);
	jw_key(&w, "epoch");
	jw_cstr(&w, s->all->epoch);
	jw_key(&w, "window");
	jw_uint(&w, STREAM_WINDOW);
	jw_key(&w, "input_window");
	jw_uint(&w, STREAM_INPUT);
	said(s, &w);
}

/* --- Channels ------------------------------------------------------------------- */

static struct channel *find(const struct stream *s, uint64_t id)
{
	struct channel *c = s->channels;

	while (c && c->id != id)
		c = c->next;
	return c;
}

static void unlink_channel(struct channel *c)
{
	struct stream *s = c->stream;
	struct channel **at = &s->channels;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (s->turn == c)
		s->turn = c->next;
	s->channels_n--;
	c->kind->free(c);
}

void channel_close(struct channel *c, int exit_code, const char *why)
{
	struct jw w;

	channel_say(c, &w, "closed");
	if (exit_code >= 0) {
		jw_key(&w, "exit_code");
		jw_int(&w, exit_code);
	}
	if (why) {
		jw_key(&w, "detail");
		jw_cstr(&w, why);
	}
	channel_said(c, &w);
	unlink_channel(c);
}

static void put_number(uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

static uint64_t get_number(const char *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)at[i];
	return v;
}

void channel_send(struct channel *c, enum stream_frame kind, uint64_t at, uint64_t span,
	struct str bytes)
{
	uint8_t head[FRAME_HEAD] = {[FRAME_KIND] = (uint8_t)kind};

	put_number(head + FRAME_ID, c->id, 4);
	put_number(head + FRAME_AT, at, 8);
	put_number(head + FRAME_SPAN, span, 4);
	put_number(head + FRAME_SUM, crc_update(0, bytes), 4);
	c->sent += bytes.n;
	if (c->stream->ws)
		(void)ws_conn_send(c->stream->ws, WS_BINARY,
			str_make((const char *)head, FRAME_HEAD), bytes);
}

void channel_took(struct channel *c, size_t n)
{
	struct jw w;

	c->took += n;
	if (c->took - c->told < STREAM_INPUT / 4)
		return;
	c->told = c->took;
	channel_say(c, &w, "ack");
	jw_key(&w, "bytes");
	jw_uint(&w, c->took);
	channel_said(c, &w);
}

/* --- Output --------------------------------------------------------------------- */

static size_t credit(const struct channel *c)
{
	uint64_t open = c->sent - c->acked;

	return open < STREAM_WINDOW ? (size_t)(STREAM_WINDOW - open) : 0;
}

/* The next in turn that may have something and may send it. */
static struct channel *next_ready(struct stream *s)
{
	for (unsigned i = 0; i < s->channels_n; i++) {
		struct channel *c = s->turn ? s->turn : s->channels;

		s->turn = c->next;
		if (c->ready && credit(c))
			return c;
	}
	return NULL;
}

/* As much as there is room for; the connection asks again when it has more. */
static void pump(struct stream *s)
{
	struct channel *c;

	while (s->ws && ws_conn_queued(s->ws) < WS_QUEUE && (c = next_ready(s))) {
		if (c->kind->more(c, credit(c)) == 1)
			c->ready = false;
	}
}

static void on_turn(struct timer *t)
{
	pump(container_of(t, struct stream, timer));
}

void channel_wake(struct channel *c)
{
	struct stream *s = c->stream;

	c->ready = true;
	if (!s->timer.slot && timer_set(s->all->api->box->loop, &s->timer, 0, on_turn))
		log_warn("stream: out of memory for a turn");
}

static void on_room(void *arg)
{
	pump(arg);
}

static void on_beat(void *arg)
{
	struct stream *s = arg;
	struct jw w;

	/* A peer that does not read has enough of it. */
	if (ws_conn_queued(s->ws) > WS_QUEUE)
		return;
	say(s, &w, "heartbeat");
	jw_key(&w, "mono_ms");
	jw_uint(&w, clock_ms());
	jw_key(&w, "epoch");
	jw_cstr(&w, s->all->epoch);
	said(s, &w);
}

/* --- Frames in ------------------------------------------------------------------ */

static const struct channel_kind *const channel_kinds[] = {
	&channel_session,
	&channel_terminal,
	&channel_http,
};

static void on_open(struct stream *s, const struct stream_ask *ask)
{
	const struct channel_kind *kind = channel_kinds[ask->kind];
	const char *why = NULL;
	struct channel *c = NULL;
	struct channel **end = &s->channels;
	struct jw w;

	if (!ask->id)
		why = "A channel needs an id from 1 on.";
	else if (find(s, ask->id))
		why = "There is a channel of this id.";
	else if (s->channels_n == STREAM_CHANNELS_MAX)
		why = "There are too many channels.";
	else if (!s->trusted && !kind->open)
		why = "The key has to be shown before.";
	say(s, &w, "opened");
	jw_key(&w, "id");
	jw_uint(&w, ask->id);
	if (!why)
		c = kind->begin(s, ask, &w, &why);
	if (!c) {
		/* Of one that is there already nothing was closed. */
		complain(s, ask->id, find(s, ask->id) ? "error" : "closed", why);
		return;
	}
	c->kind = kind;
	c->stream = s;
	c->id = (uint32_t)ask->id;
	while (*end)
		end = &(*end)->next;
	*end = c;
	s->channels_n++;
	said(s, &w);
	if (kind->opened)
		kind->opened(c);
	channel_wake(c);
}

static void on_ack(struct stream *s, const struct stream_ask *ask)
{
	struct channel *c = find(s, ask->id);

	/* It may be about one that has just been closed. */
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
	struct channel *c = find(s, ask->id);

	if (c && c->kind->resize && ask->rows && ask->columns)
		c->kind->resize(c, (uint16_t)ask->rows, (uint16_t)ask->columns);
}

static void on_end(struct stream *s, const struct stream_ask *ask)
{
	struct channel *c = find(s, ask->id);

	if (c && c->kind->end)
		c->kind->end(c);
}

static void on_close(struct stream *s, const struct stream_ask *ask)
{
	struct channel *c = find(s, ask->id);

	if (c)
		channel_close(c, -1, NULL);
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
		complain(s, 0, "error", "Invalid API Key");
}

static const char *const types[] = {
	"open", "ack", "resize", "end", "close", "heartbeat", "key", NULL};
static void (*const handlers[])(struct stream *s, const struct stream_ask *ask) = {
	on_open, on_ack, on_resize, on_end, on_close, on_heartbeat, on_key};
static const char *const kinds[] = {"session", "terminal", "http", NULL};

_Static_assert(ARRAY_LEN(types) == ARRAY_LEN(handlers) + 1, "each type has a handler");
_Static_assert(ARRAY_LEN(kinds) == ARRAY_LEN(channel_kinds) + 1, "each kind a name");

#define AT(member) .at = offsetof(struct stream_ask, member)
static const struct param members[] = {
	{"type", PARAM_CHOICE, true, AT(type), .words = types},
	{"kind", PARAM_CHOICE, false, AT(kind), .words = kinds},
	{"id", PARAM_NUMBER, false, AT(id), .max = UINT32_MAX},
	{"offset", PARAM_NUMBER, false, AT(offset), .max = INT64_MAX},
	{"bytes", PARAM_NUMBER, false, AT(bytes), .max = INT64_MAX},
	{"rows", PARAM_NUMBER, false, AT(rows), .max = STREAM_SIZE_MAX},
	{"columns", PARAM_NUMBER, false, AT(columns), .max = STREAM_SIZE_MAX},
	{"epoch", PARAM_TEXT, false, AT(epoch)},
	{"session", PARAM_TEXT, false, AT(session)},
	{"key", PARAM_TEXT, false, AT(key)},
};

static void take_text(struct stream *s, struct str text)
{
	struct arena arena;
	struct params p = {.arena = &arena};
	struct stream_ask ask = {.offset = UINT64_MAX};
	int r;

	arena_init(&arena, STREAM_TEXT_MEMORY);
	r = text.n > STREAM_TEXT_MAX ? params_wrong(&p, "frame", "it is too long")
				     : params_body(&p, text);
	if (!r)
		r = params_take(&p, members, ARRAY_LEN(members), &ask);
	if (r)
		complain(s, ask.id, "error", p.wrong[0] ? p.wrong : "Out of memory.");
	else
		handlers[ask.type](s, &ask);
	arena_reset(&arena);
}

static void take_bytes(struct stream *s, struct str frame)
{
	struct str bytes = str_skip(frame, FRAME_HEAD);
	struct channel *c;

	if (frame.n < FRAME_HEAD || frame.p[FRAME_KIND] != FRAME_INPUT) {
		complain(s, 0, "error", "A binary frame is input, behind its head.");
		return;
	}
	c = find(s, get_number(frame.p + FRAME_ID, 4));
	if (!c)
		return;
	if (get_number(frame.p + FRAME_AT, 8) != c->got ||
		get_number(frame.p + FRAME_SPAN, 4) != bytes.n ||
		get_number(frame.p + FRAME_SUM, 4) != crc_update(0, bytes)) {
		channel_close(c, -1, "Input was lost or changed on its way.");
		return;
	}
	c->got += bytes.n;
	if (c->got - c->took > STREAM_INPUT)
		channel_close(c, -1, "There is more input than its window has.");
	else
		c->kind->input(c, bytes);
}

static void on_message(void *arg, enum ws_op op, struct str data)
{
	struct stream *s = arg;

	if (op == WS_TEXT)
		take_text(s, data);
	else
		take_bytes(s, data);
}

/* --- Beginning and end ---------------------------------------------------------- */

static void free_now(struct later *later)
{
	free(container_of(later, struct stream, later));
}

void stream_del(struct stream *s)
{
	struct loop *l;

	if (!s)
		return;
	l = s->all->api->box->loop;
	ws_conn_del(s->ws);
	s->ws = NULL;
	while (s->channels)
		unlink_channel(s->channels);
	timer_cancel(l, &s->timer);
	*s->at = s->next;
	if (s->next)
		s->next->at = s->at;
	s->all->n--;
	loop_free_later(l, &s->later, free_now);
}

static void on_ended(void *arg, unsigned code, const char *why)
{
	struct stream *s = arg;
	void (*ended)(void *arg, unsigned code, const char *why) = s->ended;
	void *ended_arg = s->arg;

	s->ws = NULL;
	stream_del(s);
	if (ended)
		ended(ended_arg, code, why);
}

static const struct ws_ops ops = {
	.message = on_message,
	.room = on_room,
	.beat = on_beat,
	.ended = on_ended,
};

struct stream *stream_new(struct streams *all,
	void (*ended)(void *arg, unsigned code, const char *why), void *arg)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->all = all;
	s->ended = ended;
	s->arg = arg;
	s->at = &all->first;
	s->next = all->first;
	if (s->next)
		s->next->at = &s->next;
	all->first = s;
	all->n++;
	return s;
}

struct ws_conf stream_conf(struct stream *s)
{
	return (struct ws_conf){
		.ops = &ops, .arg = s, .message_max = STREAM_INPUT + FRAME_HEAD};
}

void stream_begin(struct stream *s, struct ws_conn *ws)
{
	s->ws = ws;
	hello(s);
}

void streams_open(struct api *api, struct request *rq, struct str name)
{
	struct streams *all = api->streams;
	struct stream *s = NULL;
	struct ws_conn *ws;
	struct ws_conf conf;
	struct str protocol = ws_hand_offers(rq, STR(PROTOCOL)) ? STR(PROTOCOL) : STR("");

	(void)name;
	if (!request_is_at_home(rq)) {
		request_fail(rq, 403, STR("This Origin may not ask."));
		return;
	}
	if (all->n < STREAMS_MAX && !all->stopping)
		s = stream_new(all, NULL, NULL);
	if (!s) {
		request_fail(rq, 503, STR("There are too many streams."));
		return;
	}
	s->trusted = true;
	conf = stream_conf(s);
	if (ws_conn_accept(api->box->loop, rq, &conf, protocol, &ws))
		stream_del(s);
	else
		stream_begin(s, ws);
}

bool streams_key(const struct request *rq, struct str *key)
{
	return ws_hand_offered(rq, STR(PROTOCOL_KEY), key);
}

struct streams *streams_new(struct api *api)
{
	struct streams *all = calloc(1, sizeof(*all));
	uint8_t epoch[EPOCH];

	if (!all || random_bytes(epoch, sizeof(epoch))) {
		free(all);
		return NULL;
	}
	all->api = api;
	hex_encode(epoch, sizeof(epoch), all->epoch);
	buf_init(&all->text, STREAM_TEXT_OUT);
	return all;
}

void streams_stop(struct streams *all)
{
	all->stopping = true;
	for (struct stream *s = all->first; s; s = s->next)
		if (s->ws)
			ws_conn_close(s->ws, WS_GOING_AWAY, STR("the sandbox stops"));
}

void streams_del(struct streams *all)
{
	if (!all)
		return;
	while (all->first)
		stream_del(all->first);
	buf_free(&all->text);
	free(all);
}
