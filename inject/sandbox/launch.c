#include "inject/sandbox/launch.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/engine/container_log.h"
#include "inject/image/image.h"
#include "inject/image/labels.h"
#include "inject/image/plugin.h"
#include "inject/image/probe.h"
#include "inject/names/owner.h"
#include "inject/names/sandbox_label.h"
#include "inject/sandbox/overlay.h"
#include "inject/sandbox/tls_pin.h"
#include "limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

enum {
	POLL_FIRST_MS = 5,
	POLL_LAST_MS = 50,
	INSPECT_MS = 100,
	TAIL_MS = 500,
	FAR_MS = 500
};

#define NEXT_ENGINE "change or leave out the option that the engine names"

/* The state of a creation. */
struct launch_creation {
	struct state state;
	char key_hash[SHA256_HEX + 1];
	uint16_t host_port; /* of a server in the host's network; otherwise 0 */
	struct overlay overlay;
};

static void launch_write_option(struct jw *w, const char *option, const char *value)
{
	jw_cstr(w, option);
	jw_cstr(w, value);
}

static void launch_put_arg(void *w, struct str text)
{
	jw_str(w, text);
}

/* Comes after the plugins, whose names end at the next option. */
static void launch_write_entrypoint(const struct launch *l, struct jw *w)
{
	unsigned mode = l->settings->options->entrypoint;
	size_t n;

	if (mode == ENTRYPOINT_NONE)
		return;
	launch_write_option(w, "--entrypoint", mode == ENTRYPOINT_RUN ? "run" : "wait");
	jw_cstr(w, "--");
	/* The labels were checked before the launch; an error is ignored here. */
	(void)!labels_command(l->base, launch_put_arg, w, &n);
}

static void launch_write_command(
	const struct launch *l, const struct launch_creation *m, struct jw *w)
{
	const struct sandbox_options *o = l->settings->options;
	const struct identity_options *identity = &o->identity;
	const struct option_value *plugin = o->image.plugin.plugins.first;
	char number[24];

	jw_key(w, "Entrypoint");
	jw_array(w);
	jw_cstr(w, IMAGE_CLIENT);
	jw_cstr(w, "init");
	jw_end(w);
	jw_key(w, "Cmd");
	jw_array(w);
	snprintf(
		number, sizeof(number), "%d", m->host_port ? m->host_port : SANDBOX_PORT);
	jw_cstr(w, number);
	if (m->host_port)
		launch_write_option(w, "--address", "127.0.0.1");
	launch_write_option(w, "--key-sha256", m->key_hash);
	if (o->tls)
		jw_cstr(w, "--tls-self");
	launch_write_option(w, "--working-dir", l->working_dir);
	if (identity->working_dir)
		jw_cstr(w, "--working-dir-needed");
	if (o->state_dir)
		launch_write_option(w, "--state-dir", o->state_dir);
	/* As in docker run, commands run by default as the image's user, perhaps root. */
	launch_write_option(
		w, "--username", identity->username ? identity->username : "root");
	if (identity->has_user_id) {
		snprintf(number, sizeof(number), "%llu",
			(unsigned long long)identity->user_id);
		launch_write_option(w, "--user-id", number);
	}
	connect_write_arguments(l->connect, m->state.name, w);
	if (plugin)
		jw_cstr(w, "--plugins");
	for (; plugin; plugin = plugin->next)
		jw_str(w, plugin_option_name(plugin->text));
	launch_write_entrypoint(l, w);
	jw_end(w);
}

static void launch_put_ports(const struct launch *l, struct jw *w)
{
	const struct sandbox_options *o = l->settings->options;
	char number[24] = "";

	if (o->port)
		snprintf(number, sizeof(number), "%llu", (unsigned long long)o->port);
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
	settings_write_ports(l->settings, w);
	jw_end(w);
}

static int launch_put_label(void *w, const char *name, struct str value)
{
	jw_key(w, name);
	jw_str(w, value);
	return 0;
}

static void launch_write_labels(
	const struct launch *l, const struct launch_creation *m, struct jw *w)
{
	const struct labels originals = {
		.base = l->injection ? l->injection->image : NULL};
	char number[24] = "";
	const size_t number_n = m->host_port
		? (size_t)snprintf(number, sizeof(number), "%u", m->host_port)
		: 0;
	char owner[OWNER_LABEL_MAX];
	const enum sandbox_label owned =
		l->bound ? SANDBOX_LABEL_BOUND : SANDBOX_LABEL_OWNER;
	struct str values[SANDBOX_LABELS] = {
		[SANDBOX_LABEL_MARK] = STR("1"),
		[SANDBOX_LABEL_IMAGE] = str_c(l->shown_image),
		[SANDBOX_LABEL_METHOD] = str_c(
			l->injection ? injection_method_name(l->injection->method) : ""),
		[SANDBOX_LABEL_PORT] = {number, number_n},
		[SANDBOX_LABEL_OVERLAY] = str_c(m->overlay.name),
	};

	owner_label(m->state.name, owner);
	values[owned] = str_c(owner);
	jw_key(w, "Labels");
	jw_object(w);
	sandbox_label_write_all(values, w);
	/* The image states its own start command; the sandbox repeats it. */
	if (l->injection)
		(void)!labels_each_original(&originals, launch_put_label, w);
	settings_write_labels(l->settings, w);
	jw_end(w);
}

/*
 * The health check and the stop signal (settings_write) of the image are not inherited:
 * they are for another program. The image's user and its environment stay, unless an
 * option changes them.
 */
static void launch_write_container(
	const struct launch *l, const struct launch_creation *m, struct buf *out)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "Image");
	jw_cstr(&w, l->image);
	launch_write_command(l, m, &w);
	settings_write(l->settings, &w);
	launch_write_labels(l, m, &w);
	if (!m->host_port && !settings_is_isolated(l->settings)) {
		jw_key(&w, "ExposedPorts");
		jw_object(&w);
		jw_key(&w, SANDBOX_PORT_NAME);
		jw_object(&w);
		jw_end(&w);
		settings_write_exposed(l->settings, &w);
		jw_end(&w);
	}
	jw_key(&w, "Healthcheck");
	jw_object(&w);
	jw_key(&w, "Test");
	jw_array(&w);
	jw_cstr(&w, "NONE");
	jw_end(&w);
	jw_end(&w);
	jw_key(&w, "HostConfig");
	jw_object(&w);
	if (!m->host_port && !settings_is_isolated(l->settings))
		launch_put_ports(l, &w);
	jw_key(&w, "AutoRemove");
	jw_bool(&w, l->auto_remove);
	settings_write_host(l->settings, m->overlay.dirs, l->engine->podman, &w);
	jw_end(&w);
	jw_end(&w);
}

/* Makes the name and the key; the container receives only the hash of the key. */
static int launch_make_state(const struct launch *l, struct launch_creation *m)
{
	const char *wanted = l->settings->options->name;
	struct state *s = &m->state;
	uint8_t random[4];
	char name[2 * sizeof(random) + 1];
	int r = random_bytes(random, sizeof(random));

	if (r)
		return r;
	hex_encode(random, sizeof(random), name);
	if (wanted)
		snprintf(s->name, sizeof(s->name), "%s", wanted);
	else
		snprintf(s->name, sizeof(s->name), "od-%s", name);
	snprintf(s->engine, sizeof(s->engine), "%s", l->engine->path);
	s->tls = l->settings->options->tls;
	return state_make_key(s, m->key_hash);
}

/* Chooses a free port in the host's network, where all servers share the ports. */
static int launch_choose_port(const struct launch *l, struct launch_creation *m)
{
	struct sockaddr_in at = {0};
	socklen_t n = sizeof(at);
	int fd, r = 0;

	if (!settings_is_host_network(l->settings))
		return 0;
	m->host_port = (uint16_t)l->settings->options->port;
	if (m->host_port)
		return 0;
	fd = fd_listen_tcp("127.0.0.1", 0, 1);
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		r = out_fail("choose a port with --port", "no free port on 127.0.0.1: %s",
			err_text(fd < 0 ? fd : -errno));
	else
		m->host_port = ntohs(at.sin_port);
	fd_close(&fd);
	return r;
}

static int launch_create_plain(const struct launch *l, struct launch_creation *m)
{
	const struct engine calm = engine_copy_nosignal(l->engine);
	const char *platform = l->settings->options->image.platform;
	struct buf body = BUF_INIT(INJECT_BODY_MAX);
	struct target target;
	struct reply reply;
	int r;

	launch_write_container(l, m, &body);
	r = body.err;
	if (r) {
		buf_free(&body);
		return r != ERR_LIMIT
			? r
			: out_fail("give fewer or shorter settings",
				  "the settings of the sandbox have more than %d MiB",
				  INJECT_BODY_MAX >> 20);
	}
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/create?name=%s", m->state.name);
	if (platform)
		target_add(&target, "&platform=%s", platform);
	r = engine_request_at(&calm, &reply, "POST", buf_view(&body), &target);
	target_free(&target);
	if (r)
		engine_undo_create(l->engine, m->state.name, m->key_hash);
	if (!r && reply.status == 409)
		r = out_fail("choose another --name, or remove that container",
			"a container named %s exists already", m->state.name);
	else if (!r && reply.status != 201 && l->injection &&
		(r = injection_on_refusal(l->injection, &reply)))
		;
	else if (!r && reply.status != 201)
		r = engine_fail_reply(&reply, NEXT_ENGINE, "creating the sandbox");
	if (!r) {
		reply_read_id(&reply, m->state.id, sizeof(m->state.id));
		if (!m->state.id[0])
			r = out_fail(ENGINE_NEXT,
				"the engine created a container, but did not return its "
				"id");
	}
	reply_free(&reply);
	buf_free(&body);
	return r;
}

static bool launch_has_text(const struct reply *r, const char *words)
{
	struct str text = buf_view(&r->body);

	return str_find(text, str_c(words)) < text.n;
}

static int launch_start_container(const struct launch *l, const struct state *s)
{
	/* With other ports published, the port in use may be one of them. */
	uint64_t asked_port = l->settings->ports_n ? 0 : l->settings->options->port;
	struct reply reply;
	int r = engine_request(l->engine, &reply, "POST", (struct str){0},
		"/containers/%s/start", s->id);

	if (!r && reply.status != 204 && reply.status != 304) {
		if (asked_port &&
			(launch_has_text(&reply, "already allocated") ||
				launch_has_text(&reply, "already in use")))
			r = out_fail("choose another --port, or leave it out",
				"port %llu of 127.0.0.1 is already in use",
				(unsigned long long)asked_port);
		else if (launch_has_text(&reply, "exec format error"))
			r = engine_fail_reply(&reply,
				"use an image for the engine's architecture",
				"the image is for another architecture");
		else if (l->settings->options->gpus &&
			launch_has_text(&reply, "device driver"))
			r = engine_fail_reply(&reply,
				"leave --gpus out, or install the driver and the NVIDIA "
				"container toolkit on the engine's machine",
				"the engine has no GPU");
		else if (probe_is_od_blocked(l->engine, s->id))
			r = probe_fail_od(str_c(l->shown_image));
		else
			r = engine_fail_reply(
				&reply, NEXT_ENGINE, "starting the sandbox");
	}
	reply_free(&reply);
	return r;
}

/* Prints the last lines of a sandbox that has ended or hangs. */
static bool launch_show_log(const struct launch *l, const struct state *s)
{
	struct http_client c;
	bool format =
		container_log_open(l->engine, s->id, &c, "&stdout=1&tail=20") == 0 &&
		c.head.status == 200 && container_log_show(&c, TAIL_MS);

	http_client_close(&c);
	return format;
}

/*
 * Attaches to the output of an auto-removed container before its start, because the
 * engine discards the log with the container. A failure to attach is ignored.
 */
static bool launch_attach_output(
	const struct launch *l, const struct state *s, struct http_client *c)
{
	struct target target;
	const struct http_client_request q = {.method = "POST", .target = &target};
	int r = ERR_LIMIT;

	http_client_begin(c, -1, 0, true);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/attach?stream=1&stdout=1&stderr=1", s->id);
	if (l->auto_remove)
		r = engine_try_stream(l->engine, c, &q, INJECT_ENGINE_MS);
	target_free(&target);
	return r == 0 && c->head.status == 200;
}

/*
 * With TLS, a port that is not on this machine is not reachable: the engine carries only
 * plain bytes.
 */
static const char *launch_timeout_advice(const struct sandbox_options *o)
{
	if (o->tls)
		return "allow more time with --timeout-start; if the engine is on "
		       "another machine, leave --tls out";
	return o->entrypoint == ENTRYPOINT_WAIT
		? "if the entrypoint does not end by itself, use --entrypoint run"
		: "allow more time with --timeout-start";
}

/* Prints why the sandbox did not become ready. gone: it has ended. */
static int launch_fail_ready(const struct launch *l, const struct sandbox *s,
	struct http_client *heard, bool gone)
{
	bool format = heard ? container_log_show(heard, TAIL_MS)
			    : launch_show_log(l, &s->state);
	const char *next = format ? "the image is for another architecture"
				  : "the lines above are the last lines of its log";

	if (!gone)
		return out_fail(launch_timeout_advice(l->settings->options),
			"the sandbox was not ready after %llu s",
			(unsigned long long)l->settings->options->ready.timeout_start);
	if (s->exit_code < 0)
		return out_fail(next, "the sandbox ended before it was ready");
	return out_fail(next, "the sandbox ended with exit code %d before it was ready",
		s->exit_code);
}

/* Reads the port. 0 also if the sandbox has ended already, with *gone. */
static int launch_inspect_sandbox(const struct launch *l, struct sandbox *s, bool *gone)
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
	s->inside = got.inside;
	s->engine = l->engine;
	s->exit_code = got.exit_code;
	memcpy(s->state.ended, got.state.ended, sizeof(got.state.ended));
	*gone = !got.running;
	return 0;
}

static uint64_t launch_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int launch_wait_ready(
	const struct launch *l, struct sandbox *s, struct http_client *heard)
{
	uint64_t deadline = clock_ms() + l->settings->options->ready.timeout_start * 1000;
	uint64_t far = clock_ms() + FAR_MS, pause = POLL_FIRST_MS, inspect = 0;
	bool gone = false;
	int r;

	for (;;) {
		uint64_t now = clock_ms();

		if (now >= inspect) {
			r = launch_inspect_sandbox(l, s, &gone);
			if (r)
				return r;
			if (gone)
				return launch_fail_ready(l, s, heard, true);
			inspect = clock_ms() + INSPECT_MS;
		}
		/*
		 * For the first FAR_MS a refused connection means that the server is not
		 * ready: some engines refuse until it is.
		 */
		s->may_be_remote = now >= far;
		r = tls_pin_learn(l->engine, s);
		if (!r)
			r = sandbox_check_alive(s, INJECT_ALIVE_MS);
		if (r <= 0)
			return r;
		if (clock_ms() >= deadline)
			return launch_fail_ready(l, s, heard, false);
		r = stop_wait(-1, 0, launch_min(clock_ms() + pause, deadline), false);
		if (r < 0)
			return r;
		pause = launch_min(pause + pause / 2, POLL_LAST_MS);
	}
}

static int launch_start_server(
	const struct launch *l, struct timing *t, struct sandbox *s)
{
	struct http_client heard;
	bool hears = launch_attach_output(l, &s->state, &heard);
	int r;

	out_step("starting: %s", s->state.name);
	r = launch_start_container(l, &s->state);
	timing_end_step(t, "start");
	if (!r)
		r = launch_wait_ready(l, s, hears ? &heard : NULL);
	timing_end_step(t, "ready");
	http_client_close(&heard);
	out_step_end();
	return r;
}

/* Creates a container with the user's mounts, followed by those that the client needs. */
static int launch_create_mounted(const struct launch *l, struct launch_creation *m)
{
	struct settings with = *l->settings;
	struct launch now = *l;
	struct arena memory;
	int r;

	with.mounts_n += l->injection->mounts_n;
	arena_init(&memory, INJECT_ARENA_MAX);
	with.mounts = arena_array(&memory, with.mounts_n + 1, sizeof(*with.mounts));
	if (!with.mounts)
		return -ENOMEM;
	if (l->settings->mounts_n)
		memcpy(with.mounts, l->settings->mounts,
			l->settings->mounts_n * sizeof(*with.mounts));
	memcpy(with.mounts + l->settings->mounts_n, l->injection->mounts,
		l->injection->mounts_n * sizeof(*with.mounts));
	now.settings = &with;
	r = launch_create_plain(&now, m);
	arena_reset(&memory);
	return r;
}

/* Creates a container and injects the client. */
static int launch_create_injected(const struct launch *l, struct launch_creation *m)
{
	int r = injection_begin(l->injection);

	if (r)
		return r;
	do {
		r = launch_create_mounted(l, m);
		if (!r)
			r = injection_fill(l->injection, m->state.id);
		if (r && m->state.id[0]) {
			engine_cleanup(l->engine, NULL, "DELETE",
				"/containers/%s?force=1&v=1", m->state.id);
			m->state.id[0] = '\0';
		}
		if (r)
			injection_undo(l->injection);
	} while (r == 1);
	return r;
}

static int launch_make_sandbox(const struct launch *l, struct launch_creation *m)
{
	int r = launch_choose_port(l, m);

	if (!r)
		r = overlay_make(
			l->engine, l->image, m->state.name, l->settings, &m->overlay);
	if (r)
		return r;
	return l->injection ? launch_create_injected(l, m) : launch_create_plain(l, m);
}

static int launch_put_files(const struct launch *l, const char *id)
{
	const char *user = l->settings->options->identity.user;

	return connect_put(l->connect, l->engine, id,
		user ? str_c(user)
		     : json_doc_str(&l->base->doc, json_get(l->base->config, "User")));
}

int launch_run(const struct launch *l, struct timing *t, struct sandbox *s)
{
	struct sandbox got = {.exit_code = -1};
	struct launch_creation m = {0};
	int r = launch_make_state(l, &m);

	if (!r)
		r = launch_make_sandbox(l, &m);
	if (r) {
		/* An existing container of that name is foreign, and stays. */
		overlay_undo(l->engine, &m.overlay, m.state.name);
		state_wipe_key(&m.state);
		return r;
	}
	snprintf(m.state.overlay, sizeof(m.state.overlay), "%s", m.overlay.name);
	overlay_free(&m.overlay);
	got.state = m.state;
	state_wipe_key(&m.state);
	r = stop_get_signal() ? -EINTR : state_save(&got.state);
	if (!r)
		r = launch_put_files(l, got.state.id);
	timing_end_step(t, "create");
	if (!r)
		r = launch_start_server(l, t, &got);
	if (!r && got.state.tls)
		r = state_save(&got.state);
	if (r) {
		sandbox_remove(l->engine, &got.state);
		state_wipe_key(&got.state);
		return r;
	}
	got.running = true;
	*s = got;
	return 0;
}
