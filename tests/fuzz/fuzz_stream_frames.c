/*
 * What the peer of /v1/stream says, a line for each frame, against channels of our own in
 * place of those that have processes and files: the real stream reads the frames and
 * answers them. What it says is JSON, of a channel that it said is open, within the
 * credit; and nothing is left.
 *
 * The first byte chooses whether there is a key, how the stream ends, and who opened it.
 * A line that begins with '<' is an id and how many KiB of input, with '>' bytes for a
 * binary frame, '!' room to send, '~' a beat.
 */
#include "config.h"
#include "limits.h"
#include "server/idempotency/idem_private.h"
#include "server/process/process_attach.h"
#include "server/stream/stream_private.h"

#include <assert.h>
#include <stdlib.h>

enum { OUTPUT = 3 * STREAM_WINDOW_MIN };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct config with_key = {.has_key = true}, without_key;
static struct box box;
static struct idem once;
static struct api api = {.box = &box, .idem = &once};
static struct stream *stream;

/* --- What the peer knows ------------------------------------------------------ */

static uint64_t opened[STREAM_CHANNELS_MAX];
static size_t opened_n, heard;
static bool closing;

static size_t find_opened(uint64_t id)
{
	size_t i = 0;

	while (i < opened_n && opened[i] != id)
		i++;
	return i;
}

static void hear_text(struct str text)
{
	static const struct json_caps caps = {8, 64, 32};
	struct json_error e;
	struct arena a;
	struct json doc;
	struct json_val id;
	struct str type;
	int64_t n = 0;
	size_t at;

	arena_init(&a, 1 << 16);
	assert(!json_parse(&doc, text, &caps, &a, &e));
	assert(!json_str(json_get(json_root(&doc), "type"), &a, &type));
	id = json_get(json_root(&doc), "id");
	assert(json_type(id) == JSON_ABSENT || (!json_i64(id, &n) && n > 0));
	at = find_opened((uint64_t)n);
	if (str_eq(type, STR("opened"))) {
		assert(n && at == opened_n && opened_n < STREAM_CHANNELS_MAX);
		opened[opened_n++] = (uint64_t)n;
	} else if (str_eq(type, STR("closed")) && at < opened_n) {
		opened[at] = opened[--opened_n];
	}
	arena_reset(&a);
}

static void hear_bytes(struct str head, struct str body)
{
	char *frame = malloc(head.n + body.n);
	struct channel_frame f;
	struct channel *c;

	assert(frame);
	memcpy(frame, head.p, head.n);
	memcpy(frame + head.n, body.p, body.n);
	assert(!channel_frame_get(str_make(frame, head.n + body.n), &f));
	assert(find_opened(f.id) < opened_n);
	c = stream_find(stream, f.id);
	assert(c && c->sent - c->acked <= c->window && c->window <= STREAM_WINDOW);
	free(frame);
}

/* --- The connection ----------------------------------------------------------- */

bool ws_conn_send(struct ws_conn *c, enum ws_op op, struct str head, struct str body)
{
	(void)c;
	heard++;
	if (op == WS_TEXT)
		hear_text(head);
	else
		hear_bytes(head, body);
	return true;
}

/* Full now and then. */
size_t ws_conn_queued(const struct ws_conn *c)
{
	(void)c;
	return heard % 5 ? 0 : WS_QUEUE + 1;
}

void ws_conn_close(struct ws_conn *c, unsigned code, struct str reason)
{
	(void)c;
	assert(reason.n &&
		(code == WS_PROTOCOL || code == STREAM_FENCED || code == WS_POLICY));
	closing = true;
}

void ws_conn_del(struct ws_conn *c)
{
	(void)c;
}

int ws_conn_accept(struct loop *l, struct request *rq, const struct ws_conf *conf,
	struct str protocol, struct ws_conn **out)
{
	(void)l, (void)rq, (void)conf, (void)protocol, (void)out;
	abort();
}

/* --- The rest of the server --------------------------------------------------- */

const char *const idem_cancel_modes[] = {"int", "term", "kill", NULL};

bool api_check_key(const struct api *a, struct str key)
{
	(void)a;
	return str_eq(key, STR("k"));
}

int idem_prepare(struct idem *o)
{
	o->open = true;
	return 0;
}

int idem_set_lease(struct idem *o, uint64_t lease)
{
	if (lease < o->ledger.lease)
		return ERR_RANGE;
	o->ledger.lease = lease;
	return 0;
}

void attachments_fence(struct attachments *all)
{
	(void)all;
}

/* --- Channels ----------------------------------------------------------------- */

struct fake {
	struct channel channel;
	struct fake *away; /* the next who waits for a peer */
	size_t left;       /* to send */
};

static struct fake *away;
static int alive;

/* Reads it all: it must be there. */
static size_t sum(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += (uint8_t)s.p[i];
	return n;
}

static struct channel *begin(struct stream *s, const struct stream_request *ask,
	struct jw *w, struct channel_refusal *why)
{
	struct fake *f = away;

	assert(ask->kind < 6 && ask->window >= STREAM_WINDOW_MIN);
	assert(ask->offset <= INT64_MAX || ask->offset == UINT64_MAX);
	assert(ask->stderr_at <= INT64_MAX);
	assert(s->trusted || ask->kind == 2);
	/* No input can hold a valid proof. */
	assert(s->proof.step != STREAM_PROOF_DONE);
	if (sum(ask->epoch) + sum(ask->session) + sum(ask->action) + sum(ask->process) +
			sum(json_raw(ask->start)) ==
		1) {
		*why = (struct channel_refusal){404, "There is none.", ""};
		return NULL;
	}
	if (ask->terminal.n && f) {
		away = f->away;
	} else {
		f = calloc(1, sizeof(*f));
		assert(f);
		f->left = OUTPUT;
		alive++;
	}
	f->channel.sent = f->channel.acked = 0;
	jw_key(w, "terminal");
	jw_str(w, ask->terminal);
	return &f->channel;
}

static void after(struct channel *c)
{
	channel_send(c, CHANNEL_SNAPSHOT, 0, 0, STR("screen"));
}

static int more(struct channel *c, size_t max)
{
	static const char bytes[STREAM_PIECE];
	struct fake *f = container_of(c, struct fake, channel);
	size_t n = f->left < max ? f->left : max;

	assert(max && max <= c->window && c->stream == stream);
	if (!n)
		return 1;
	n = n < sizeof(bytes) ? n : sizeof(bytes);
	channel_send(c, CHANNEL_OUTPUT, OUTPUT - f->left, n, str_make(bytes, n));
	f->left -= n;
	if (f->left)
		return 0;
	if (c->id % 2)
		return 1;
	channel_close(c, 7, NULL);
	return -1;
}

static void takes(struct channel *c, struct str bytes)
{
	assert(c->received - c->handled <= STREAM_INPUT);
	channel_ack_input(c, bytes.n);
}

static void waits(struct channel *c, struct str bytes)
{
	(void)bytes;
	assert(c->received - c->handled <= STREAM_INPUT);
}

static void end(struct channel *c)
{
	channel_close(c, -1, "It has ended.");
}

static void resize(struct channel *c, uint16_t rows, uint16_t columns)
{
	assert(rows && columns && rows <= STREAM_SIZE_MAX && columns <= STREAM_SIZE_MAX);
	channel_send_error(c, "It has no size.");
}

static void cancel(struct channel *c, unsigned mode)
{
	assert(mode < 3);
	channel_wake(c);
}

static bool wait_for_peer(struct channel *c)
{
	struct fake *f = container_of(c, struct fake, channel);

	if (!f->left)
		return false;
	c->stream = NULL;
	f->away = away;
	away = f;
	return true;
}

static void release(struct channel *c)
{
	alive--;
	free(container_of(c, struct fake, channel));
}

void terminals_end(struct streams *all)
{
	(void)all;
	while (away) {
		struct fake *f = away;

		away = f->away;
		release(&f->channel);
	}
}

const struct channel_kind channel_session = {.begin = begin,
	.opened = after,
	.more = more,
	.input = takes,
	.resize = resize,
	.free = release};
const struct channel_kind channel_terminal = {.begin = begin,
	.more = more,
	.input = takes,
	.resize = resize,
	.wait = wait_for_peer,
	.free = release};
const struct channel_kind channel_http = {.open = true,
	.begin = begin,
	.more = more,
	.input = waits,
	.end = end,
	.free = release};
const struct channel_kind channel_action = {.begin = begin,
	.more = more,
	.input = takes,
	.cancel = cancel,
	.free = release};
const struct channel_kind channel_events = {.begin = begin,
	.more = more,
	.input = waits,
	.free = release};
const struct channel_kind channel_process = {.begin = begin,
	.more = more,
	.input = takes,
	.end = end,
	.resize = resize,
	.cancel = cancel,
	.free = release};

/* --- One peer after another --------------------------------------------------- */

/* A copy of its own size, so that a read too far is caught. */
static void say(const struct ws_conf *conf, enum ws_op op, struct str data)
{
	char *copy = malloc(data.n ? data.n : 1);

	assert(copy);
	memcpy(copy, data.p, data.n);
	conf->ops->message(conf->arg, op, str_make(copy, data.n));
	free(copy);
}

static void put_input(const struct ws_conf *conf, uint8_t id, uint8_t kib)
{
	static char frame[CHANNEL_HEAD + 256 * 1024];
	const struct channel *c = stream_find(stream, id);
	const struct channel_frame f = {.kind = CHANNEL_INPUT,
		.id = id,
		.at = c ? c->received : 0,
		.span = kib * 1024U,
		.bytes = str_make(frame + CHANNEL_HEAD, kib * 1024U)};

	channel_frame_put((uint8_t *)frame, &f);
	say(conf, WS_BINARY, str_make(frame, CHANNEL_HEAD + f.bytes.n));
}

static void take_line(const struct ws_conf *conf, struct str line)
{
	switch (line.n ? line.p[0] : 0) {
	case '<':
		if (line.n > 2)
			put_input(conf, (uint8_t)line.p[1] & 15, (uint8_t)line.p[2]);
		break;
	case '>':
		say(conf, WS_BINARY, str_skip(line, 1));
		break;
	case '!':
		heard++;
		conf->ops->writable(conf->arg);
		break;
	case '~':
		conf->ops->beat(conf->arg);
		break;
	default:
		say(conf, WS_TEXT, line);
	}
}

/* What it says is open is, and nothing else. */
static void check(void)
{
	size_t n = 0;

	LIST_EACH (const struct channel, c, &stream->channels, node) {
		assert(c->stream == stream && find_opened(c->id) < opened_n);
		n++;
	}
	assert(n == opened_n && n == stream->channels_n);
	assert(!stream->turn || stream_find(stream, stream->turn->id) == stream->turn);
}

static void talk(struct str *in, bool lost, bool dialled)
{
	struct ws_conf conf;

	opened_n = 0;
	closing = false;
	stream = stream_new(api.streams, NULL, NULL);
	assert(stream);
	conf = stream_conf(stream);
	/* Of no type that anybody could look into. */
	stream_begin(stream, (struct ws_conn *)stream);
	if (dialled)
		conf.ops->open(conf.arg);
	while (in->n && !closing) {
		struct str line = str_cut(in, '\n');

		if (str_eq(line, STR("")))
			break;
		take_line(&conf, line);
		check();
	}
	conf.ops->ended(conf.arg, lost ? WS_LOST : 1000, "fuzz");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = str_make((const char *)data, size);
	int err;

	if (!size)
		return 0;
	in = str_skip(in, 1);
	if (!box.loop)
		box.loop = loop_new(&err);
	box.config = data[0] & 1 ? &with_key : &without_key;
	once.ledger.lease = 0;
	api.streams = streams_new(&api);
	assert(box.loop && api.streams);
	/* An empty line, and there is another one, who may find what waits. */
	while (in.n)
		talk(&in, data[0] & 2, data[0] & 4);
	streams_del(api.streams);
	assert(!alive);
	return 0;
}
