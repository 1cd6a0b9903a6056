#include "inject/control/listen_private.h"

#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "inject/engine/engine.h"
#include "inject/http/doc.h"
#include "net/session_key.h"

#include <errno.h>
#include <stdlib.h>

#define PLACES "/sandboxes"

/* --- Frames --------------------------------------------------------------------- */

void link_say(struct link *l, struct jw *w, const char *type, uint32_t id)
{
	buf_reset(&l->hub->text);
	jw_init(w, &l->hub->text);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
	if (!id)
		return;
	jw_key(w, "id");
	jw_uint(w, id);
}

void link_said(struct link *l, struct jw *w)
{
	jw_end(w);
	/* Without the frame the two sides would wait for each other. */
	if (l->ws && l->hub->text.err)
		ws_conn_close(l->ws, WS_TRY_LATER, STR("out of memory"));
	else if (l->ws)
		(void)ws_conn_send(l->ws, WS_TEXT, buf_view(&l->hub->text), STR(""));
	buf_free(&l->hub->text);
}

/* --- Sandboxes ------------------------------------------------------------------ */

static struct place *place_find(const struct hub *h, struct str id)
{
	struct place *p = h->places;

	while (p && !str_eq(id, str_c(p->id)))
		p = p->next;
	return p;
}

/* Frees a place whose sandbox is not connected, if there is one. */
static void forget_one(struct hub *h)
{
	struct place **at = &h->places, *p;

	while (*at && (*at)->link)
		at = &(*at)->next;
	p = *at;
	if (!p)
		return;
	*at = p->next;
	free(p);
	h->places_n--;
}

static struct place *place_new(struct hub *h, struct str id)
{
	struct place **end = &h->places, *p;

	if (h->places_n == LISTEN_PLACES_MAX)
		forget_one(h);
	p = h->places_n < LISTEN_PLACES_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	memcpy(p->id, id.p, id.n);
	while (*end)
		end = &(*end)->next;
	*end = p;
	h->places_n++;
	return p;
}

static void put_name(char *at, struct str name)
{
	if (name.n && name.n <= CONNECT_ID_MAX)
		memcpy(at, name.p, name.n);
}

/*
 * Whether the guest g takes a place over from its guest. It must be the same sandbox,
 * either after a later start, or with a new connection of the same process, because the
 * loss of an earlier connection may be unnoticed here. Two sandboxes of one name, or
 * copies of a sandbox, would replace each other endlessly, so that they are refused.
 */
static bool takes_over(const struct guest *from, const struct guest *g)
{
	if (strcmp(from->sandbox, g->sandbox) != 0)
		return false;
	return g->boot == from->boot ? strcmp(from->epoch, g->epoch) == 0
				     : g->boot > from->boot;
}

static void take_place(struct link *l, struct place *p, const struct guest *g)
{
	struct link *old = p->link;

	if (old && !takes_over(&p->guest, g)) {
		ws_conn_close(l->ws, STREAM_TAKEN, STR("another sandbox has this name"));
		return;
	}
	p->guest = *g;
	p->link = l;
	l->place = p;
	if (!old)
		return;
	old->place = NULL;
	relays_lost(old);
	ws_conn_close(old->ws, STREAM_FENCED, STR("another connection of this sandbox"));
}

static void on_hello(struct link *l, struct doc *d)
{
	struct json_val root = doc_root(d);
	struct str id = doc_str(d, json_get(root, "box"));
	struct place *p = listen_name_is_valid(id) ? place_find(l->hub, id) : NULL;
	struct guest g = {.boot = doc_uint(json_get(root, "boot"), UINT32_MAX)};

	if (l->place)
		return;
	if (l->name[0] && !str_eq(id, str_c(l->name))) {
		log_warn("sandbox %s: refused: its --connect-id is not the name in its "
			 "token",
			l->name);
		ws_conn_close(l->ws, WS_POLICY,
			STR("the token is that of another name, see --connect-id"));
		return;
	}
	link_proof_take_nonce(l, doc_str(d, json_get(root, "nonce")));
	put_name(g.sandbox, doc_str(d, json_get(root, "sandbox")));
	put_name(g.epoch, doc_str(d, json_get(root, "epoch")));
	if (!p && listen_name_is_valid(id))
		p = place_new(l->hub, id);
	if (p)
		take_place(l, p, &g);
	else
		ws_conn_close(l->ws, WS_POLICY, STR("this is no name, or one too many"));
}

static void take_text(struct link *l, struct str text)
{
	struct doc d;
	struct json_val root;
	struct relay *to;
	struct str type;
	int r = doc_parse(&d, text);

	if (r) {
		if (r == -ENOMEM)
			ws_conn_close(l->ws, WS_TRY_LATER, STR("out of memory"));
		else
			ws_conn_close(l->ws, WS_BAD_TEXT, STR("this is no JSON"));
		return;
	}
	root = doc_root(&d);
	type = doc_str(&d, json_get(root, "type"));
	to = relay_find(l, (uint32_t)doc_uint(json_get(root, "id"), UINT32_MAX));
	if (str_eq(type, STR("hello")))
		on_hello(l, &d);
	else if (str_eq(type, STR("proof")))
		link_proof_take(l, doc_str(&d, json_get(root, "proof")));
	else if (to && str_eq(type, STR("ack")))
		relay_acked(to, doc_uint(json_get(root, "bytes"), INT64_MAX));
	else if (to && str_eq(type, STR("closed")))
		relay_closed(to);
	doc_free(&d);
}

static void on_message(void *arg, enum ws_op op, struct str data)
{
	struct link *l = arg;
	struct channel_frame f;
	struct relay *r;

	if (op == WS_TEXT) {
		take_text(l, data);
		return;
	}
	if (channel_frame_get(data, &f)) {
		ws_conn_close(l->ws, WS_PROTOCOL, STR("this is no frame of a channel"));
		return;
	}
	r = f.kind == CHANNEL_OUTPUT ? relay_find(l, f.id) : NULL;
	if (r)
		relay_output(r, &f);
}

static void on_room(void *arg)
{
	relays_go_on(arg);
}

/* Closes a link without a hello, because it occupies a connection. */
static void on_beat(void *arg)
{
	struct link *l = arg;

	if (!l->place)
		ws_conn_close(l->ws, WS_POLICY, STR("no hello came"));
}

static void free_now(struct later *later)
{
	free(container_of(later, struct link, later));
}

static void bury(struct link *l)
{
	l->ws = NULL;
	if (l->place)
		l->place->link = NULL;
	relays_lost(l);
	*l->at = l->next;
	if (l->next)
		l->next->at = l->at;
	l->hub->links_n--;
	loop_free_later(l->hub->loop, &l->later, free_now);
}

static void on_ended(void *arg, unsigned code, const char *why)
{
	struct link *l = arg;

	const char *name = l->name[0] ? l->name : "-";

	log_info("sandbox %s: %s (%u)", l->place ? l->place->id : name, why, code);
	bury(l);
}

static void refuse_for_now(struct request *rq, struct str why)
{
	request_add_field(rq, STR("retry-after"), STR("1"));
	request_fail(rq, 503, why);
}

/* Whether the sandbox that this token names has its maximum of connections. */
static bool link_has_most(const struct hub *h, struct str name)
{
	unsigned n = 0;

	for (const struct link *l = h->links; l; l = l->next)
		n += str_eq(name, str_c(l->name));
	return name.n && n >= LISTEN_NAME_LINKS_MAX;
}

/* name is the name in the token; empty: there is no token. */
static void link_new(struct hub *h, struct request *rq, struct str name)
{
	static const struct ws_ops ops = {.message = on_message,
		.room = on_room,
		.beat = on_beat,
		.ended = on_ended};
	struct link *l = NULL;
	struct ws_conf conf = {.ops = &ops, .message_max = STREAM_PIECE + WS_QUEUE};

	if (link_has_most(h, name)) {
		refuse_for_now(rq, STR("This sandbox has too many connections."));
		return;
	}
	if (h->links_n < LISTEN_LINKS_MAX)
		l = conf.arg = calloc(1, sizeof(*l));
	if (!l) {
		refuse_for_now(rq, STR("There are too many sandboxes."));
		return;
	}
	put_name(l->name, name);
	if (ws_conn_accept(h->loop, rq, &conf, STR(""), &l->ws)) {
		free(l);
		return;
	}
	l->hub = h;
	l->at = &h->links;
	l->next = h->links;
	if (l->next)
		l->next->at = &l->next;
	h->links = l;
	h->links_n++;
}

/* --- Clients -------------------------------------------------------------------- */

/* The bearer token of a request; empty: there is none. */
static struct str listen_read_bearer(const struct request *rq)
{
	const struct str scheme = STR("Bearer ");
	struct str value;

	if (request_header(rq, STR("authorization"), &value) ||
		!str_starts(value, scheme))
		return STR("");
	return str_skip(value, scheme.n);
}

static void listen_write_list(const struct hub *h, struct request *rq)
{
	struct jw w;

	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "sandboxes");
	jw_array(&w);
	for (const struct place *p = h->places; p; p = p->next) {
		jw_object(&w);
		jw_key(&w, "id");
		jw_cstr(&w, p->id);
		jw_key(&w, "connected");
		jw_bool(&w, p->link != NULL);
		jw_key(&w, "requests");
		jw_uint(&w, p->link ? p->link->relays_n : 0);
		jw_end(&w);
	}
	jw_end(&w);
	jw_end(&w);
	request_reply(rq, 200, "application/json");
}

static void list(struct hub *h, struct request *rq)
{
	if (!h->conf.secret.n) {
		request_fail(rq, 403,
			STR("This backend has no secret, so it lists no sandboxes: start "
			    "it with --token."));
	} else if (!listen_token_is_operator(&h->tokens, listen_read_bearer(rq))) {
		request_add_field(
			rq, STR("www-authenticate"), STR("Bearer realm=\"od-runtime\""));
		request_fail(rq, 401,
			STR("The list of sandboxes needs the operator's token, which "
			    "\"od-runtime token FILE --operator\" prints."));
	} else {
		listen_write_list(h, rq);
	}
}

/* Writes the path after the sandbox's name, encoded again, with the query. */
static void write_target(const struct request *rq, struct str rest, struct buf *target)
{
	do {
		rest = str_skip(rest, 1);
		buf_putc(target, '/');
		buf_percent(target, str_make(rest.p, str_find_byte(rest, '/')), "");
		rest = str_skip(rest, str_find_byte(rest, '/'));
	} while (rest.n);
	if (rq->query.n) {
		buf_putc(target, '?');
		buf_str(target, rq->query);
	}
}

/*
 * Whether a sandbox has its share of relays. If at most LISTEN_SPARE relays are left, the
 * share is an eighth of them, so that a dozen sandboxes that never answer, and the next
 * dozen, leave some for the others.
 */
static bool has_its_share(const struct link *l)
{
	unsigned left = LISTEN_RELAYS_MAX - l->hub->relays_n;
	unsigned share = left / 8 > LISTEN_SHARE_MIN ? left / 8 : LISTEN_SHARE_MIN;

	return l->relays_n == STREAM_CHANNELS_MAX ||
		(left <= LISTEN_SPARE && l->relays_n >= share);
}

/*
 * Sends the request on. The key stays here; the sandbox has to prove it with the
 * verifier.
 */
static void relay_start(struct link *l, struct request *rq, struct str rest)
{
	struct buf target = BUF_INIT(3 * HTTP_TARGET_MAX);
	const struct http_fault *fault = NULL;
	uint8_t verifier[SHA256_LEN];
	struct str key;
	int r = session_key_find(rq, &key);
	bool shown = r == 0 && key.n;

	write_target(rq, rest, &target);
	if (shown) {
		sha256_of(key, verifier);
		fault = link_proof_check(l, verifier);
	}
	if (r < 0)
		request_fail(rq, 403,
			STR("A header that can hold the session key stands twice."));
	else if (target.err)
		request_fail(rq, 414, STR("The target is too long."));
	else if (fault && fault != &link_proof_pending)
		request_fail(rq, fault->status, str_c(fault->words));
	else
		relay_new(l, rq, buf_view(&target), shown ? verifier : NULL);
	buf_free(&target);
}

static void relay(struct hub *h, struct request *rq, struct str path)
{
	struct str id = str_make(path.p, str_find_byte(path, '/'));
	struct place *p = place_find(h, id);

	if (!p)
		request_fail(rq, 404, STR("No sandbox of that name has dialled in."));
	else if (!p->link)
		refuse_for_now(rq, STR("The sandbox is not connected now."));
	else if (h->relays_n == LISTEN_RELAYS_MAX)
		refuse_for_now(rq, STR("There are too many requests."));
	else if (has_its_share(p->link))
		refuse_for_now(rq,
			STR("There are too many requests for this sandbox, which has not "
			    "answered them yet."));
	else
		relay_start(p->link, rq, str_skip(path, id.n));
}

static void on_head(void *arg, struct request *rq)
{
	struct hub *h = arg;
	struct str path = rq->path;

	if (!request_is_at_home(rq))
		request_fail(rq, 403, STR("This Origin may not ask."));
	else if (str_starts(path, STR(PLACES "/")))
		relay(h, rq, str_skip(path, sizeof(PLACES)));
}

static void let_in(struct hub *h, struct request *rq)
{
	struct str name = STR("");

	if (!h->conf.secret.n ||
		listen_token_is_sandbox(&h->tokens, listen_read_bearer(rq), &name))
		link_new(h, rq, name);
	else
		request_fail(rq, 403,
			STR("Invalid token: a sandbox dials in with its own, which "
			    "\"od-runtime token FILE NAME\" prints."));
}

static void alive(struct hub *h, struct request *rq)
{
	(void)h;
	buf_puts(request_out(rq), "{\"status\":\"ok\"}");
	request_reply(rq, 200, "application/json");
}

static void on_ready(void *arg, struct request *rq)
{
	static const struct {
		const char *path;
		void (*answer)(struct hub *h, struct request *rq);
	} routes[] = {{"/connect", let_in}, {PLACES, list}, {"/alive", alive}};

	if (!str_eq(rq->method, STR("GET"))) {
		request_fail(rq, 405, STR("Method Not Allowed"));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (str_eq(rq->path, str_c(routes[i].path))) {
			routes[i].answer(arg, rq);
			return;
		}
	request_fail(rq, 404, STR("Not Found"));
}

static void on_gone(void *arg, struct request *rq)
{
	(void)arg;
	(void)rq;
}

struct hub *hub_new(const struct hub_conf *conf, int *err)
{
	static const struct server_ops ops = {
		.head = on_head, .ready = on_ready, .gone = on_gone};
	struct hub *h = calloc(1, sizeof(*h));
	struct server_conf sc = {.ops = &ops, .arg = h};
	int fd = conf->fd;

	*err = -ENOMEM;
	if (!h)
		goto fail;
	h->loop = conf->loop;
	h->conf = *conf;
	if (!h->conf.stall_ms)
		h->conf.stall_ms = HTTP_STALL_MS;
	listen_tokens_init(&h->tokens, conf->secret);
	buf_init(&h->text, LISTEN_TEXT_OUT);
	h->server = server_new(h->loop, &sc, err);
	if (!h->server)
		goto fail;
	*err = server_listen(h->server, fd, conf->tls);
	if (!*err)
		return h;
fail:
	fd_close(&fd);
	if (h)
		hub_del(h);
	return NULL;
}

void hub_del(struct hub *h)
{
	server_del(h->server);
	relays_end(h);
	while (h->links) {
		struct ws_conn *ws = h->links->ws;

		ws_conn_close(ws, WS_GOING_AWAY, STR("the backend stops"));
		bury(h->links);
		ws_conn_del(ws);
	}
	while (h->places) {
		struct place *p = h->places;

		h->places = p->next;
		free(p);
	}
	buf_free(&h->text);
	free(h);
}
