#include "inject/launch.h"

#include "base/clock.h"
#include "base/jw.h"
#include "inject/image.h"
#include "inject/out.h"
#include "inject/stop.h"
#include "inject/tail.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

enum { POLL_FIRST_MS = 5, POLL_LAST_MS = 50, INSPECT_MS = 100, TAIL_MS = 500 };

static void write_command(const struct launch *l, const char *key_hash, struct jw *w)
{
	char number[24];

	jw_key(w, "Entrypoint");
	jw_array(w);
	jw_cstr(w, IMAGE_CLIENT);
	jw_cstr(w, "init");
	jw_end(w);
	jw_key(w, "Cmd");
	jw_array(w);
	snprintf(number, sizeof(number), "%d", SANDBOX_PORT);
	jw_cstr(w, number);
	jw_cstr(w, "--key-sha256");
	jw_cstr(w, key_hash);
	jw_cstr(w, "--working-dir");
	jw_cstr(w, l->working_dir);
	/* As in docker run: the image's own user, which may well be root. */
	jw_cstr(w, "--username");
	jw_cstr(w, l->username ? l->username : "root");
	if (l->has_user_id) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)l->user_id);
		jw_cstr(w, "--user-id");
		jw_cstr(w, number);
	}
	jw_end(w);
}

static void write_host(const struct launch *l, struct jw *w)
{
	char number[24] = "";

	if (l->port)
		snprintf(number, sizeof(number), "%u", l->port);
	jw_key(w, "HostConfig");
	jw_object(w);
	jw_key(w, "PortBindings");
	jw_object(w);
	jw_key(w, SANDBOX_PORT_NAME);
	jw_array(w);
	jw_object(w);
	jw_key(w, "HostIp");
	jw_cstr(w, "127.0.0.1");
	jw_key(w, "HostPort");
	jw_cstr(w, number);
	jw_end(w);
	jw_end(w);
	jw_end(w);
	jw_key(w, "AutoRemove");
	jw_bool(w, l->auto_remove);
	jw_end(w);
}

/*
 * An inherited health check or stop signal was made for another program. The
 * image's user and its environment stay.
 */
static void write_container(const struct launch *l, const char *key_hash, struct buf *out)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "Image");
	jw_cstr(&w, l->image);
	write_command(l, key_hash, &w);
	jw_key(&w, "Labels");
	jw_object(&w);
	jw_key(&w, "od.sandbox");
	jw_cstr(&w, "1");
	jw_key(&w, "od.sandbox.image");
	jw_cstr(&w, l->shown_image);
	jw_end(&w);
	jw_key(&w, "ExposedPorts");
	jw_object(&w);
	jw_key(&w, SANDBOX_PORT_NAME);
	jw_object(&w);
	jw_end(&w);
	jw_end(&w);
	jw_key(&w, "Healthcheck");
	jw_object(&w);
	jw_key(&w, "Test");
	jw_array(&w);
	jw_cstr(&w, "NONE");
	jw_end(&w);
	jw_end(&w);
	jw_key(&w, "StopSignal");
	jw_cstr(&w, "SIGTERM");
	write_host(l, &w);
	jw_end(&w);
}

/* A name and a key; the key's hash is what the container gets to know. */
static int make_state(const struct launch *l, struct state *s, char *key_hash)
{
	uint8_t random[STATE_KEY_LEN], digest[SHA256_LEN];
	char name[2 * 4 + 1];
	int r = random_bytes(random, sizeof(random));

	if (r)
		return r;
	hex_encode(random, 4, name);
	if (l->name)
		snprintf(s->name, sizeof(s->name), "%s", l->name);
	else
		snprintf(s->name, sizeof(s->name), "od-%s", name);
	/* Not the same bytes twice: names are public. */
	r = random_bytes(random, sizeof(random));
	if (r)
		return r;
	hex_encode(random, sizeof(random), s->key);
	sha256_of(str_c(s->key), digest);
	hex_encode(digest, sizeof(digest), key_hash);
	snprintf(s->engine, sizeof(s->engine), "%s", l->engine->path);
	explicit_bzero(random, sizeof(random));
	return 0;
}

static int read_id(const struct reply *reply, struct state *s)
{
	struct str id = {0};
	struct doc d;

	if (doc_parse(&d, buf_view(&reply->body)) == 0) {
		id = doc_str(&d, json_get(doc_root(&d), "Id"));
		if (id.n && state_is_name(id) && id.n < sizeof(s->id))
			memcpy(s->id, id.p, id.n);
		doc_free(&d);
	}
	return s->id[0] ? 0
			: out_fail(NULL, "the engine created a container without an id");
}

static int create(const struct launch *l, const char *key_hash, struct state *s)
{
	const struct engine calm = engine_calm(l->engine);
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	struct reply reply;
	int r;

	write_container(l, key_hash, &body);
	if (body.err) {
		buf_free(&body);
		return body.err;
	}
	r = engine_ask(&calm, &reply, "POST", buf_view(&body),
		"/containers/create?name=%s", s->name);
	if (!r && reply.status == 409)
		r = out_fail("choose another with --name, or remove it with rm",
			"there is a container called %s already", s->name);
	else if (!r && reply.status != 201)
		r = engine_refused(&reply, NULL, "creating the sandbox");
	if (!r)
		r = read_id(&reply, s);
	reply_free(&reply);
	buf_free(&body);
	return r;
}

static bool holds(const struct reply *r, const char *words)
{
	struct str text = buf_view(&r->body);

	return str_find(text, str_c(words)) < text.n;
}

static int start(const struct launch *l, const struct state *s)
{
	struct reply reply;
	int r = engine_ask(l->engine, &reply, "POST", (struct str){0},
		"/containers/%s/start", s->id);

	if (!r && reply.status != 204 && reply.status != 304) {
		if (l->port &&
			(holds(&reply, "already allocated") ||
				holds(&reply, "already in use")))
			r = out_fail("choose another with --port, or leave it out",
				"the port %u of 127.0.0.1 is taken", l->port);
		else if (holds(&reply, "exec format error"))
			r = engine_refused(&reply, "use an image for this machine",
				"the image is for another architecture");
		else
			r = engine_refused(&reply, NULL, "starting the sandbox");
	}
	reply_free(&reply);
	return r;
}

/* The last words of a sandbox that has ended or hangs. */
static bool show_log(const struct launch *l, const struct state *s)
{
	struct buf target = BUF_INIT(512);
	struct call_request q = {.method = "GET"};
	struct call c;
	bool format = false;

	buf_fmt(&target, "/containers/%s/logs?stdout=1&stderr=1&tail=20", s->id);
	q.target = buf_cstr(&target);
	if (q.target) {
		if (engine_stream(l->engine, &c, &q, INJECT_ENGINE_MS) == 0 &&
			c.head.status == 200)
			format = tail_show(&c, TAIL_MS);
		call_close(&c);
	}
	buf_free(&target);
	return format;
}

/*
 * The engine forgets an auto-removed container with all that it said, so that its
 * output is listened to from before its start. No listening is no reason to fail.
 */
static bool listen_in(const struct launch *l, const struct state *s, struct call *c)
{
	struct buf target = BUF_INIT(512);
	struct call_request q = {.method = "POST"};
	int r = ERR_LIMIT;

	call_begin(c, -1, 0, true);
	buf_fmt(&target, "/containers/%s/attach?stream=1&stdout=1&stderr=1", s->id);
	q.target = buf_cstr(&target);
	if (l->auto_remove && q.target)
		r = engine_stream(l->engine, c, &q, INJECT_ENGINE_MS);
	buf_free(&target);
	return r == 0 && c->head.status == 200;
}

/* What is known when it did not come up. gone: it has ended. */
static int give_up(
	const struct launch *l, const struct sandbox *s, struct call *heard, bool gone)
{
	bool format = heard ? tail_show(heard, TAIL_MS) : show_log(l, &s->state);
	const char *next = format ? "the image is for another architecture"
				  : "the lines above are the last ones that it wrote";

	if (!gone)
		return out_fail("give it more time with --timeout-start",
			"the sandbox was not ready after %llu s",
			(unsigned long long)(l->timeout_ms / 1000));
	if (s->exit_code < 0)
		return out_fail(next, "the sandbox ended before it was ready");
	return out_fail(next, "the sandbox ended with exit code %d before it was ready",
		s->exit_code);
}

/* Where it listens; 0 also when it has ended already, with *gone. */
static int look(const struct launch *l, struct sandbox *s, bool *gone)
{
	struct sandbox got;
	int r = sandbox_find(l->engine, s->state.id, &got);

	if (r == 1) {
		s->exit_code = -1;
		*gone = true;
		return 0;
	}
	if (r)
		return r;
	s->port = got.port;
	s->exit_code = got.exit_code;
	*gone = !got.running;
	return 0;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int wait_ready(const struct launch *l, struct sandbox *s, struct call *heard)
{
	uint64_t deadline = clock_ms() + l->timeout_ms;
	uint64_t pause = POLL_FIRST_MS, inspect = 0;
	bool gone = false;
	int r;

	for (;;) {
		uint64_t now = clock_ms();

		if (now >= inspect) {
			r = look(l, s, &gone);
			if (r)
				return r;
			if (gone)
				return give_up(l, s, heard, true);
			inspect = clock_ms() + INSPECT_MS;
		}
		r = s->port ? sandbox_alive(s->port, INJECT_ALIVE_MS) : 1;
		if (r <= 0)
			return r;
		if (clock_ms() >= deadline)
			return give_up(l, s, heard, false);
		r = stop_wait(-1, 0, sooner(clock_ms() + pause, deadline), false);
		if (r < 0)
			return r;
		pause = sooner(pause + pause / 2, POLL_LAST_MS);
	}
}

static int bring_up(const struct launch *l, struct timing *t, struct sandbox *s)
{
	struct call heard;
	bool hears = listen_in(l, &s->state, &heard);
	int r;

	out_step("starting: %s", s->state.name);
	r = start(l, &s->state);
	timing_step(t, "start");
	if (!r)
		r = wait_ready(l, s, hears ? &heard : NULL);
	timing_step(t, "ready");
	call_close(&heard);
	out_step_end();
	return r;
}

int launch_run(const struct launch *l, struct timing *t, struct sandbox *s)
{
	struct sandbox got = {.exit_code = -1};
	char key_hash[SHA256_HEX + 1];
	int r;

	r = make_state(l, &got.state, key_hash);
	if (!r)
		r = create(l, key_hash, &got.state);
	if (r)
		return r;
	r = stop_signal() ? -EINTR : state_save(&got.state);
	timing_step(t, "create");
	if (!r)
		r = bring_up(l, t, &got);
	if (r) {
		sandbox_remove(l->engine, &got.state);
		state_forget(&got.state);
		return r;
	}
	got.running = true;
	*s = got;
	return 0;
}
