#include "inject/control/listen.h"

#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "inject/control/relay.h"
#include "inject/engine/engine.h"
#include "inject/http/json_doc.h"
#include "net/session_key.h"

#include <errno.h>
#include <stdlib.h>

enum {
	LISTEN_PLACES_MAX = 4096,  /* names of sandboxes that are stored */
	LISTEN_LINKS_MAX = 2048,   /* connections of all sandboxes */
	LISTEN_NAME_LINKS_MAX = 8, /* connections of one name: old ones end slowly */
	LISTEN_TEXT_OUT = 1024,    /* bytes of an outgoing text frame to a sandbox */
};

#define PLACES "/sandboxes"

/* --- Frames --------------------------------------------------------------------- */

void listen_begin_frame(struct link *l, struct jw *w, const char *type, uint32_t id)
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

void listen_send_frame(struct link *l, struct jw *w)
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

static struct hub_entry *listen_find_entry(const struct hub *h, struct str id)
{
	LIST_EACH (struct hub_entry, p, &h->entries, node)
		if (str_eq(id, str_c(p->id)))
			return p;
	return NULL;
}

/* Frees a place whose sandbox is not connected, if there is one. */
static void listen_evict_entry(struct hub *h)
{
	LIST_EACH (struct hub_entry, p, &h->entries, node) {
		if (p->link)
			continue;
		list_remove(&p->node);
		free(p);
		h->entries_n--;
		return;
	}
}

static struct hub_entry *hub_entry_new(struct hub *h, struct str id)
{
	struct hub_entry *p;

	if (h->entries_n == LISTEN_PLACES_MAX)
		listen_evict_entry(h);
	p = h->entries_n < LISTEN_PLACES_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	memcpy(p->id, id.p, id.n);
	list_append(&h->entries, &p->node);
	h->entries_n++;
	return p;
}

static void listen_copy_name(char *at, struct str name)
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
static bool listen_can_replace(const struct hub_peer *from, const struct hub_peer *g)
{
	if (strcmp(from->sandbox, g->sandbox) != 0)
		return false;
	return g->boot == from->boot ? strcmp(from->epoch, g->epoch) == 0
				     : g->boot > from->boot;
}

static void listen_claim_entry(
	struct link *l, struct hub_entry *p, const struct hub_peer *g)
{
	struct link *old = p->link;

	if (old && !listen_can_replace(&p->peer, g)) {
		ws_conn_close(l->ws, STREAM_NAME_CONFLICT,
			STR("another sandbox with this name is connected"));
		return;
	}
	p->peer = *g;
	p->link = l;
	l->entry = p;
	if (!old)
		return;
	old->entry = NULL;
	relays_fail(old);
	ws_conn_close(old->ws, STREAM_FENCED,
		STR("a newer connection of this sandbox replaced this one"));
}

static void listen_read_hello(struct link *l, struct json_doc *d)
{
	struct json_val root = json_doc_root(d);
	struct str id = json_doc_str(d, json_get(root, "box"));
	struct hub_entry *p =
		listen_name_is_valid(id) ? listen_find_entry(l->hub, id) : NULL;
	struct hub_peer g = {.boot = json_doc_uint(json_get(root, "boot"), UINT32_MAX)};

	if (l->entry)
		return;
	if (l->name[0] && !str_eq(id, str_c(l->name))) {
		log_warn("sandbox %s: the connection is refused, because its "
			 "--connect-id differs from the name in its token",
			l->name);
		ws_conn_close(l->ws, WS_POLICY,
			STR("the token is for another name than --connect-id"));
		return;
	}
	listen_proof_read_nonce(l, json_doc_str(d, json_get(root, "nonce")));
	listen_copy_name(g.sandbox, json_doc_str(d, json_get(root, "sandbox")));
	listen_copy_name(g.epoch, json_doc_str(d, json_get(root, "epoch")));
	if (!p && listen_name_is_valid(id))
		p = hub_entry_new(l->hub, id);
	if (p)
		listen_claim_entry(l, p, &g);
	else
		ws_conn_close(l->ws, WS_POLICY,
			STR("the name is not valid, or the backend has too many "
			    "sandboxes"));
}

static void listen_read_text(struct link *l, struct str text)
{
	struct json_doc d;
	struct json_val root;
	struct relay *to;
	struct str type;
	int r = json_doc_parse(&d, text);

	if (r) {
		if (r == -ENOMEM)
			ws_conn_close(l->ws, WS_TRY_LATER, STR("out of memory"));
		else
			ws_conn_close(
				l->ws, WS_BAD_TEXT, STR("a text frame is not JSON"));
		return;
	}
	root = json_doc_root(&d);
	type = json_doc_str(&d, json_get(root, "type"));
	to = relay_find(l, (uint32_t)json_doc_uint(json_get(root, "id"), UINT32_MAX));
	if (str_eq(type, STR("hello")))
		listen_read_hello(l, &d);
	else if (str_eq(type, STR("proof")))
		listen_proof_receive(l, json_doc_str(&d, json_get(root, "proof")));
	else if (to && str_eq(type, STR("ack")))
		relay_on_ack(to, json_doc_uint(json_get(root, "bytes"), INT64_MAX));
	else if (to && str_eq(type, STR("closed")))
		relay_on_close(to);
	json_doc_free(&d);
}

static void listen_on_message(void *arg, enum ws_op op, struct str data)
{
	struct link *l = arg;
	struct channel_frame f;
	struct relay *r;

	if (op == WS_TEXT) {
		listen_read_text(l, data);
		return;
	}
	if (channel_frame_get(data, &f)) {
		ws_conn_close(l->ws, WS_PROTOCOL,
			STR("a binary frame does not have the format of a channel"));
		return;
	}
	r = f.kind == CHANNEL_OUTPUT ? relay_find(l, f.id) : NULL;
	if (r)
		relay_on_output(r, &f);
}

static void listen_on_writable(void *arg)
{
	relays_resume(arg);
}

/* Closes a link without a hello, because it occupies a connection. */
static void listen_on_beat(void *arg)
{
	struct link *l = arg;

	if (!l->entry)
		ws_conn_close(
			l->ws, WS_POLICY, STR("no hello message was received in time"));
}

static void listen_on_free(struct later *later)
{
	free(container_of(later, struct link, later));
}

static void listen_close_link(struct link *l)
{
	l->ws = NULL;
	if (l->entry)
		l->entry->link = NULL;
	relays_fail(l);
	list_remove(&l->node);
	l->hub->links_n--;
	loop_defer_free(l->hub->loop, &l->later, listen_on_free);
}

static void listen_on_end(void *arg, unsigned code, const char *why)
{
	struct link *l = arg;

	const char *name = l->name[0] ? l->name : "-";

	log_info("sandbox %s: %s (%u)", l->entry ? l->entry->id : name, why, code);
	listen_close_link(l);
}

static void listen_fail_retry(struct request *rq, struct str why)
{
	request_add_field(rq, STR("retry-after"), STR("1"));
	request_fail(rq, 503, why);
}

/* Whether the sandbox that this token names has its maximum of connections. */
static bool listen_has_max_links(const struct hub *h, struct str name)
{
	unsigned n = 0;

	LIST_EACH (const struct link, l, &h->links, node)
		n += str_eq(name, str_c(l->name));
	return name.n && n >= LISTEN_NAME_LINKS_MAX;
}

/* name is the name in the token; empty: there is no token. */
static void listen_link_new(struct hub *h, struct request *rq, struct str name)
{
	static const struct ws_ops ops = {.message = listen_on_message,
		.writable = listen_on_writable,
		.beat = listen_on_beat,
		.ended = listen_on_end};
	struct link *l = NULL;
	struct ws_conf conf = {.ops = &ops, .message_max = STREAM_PIECE + WS_QUEUE};

	if (listen_has_max_links(h, name)) {
		listen_fail_retry(rq, STR("This sandbox has too many connections."));
		return;
	}
	if (h->links_n < LISTEN_LINKS_MAX)
		l = conf.arg = calloc(1, sizeof(*l));
	if (!l) {
		listen_fail_retry(
			rq, STR("Too many sandboxes are connected to this backend."));
		return;
	}
	listen_copy_name(l->name, name);
	if (ws_conn_accept(h->loop, rq, &conf, STR(""), &l->ws)) {
		free(l);
		return;
	}
	l->hub = h;
	list_prepend(&h->links, &l->node);
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
	LIST_EACH (const struct hub_entry, p, &h->entries, node) {
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

static void listen_reply_list(struct hub *h, struct request *rq)
{
	if (!h->conf.secret.n) {
		request_fail(rq, 403,
			STR("This backend was started without a secret, so it does not "
			    "list sandboxes: start it with --token."));
	} else if (!listen_token_is_operator(&h->tokens, listen_read_bearer(rq))) {
		request_add_field(
			rq, STR("www-authenticate"), STR("Bearer realm=\"od-runtime\""));
		request_fail(rq, 401,
			STR("The list of sandboxes requires the operator's token. "
			    "\"od-runtime token FILE --operator\" prints it."));
	} else {
		listen_write_list(h, rq);
	}
}

/* Writes the path after the sandbox's name, encoded again, with the query. */
static void listen_write_target(
	const struct request *rq, struct str rest, struct buf *target)
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
static bool listen_is_over_share(const struct link *l)
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
static void listen_start_relay(struct link *l, struct request *rq, struct str rest)
{
	struct buf target = BUF_INIT(3 * HTTP_TARGET_MAX);
	const struct http_fault *fault = NULL;
	uint8_t verifier[SHA256_LEN];
	struct str key;
	int r = session_key_find(rq, &key);
	bool shown = r == 0 && key.n;

	listen_write_target(rq, rest, &target);
	if (shown) {
		sha256_compute(key, verifier);
		fault = listen_proof_check(l, verifier);
	}
	if (r < 0)
		request_fail(rq, 403,
			STR("A header that can contain the session key is given twice."));
	else if (target.err)
		request_fail(rq, 414, STR("The request target is too long."));
	else if (fault && fault != &listen_proof_pending)
		request_fail(rq, fault->status, str_c(fault->text));
	else
		relay_new(l, rq, buf_view(&target), shown ? verifier : NULL);
	buf_free(&target);
}

static void listen_route_request(struct hub *h, struct request *rq, struct str path)
{
	struct str id = str_make(path.p, str_find_byte(path, '/'));
	struct hub_entry *p = listen_find_entry(h, id);

	if (!p)
		request_fail(rq, 404,
			STR("No sandbox with this name has connected to this backend."));
	else if (!p->link)
		listen_fail_retry(rq,
			STR("The sandbox is not connected at the moment. Try again."));
	else if (h->relays_n == LISTEN_RELAYS_MAX)
		listen_fail_retry(
			rq, STR("The backend has too many open requests. Try again."));
	else if (listen_is_over_share(p->link))
		listen_fail_retry(rq,
			STR("This sandbox has too many unanswered requests. Try again."));
	else
		listen_start_relay(p->link, rq, str_skip(path, id.n));
}

static void listen_accept_link(struct hub *h, struct request *rq)
{
	struct str name = STR("");

	if (!h->conf.secret.n ||
		listen_token_is_sandbox(&h->tokens, listen_read_bearer(rq), &name))
		listen_link_new(h, rq, name);
	else
		request_fail(rq, 403,
			STR("Invalid token: a sandbox needs its own token, which "
			    "\"od-runtime token FILE NAME\" prints."));
}

static void listen_reply_alive(struct hub *h, struct request *rq)
{
	(void)h;
	buf_puts(request_out(rq), "{\"status\":\"ok\"}");
	request_reply(rq, 200, "application/json");
}

static void listen_on_ready(struct request *rq)
{
	static const struct {
		const char *path;
		void (*answer)(struct hub *h, struct request *rq);
	} routes[] = {{"/connect", listen_accept_link}, {PLACES, listen_reply_list},
		{"/alive", listen_reply_alive}};

	if (!str_eq(rq->method, STR("GET"))) {
		request_fail(rq, 405, STR("Method Not Allowed"));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (str_eq(rq->path, str_c(routes[i].path))) {
			routes[i].answer(rq->user, rq);
			return;
		}
	request_fail(rq, 404, STR("Not Found"));
}

static void listen_on_head(void *arg, struct request *rq)
{
	static const struct request_ops request_ops = {.on_ready = listen_on_ready};
	struct hub *h = arg;
	struct str path = rq->path;

	rq->ops = &request_ops;
	rq->user = h;
	if (!request_is_local_origin(rq))
		request_fail(
			rq, 403, STR("Requests with this Origin header are refused."));
	else if (str_starts(path, STR(PLACES "/")))
		listen_route_request(h, rq, str_skip(path, sizeof(PLACES)));
}

struct hub *hub_new(const struct hub_conf *conf, int *err)
{
	static const struct server_ops ops = {.head = listen_on_head};
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
	struct link *l;

	server_del(h->server);
	relays_free(h);
	while ((l = LIST_FIRST(&h->links, struct link, node))) {
		struct ws_conn *ws = l->ws;

		ws_conn_close(ws, WS_GOING_AWAY, STR("the backend is stopping"));
		listen_close_link(l);
		ws_conn_del(ws);
	}
	LIST_EACH (struct hub_entry, p, &h->entries, node) {
		list_remove(&p->node);
		free(p);
	}
	buf_free(&h->text);
	free(h);
}
