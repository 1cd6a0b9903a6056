#include "inject/sandbox/tunnel.h"

#include "inject/image/image.h"
#include "inject/names/state.h"

#include <errno.h>
#include <stdio.h>

static void tunnel_write_exec(struct buf *body, const char *user, bool attach,
	void (*write)(void *arg, struct jw *w), void *arg)
{
	static const char *const streams[] = {
		"AttachStdin", "AttachStdout", "AttachStderr"};
	struct jw w;

	jw_init(&w, body);
	jw_object(&w);
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		jw_key(&w, streams[i]);
		jw_bool(&w, attach);
	}
	if (user) {
		jw_key(&w, "User");
		jw_cstr(&w, user);
	}
	jw_key(&w, "Cmd");
	jw_array(&w);
	jw_cstr(&w, IMAGE_CLIENT);
	write(arg, &w);
	jw_end(&w);
	jw_end(&w);
}

int tunnel_exec(const struct engine *e, const char *container, const char *user,
	bool attach, void (*write)(void *arg, struct jw *w), void *arg,
	struct reply *reply, char *id, size_t room)
{
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	int r;

	reply_init(reply);
	tunnel_write_exec(&body, user, attach, write, arg);
	*id = '\0';
	r = body.err ? body.err
		     : engine_request(e, reply, "POST", buf_view(&body),
			       "/containers/%s/exec", container);
	buf_free(&body);
	if (!r && reply->status == 201)
		reply_read_id(reply, id, room);
	return r;
}

static void tunnel_write_args(void *arg, struct jw *w)
{
	char number[8];

	snprintf(number, sizeof(number), "%u", *(const uint16_t *)arg);
	jw_cstr(w, "connect");
	jw_cstr(w, number);
}

/*
 * Waits for the engine's answer before sending bytes: the engine may lose earlier bytes.
 */
static int tunnel_start_exec(
	const struct engine *e, const char *id, uint32_t idle_ms, struct http_client *c)
{
	struct target target;
	const struct str body = STR("{\"Detach\":false,\"Tty\":false}");
	const struct http_client_request q = {
		.method = "POST",
		.target = &target,
		.headers = "Upgrade: tcp\r\n",
		.type = "application/json",
		.parts = &body,
		.parts_n = 1,
	};
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/exec/%s/start", id);
	r = engine_stream(e, c, &q, INJECT_ENGINE_MS);
	target_free(&target);
	if (!r && c->head.status != 200 && c->head.status != 101)
		r = -ECONNREFUSED;
	return r ? r : http_client_begin_tunnel(c, idle_ms);
}

int tunnel_open(const struct engine *e, const char *container, uint16_t port,
	uint32_t idle_ms, struct http_client *c)
{
	char id[STATE_ID_MAX + 1];
	struct reply reply;
	int r;

	http_client_begin(c, -1, idle_ms, false);
	r = tunnel_exec(e, container, NULL, true, tunnel_write_args, &port, &reply, id,
		sizeof(id));
	if (!r && !id[0])
		r = -ECONNREFUSED;
	reply_free(&reply);
	return r ? r : tunnel_start_exec(e, id, idle_ms, c);
}
