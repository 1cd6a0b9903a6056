#include "server/stream/stream_private.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "limits.h"
#include "server/idempotency/idem_private.h"
#include "server/process/process_attach.h"

#include <errno.h>
#include <stdlib.h>

#define PROTOCOL "od.stream.v1"

struct api *stream_get_api(const struct stream *s)
{
	return s->all->api;
}

const char *stream_get_sandbox_name(const struct stream *s)
{
	const struct box *box = s->all->api->box;

	return box->config->connect_id ? box->config->connect_id : box->host_name;
}

const char *stream_get_epoch(const struct stream *s)
{
	return s->all->epoch;
}

/* --- Text frames out ------------------------------------------------------------ */

void stream_begin_text_in(struct buf *text, struct jw *w, const char *type)
{
	jw_init(w, text);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
}

/* At most one frame is open at a time. */
void stream_begin_text(struct stream *s, struct jw *w, const char *type)
{
	buf_reset(&s->all->text);
	stream_begin_text_in(&s->all->text, w, type);
}

void stream_end_text(struct stream *s, struct jw *w)
{
	struct buf *text = w->out;

	jw_end(w);
	/* If the frame were lost, the two sides would wait for each other. */
	if (s->ws && text->err)
		ws_conn_close(s->ws, WS_TRY_LATER, STR("out of memory"));
	else if (s->ws)
		(void)ws_conn_send(s->ws, WS_TEXT, buf_view(text), STR(""));
	buf_free(text);
}

void channel_begin_text(struct channel *c, struct jw *w, const char *type)
{
	stream_begin_text(c->stream, w, type);
	jw_key(w, "id");
	jw_uint(w, c->id);
}

void channel_end_text(struct channel *c, struct jw *w)
{
	stream_end_text(c->stream, w);
}

void channel_send_gap(struct channel *c, uint64_t from, uint64_t to)
{
	struct jw w;

	channel_begin_text(c, &w, "gap");
	jw_key(&w, "from");
	jw_uint(&w, from);
	jw_key(&w, "to");
	jw_uint(&w, to);
	channel_end_text(c, &w);
}

void stream_send_error(struct stream *s, uint64_t id, const char *type, const char *words)
{
	struct jw w;

	stream_begin_text(s, &w, type);
	if (id) {
		jw_key(&w, "id");
		jw_uint(&w, id);
	}
	jw_key(&w, "detail");
	jw_cstr(&w, words);
	stream_end_text(s, &w);
}

void channel_send_error(struct channel *c, const char *words)
{
	stream_send_error(c->stream, c->id, "error", words);
}

/*
 * Writes the identity of the ledger, which changes when the ledger is lost, and the
 * number of its last event.
 */
static void stream_put_ledger(struct jw *w, const struct idem *o)
{
	if (!o->open)
		return;
	jw_key(w, "sandbox");
	jw_cstr(w, o->ledger.box);
	jw_key(w, "boot");
	jw_uint(w, o->ledger.boot);
	jw_key(w, "last");
	jw_uint(w, o->ledger.event);
}

static void stream_send_hello(struct stream *s)
{
	struct jw w;

	if (idem_prepare(s->all->api->idem))
		log_warn("stream: events cannot be recorded");
	stream_begin_text(s, &w, "hello");
	jw_key(&w, "version");
	jw_uint(&w, 1);
	jw_key(&w, "box");
	jw_cstr(&w, stream_get_sandbox_name(s));
	jw_key(&w, "epoch");
	jw_cstr(&w, s->all->epoch);
	stream_proof_put_nonce(s, &w);
	stream_put_ledger(&w, s->all->api->idem);
	jw_key(&w, "window");
	jw_uint(&w, STREAM_WINDOW);
	jw_key(&w, "input_window");
	jw_uint(&w, STREAM_INPUT);
	stream_end_text(s, &w);
}

/* --- Channels ------------------------------------------------------------------- */

struct channel *stream_find(const struct stream *s, uint64_t id)
{
	LIST_EACH (struct channel, c, &s->channels, node)
		if (c->id == id)
			return c;
	return NULL;
}

static void stream_unlink_channel(struct channel *c)
{
	struct stream *s = c->stream;

	if (s->turn == c)
		s->turn = LIST_NEXT(c, struct channel, node);
	list_remove(&c->node);
	s->channels_n--;
}

static void stream_end_channel(struct channel *c)
{
	bool waits = c->stream->lost && c->kind->wait;

	stream_unlink_channel(c);
	if (!waits || !c->kind->wait(c))
		c->kind->free(c);
}

static void stream_send_closed(struct channel *c, int exit_code, const char *why)
{
	struct jw w;

	channel_begin_text(c, &w, "closed");
	if (exit_code >= 0) {
		jw_key(&w, "exit_code");
		jw_int(&w, exit_code);
	}
	if (why) {
		jw_key(&w, "detail");
		jw_cstr(&w, why);
	}
	channel_end_text(c, &w);
}

void channel_close(struct channel *c, int exit_code, const char *why)
{
	stream_send_closed(c, exit_code, why);
	stream_unlink_channel(c);
	c->kind->free(c);
}

void channel_detach(struct channel *c, int exit_code, const char *why)
{
	stream_send_closed(c, exit_code, why);
	stream_unlink_channel(c);
	c->stream = NULL;
}

void channel_send(struct channel *c, enum channel_frame_kind kind, uint64_t at,
	uint64_t span, struct str bytes)
{
	const struct channel_frame f = {.kind = (uint8_t)kind,
		.id = c->id,
		.at = at,
		.span = (uint32_t)span,
		.bytes = bytes};
	uint8_t head[CHANNEL_HEAD];

	channel_frame_put(head, &f);
	c->sent += bytes.n;
	if (c->stream->ws)
		(void)ws_conn_send(c->stream->ws, WS_BINARY,
			str_make((const char *)head, CHANNEL_HEAD), bytes);
}

void channel_ack_input(struct channel *c, size_t n)
{
	struct jw w;

	c->handled += n;
	if (!c->stream || c->handled - c->acked_input < STREAM_INPUT / 4)
		return;
	c->acked_input = c->handled;
	channel_begin_text(c, &w, "ack");
	jw_key(&w, "bytes");
	jw_uint(&w, c->handled);
	channel_end_text(c, &w);
}

/* --- Output --------------------------------------------------------------------- */

static size_t stream_get_credit(const struct channel *c)
{
	uint64_t open = c->sent - c->acked;

	return open < c->window ? (size_t)(c->window - open) : 0;
}

/* The next channel in turn that may have output and has credit. */
static struct channel *stream_pick_channel(struct stream *s)
{
	for (unsigned i = 0; i < s->channels_n; i++) {
		struct channel *c = s->turn;

		if (!c)
			c = LIST_FIRST(&s->channels, struct channel, node);
		s->turn = LIST_NEXT(c, struct channel, node);
		if (c->ready && stream_get_credit(c))
			return c;
	}
	return NULL;
}

/* Sends as much as the queue has space for. stream_on_writable continues. */
static void stream_send_pending(struct stream *s)
{
	struct channel *c;

	while (s->ws && ws_conn_queued(s->ws) < WS_QUEUE &&
		(c = stream_pick_channel(s))) {
		if (c->kind->more(c, stream_get_credit(c)) == 1)
			c->ready = false;
	}
}

static void stream_on_timer(struct timer *t)
{
	stream_send_pending(container_of(t, struct stream, timer));
}

void channel_wake(struct channel *c)
{
	struct stream *s = c->stream;

	c->ready = true;
	if (s && !timer_is_armed(&s->timer))
		timer_set(s->all->api->box->loop, &s->timer, 0, stream_on_timer);
}

static void stream_on_writable(void *arg)
{
	stream_send_pending(arg);
}

static void stream_on_heartbeat(void *arg)
{
	struct stream *s = arg;
	struct jw w;

	/* If the peer does not read, no heartbeat is queued. */
	if (ws_conn_queued(s->ws) > WS_QUEUE)
		return;
	stream_begin_text(s, &w, "heartbeat");
	jw_key(&w, "mono_ms");
	jw_uint(&w, clock_ms());
	jw_key(&w, "epoch");
	jw_cstr(&w, s->all->epoch);
	stream_put_ledger(&w, s->all->api->idem);
	stream_end_text(s, &w);
}

/* --- Beginning and end ---------------------------------------------------------- */

static void stream_on_message(void *arg, enum ws_op op, struct str data)
{
	struct stream *s = arg;

	if (op == WS_TEXT)
		stream_handle_text(s, data);
	else
		stream_handle_bytes(s, data);
}

static void stream_free_memory(struct later *later)
{
	free(container_of(later, struct stream, later));
}

void stream_del(struct stream *s)
{
	struct channel *c;
	struct loop *l;

	if (!s)
		return;
	l = s->all->api->box->loop;
	ws_conn_del(s->ws);
	s->ws = NULL;
	while ((c = LIST_FIRST(&s->channels, struct channel, node)))
		stream_end_channel(c);
	timer_cancel(l, &s->timer);
	list_remove(&s->node);
	s->all->n--;
	loop_defer_free(l, &s->later, stream_free_memory);
}

/* On a stream that the sandbox opened, the hello has the nonce of a proof. */
static void stream_on_open(void *arg)
{
	stream_proof_offer(arg);
	stream_send_hello(arg);
}

static void stream_on_end(void *arg, unsigned code, const char *why)
{
	struct stream *s = arg;
	void (*ended)(void *arg, unsigned code, const char *why) = s->ended;
	void *ended_arg = s->arg;

	s->ws = NULL;
	s->lost = code == WS_LOST;
	stream_del(s);
	if (ended)
		ended(ended_arg, code, why);
}

static const struct ws_ops ops = {
	.open = stream_on_open,
	.message = stream_on_message,
	.writable = stream_on_writable,
	.beat = stream_on_heartbeat,
	.ended = stream_on_end,
};

struct stream *stream_new(struct streams *all,
	void (*ended)(void *arg, unsigned code, const char *why), void *arg)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->all = all;
	s->trusted = !all->api->box->config->has_key;
	s->ended = ended;
	s->arg = arg;
	list_prepend(&all->list, &s->node);
	all->n++;
	return s;
}

struct ws_conf stream_conf(struct stream *s)
{
	return (struct ws_conf){
		.ops = &ops, .arg = s, .message_max = STREAM_INPUT + CHANNEL_HEAD};
}

void stream_begin(struct stream *s, struct ws_conn *ws)
{
	s->ws = ws;
	stream_send_hello(s);
}

void streams_open(struct api *api, struct request *rq, struct str name)
{
	struct streams *all = api->streams;
	struct stream *s = NULL;
	struct ws_conn *ws;
	struct ws_conf conf;
	struct str lease;
	struct str protocol =
		ws_hand_has_offer(rq, STR(PROTOCOL)) ? STR(PROTOCOL) : STR("");

	(void)name;
	if (!request_is_local_origin(rq)) {
		request_fail(
			rq, 403, STR("Requests with this Origin header are refused."));
		return;
	}
	if (all->n < STREAMS_MAX && !all->stopping)
		s = stream_new(all, NULL, NULL);
	if (!s) {
		request_fail(rq, 503, STR("Too many streams are open."));
		return;
	}
	s->trusted = true;
	/* The lease was checked when the head was received. */
	if (request_header(rq, STR("x-lease"), &lease) == 0 &&
		str_u64(lease, INT64_MAX, &s->lease) < 0)
		s->lease = 0;
	conf = stream_conf(s);
	if (ws_conn_accept(api->box->loop, rq, &conf, protocol, &ws))
		stream_del(s);
	else
		stream_begin(s, ws);
}

struct streams *streams_new(struct api *api)
{
	struct streams *all = calloc(1, sizeof(*all));
	uint8_t epoch[STREAM_EPOCH];

	if (!all || random_bytes(epoch, sizeof(epoch))) {
		free(all);
		return NULL;
	}
	all->api = api;
	hex_encode(epoch, sizeof(epoch), all->epoch);
	buf_init(&all->text, STREAM_TEXT_OUT);
	return all;
}

void streams_fence(struct api *api)
{
	LIST_EACH (struct stream, s, &api->streams->list, node)
		if (s->ws && s->lease && s->lease < api->idem->ledger.lease)
			ws_conn_close(s->ws, STREAM_FENCED, STR(IDEM_FENCED));
	attachments_fence(api->attachments);
}

void streams_stop(struct streams *all)
{
	all->stopping = true;
	LIST_EACH (struct stream, s, &all->list, node)
		if (s->ws)
			ws_conn_close(
				s->ws, WS_GOING_AWAY, STR("the sandbox is stopping"));
}

void streams_del(struct streams *all)
{
	struct stream *s;

	if (!all)
		return;
	while ((s = LIST_FIRST(&all->list, struct stream, node)))
		stream_del(s);
	terminals_end(all);
	buf_free(&all->text);
	free(all);
}
