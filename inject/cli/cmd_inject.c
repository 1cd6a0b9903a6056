/* Starts the client in a container that od-runtime has not made. */
#include "inject/cli/commands.h"

#include "base/clock.h"
#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/image/client_files.h"
#include "inject/image/image.h"
#include "inject/image/plan.h"
#include "inject/image/probe.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "inject/sandbox/injection.h"
#include "inject/sandbox/leftovers.h"
#include "inject/sandbox/sandbox.h"
#include "inject/sandbox/sandbox_info.h"
#include "inject/sandbox/tunnel.h"
#include "limits.h"

#include <stdio.h>

struct inject_options {
	struct client_options client;
	struct identity_options identity;
	struct ready_options ready;
	uint64_t port;
};

enum { PAUSE_MS = 20 };

struct inject_job {
	const struct command_line *line;
	const struct inject_options *options;
	const struct engine *engine;
	struct sandbox sandbox;
	char key_hash[SHA256_HEX + 1];
	char exec[STATE_ID_MAX + 1];
	struct program client, busybox;
	struct reply description; /* the engine's description of the container */
	struct json_doc doc;
};

static bool inject_copy_str(char *out, size_t room, struct str s)
{
	snprintf(out, room, "%.*s", STR_ARG(s));
	return s.n < room && strlen(out) == s.n;
}

/* Finds the container, which must run and must not be a sandbox. */
static int inject_find_container(struct inject_job *g, const char *name)
{
	struct json_val root, state;
	struct str known, id;
	int r = engine_request(g->engine, &g->description, "GET", (struct str){0},
		"/containers/%s/json", name);

	if (r)
		return r;
	if (g->description.status == 404)
		return out_fail("docker ps (or podman ps) lists the running containers",
			"no container named %s", name);
	if (g->description.status != 200)
		return engine_fail_reply(
			&g->description, NULL, "inspecting the container %s", name);
	r = json_doc_parse(&g->doc, buf_view(&g->description.body));
	if (r)
		return out_fail(ENGINE_NEXT,
			"the engine's description of the container %s is not JSON", name);
	root = json_doc_root(&g->doc);
	state = json_get(root, "State");
	known = json_doc_str(&g->doc, json_get(root, "Name"));
	id = json_doc_str(&g->doc, json_get(root, "Id"));
	if (str_starts(known, STR("/")))
		known = str_skip(known, 1);
	if (!state_is_name(known) || !state_is_name(id) ||
		!inject_copy_str(g->sandbox.state.name, STATE_NAME_MAX + 1, known) ||
		!inject_copy_str(g->sandbox.state.id, STATE_ID_MAX + 1, id))
		return out_fail(ENGINE_NEXT,
			"the engine's description of the container %s lacks a valid name "
			"or id",
			name);
	if (!json_doc_is_true(json_get(state, "Running")) ||
		json_doc_is_true(json_get(state, "Paused")))
		return out_fail("start it with docker start, or start a sandbox of its "
				"image with od-runtime run",
			"the container %s is stopped or paused", name);
	return 0;
}

static int inject_check_origin(struct inject_job *g)
{
	struct json_val root = json_doc_root(&g->doc);
	const struct sandbox_identity identity = {
		.name = str_c(g->sandbox.state.name),
		.id = str_c(g->sandbox.state.id),
		.image = json_doc_str(&g->doc, json_get(root, "Image")),
		.labels = json_get(json_get(root, "Config"), "Labels"),
	};
	struct sandbox old = {.engine = g->engine};
	struct sandbox_origins origins;
	enum sandbox_origin origin;
	int r;

	sandbox_origins_init(&origins, g->engine);
	r = sandbox_origin_find(&origins, &g->doc, &identity, &origin, &old.inside);
	sandbox_origins_free(&origins);
	if (r)
		return r;
	if (origin == SANDBOX_CREATED)
		return out_fail("use it as it is, for example with od-runtime exec",
			"the container %s is already a sandbox", g->sandbox.state.name);
	old.state = g->sandbox.state;
	if (origin == SANDBOX_INJECTED && sandbox_check_alive(&old, INJECT_ALIVE_MS) == 0)
		return out_fail("use it as it is, for example with od-runtime exec",
			"the client already runs in the container %s",
			g->sandbox.state.name);
	return 0;
}

/* Finds the client for the container's architecture; its image may be deleted already. */
static int inject_find_client(struct inject_job *g)
{
	struct str id = json_doc_str(&g->doc, json_get(json_doc_root(&g->doc), "Image"));
	struct buf name = BUF_INIT(256);
	struct image im = {0};
	const char *image;
	int r;

	buf_str(&name, id);
	image = buf_cstr(&name);
	r = image && id.n ? plan_inspect(g->engine, image, &im) : 1;
	if (r >= 0)
		r = program_find_client(&g->client, g->options->client.client, im.arch,
			!g->options->client.no_od_plugins);
	if (!r && im.arch.n && !str_eq(im.arch, str_c(g->client.arch)))
		r = out_fail(
			"give the od-runtime-client for that architecture with --client",
			"%s is for %.*s, the client binary for %s", g->sandbox.state.name,
			STR_ARG(im.arch), g->client.arch);
	image_free(&im);
	buf_free(&name);
	return r;
}

static int inject_copy_files(struct inject_job *g)
{
	const char *id = g->sandbox.state.id, *name = g->sandbox.state.name;
	struct client_files files = {
		.client = buf_view(&g->client.bytes),
		.plugins_program = program_plugins_bytes(&g->client),
	};
	struct probe seen;
	struct reply reply;
	int r = probe_container(g->engine, id, &seen);

	if (r)
		return r;
	if (seen.od != PROBE_ABSENT && seen.od != PROBE_FOLDER)
		return out_fail("remove /.od from the container",
			"cannot add the client to %s: its /.od is not a directory", name);
	files.drop_in = seen.openhands == PROBE_ABSENT;
	if (!seen.shell && !g->options->client.no_busybox) {
		r = program_find_busybox(
			&g->busybox, g->options->client.busybox, g->client.arch);
		if (r == 1)
			out_note("od-runtime: %s " PROGRAM_NO_SHELL, name);
		else if (r)
			return r;
		else
			files.busybox = buf_view(&g->busybox.bytes);
	}
	r = client_files_put(g->engine, id, &files, &reply);
	if (!r && reply.status != 200)
		r = engine_fail_reply(&reply,
			"if the container is read-only, start a sandbox of its image "
			"with od-runtime run",
			"copying the client into the container %s", name);
	reply_free(&reply);
	return r;
}

static void inject_write_args(void *arg, struct jw *w)
{
	struct inject_job *g = arg;
	const struct identity_options *o = &g->options->identity;
	struct str dir = json_doc_str(&g->doc,
		json_get(json_get(json_doc_root(&g->doc), "Config"), "WorkingDir"));
	char number[24];

	snprintf(number, sizeof(number), "%u", g->sandbox.inside);
	jw_cstr(w, "init");
	jw_cstr(w, number);
	/* Without a published port the client listens only inside the container. */
	if (!g->sandbox.port) {
		jw_cstr(w, "--address");
		jw_cstr(w, "127.0.0.1");
	}
	jw_cstr(w, "--key-sha256");
	jw_cstr(w, g->key_hash);
	jw_cstr(w, "--working-dir");
	jw_str(w, o->working_dir ? str_c(o->working_dir) : dir.n ? dir : STR("/"));
	jw_cstr(w, "--username");
	jw_cstr(w, o->username ? o->username : "root");
	if (o->has_user_id) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)o->user_id);
		jw_cstr(w, "--user-id");
		jw_cstr(w, number);
	}
}

static int inject_start_client(struct inject_job *g)
{
	const struct sandbox *s = &g->sandbox;
	const struct str body = STR("{\"Detach\":true,\"Tty\":false}");
	struct reply reply;
	int r = tunnel_exec(g->engine, s->state.id, g->options->identity.user, false,
		inject_write_args, g, &reply, g->exec, sizeof(g->exec));

	if (!r && !g->exec[0])
		r = engine_fail_reply(&reply, NULL,
			"creating an exec of the client in the container %s",
			s->state.name);
	reply_free(&reply);
	if (r)
		return r;
	r = engine_request(g->engine, &reply, "POST", body, "/exec/%s/start", g->exec);
	if (!r && reply.status != 200)
		r = engine_fail_reply(&reply, NULL,
			"starting the client in the container %s", s->state.name);
	reply_free(&reply);
	return r;
}

/* The exit code of the client, or -1 while it runs or if it is unknown. */
static int inject_read_exit_code(struct inject_job *g)
{
	struct reply reply;
	struct json_doc d;
	int code = -1;

	if (engine_cleanup(g->engine, &reply, "GET", "/exec/%s/json", g->exec) == 0 &&
		json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		struct json_val root = json_doc_root(&d);

		if (json_type(json_get(root, "Running")) &&
			!json_doc_is_true(json_get(root, "Running")))
			code = (int)json_doc_int(json_get(root, "ExitCode"), -1);
		json_doc_free(&d);
	}
	reply_free(&reply);
	return code;
}

static int inject_wait_ready(struct inject_job *g)
{
	uint64_t deadline = clock_ms() + g->options->ready.timeout_start * 1000;
	const char *name = g->sandbox.state.name;
	int r;

	while ((r = sandbox_check_alive(&g->sandbox, INJECT_ALIVE_MS)) == 1) {
		int code = inject_read_exit_code(g);

		if (code >= 0)
			return out_fail("another program may use its port: choose "
					"another with --port N",
				"the client in %s ended with exit code %d before it was "
				"ready",
				name, code);
		if (clock_ms() >= deadline)
			return out_fail("allow more time with --timeout-start",
				"the client in %s was not ready after %llu s", name,
				(unsigned long long)g->options->ready.timeout_start);
		r = stop_wait(-1, 0, clock_ms() + PAUSE_MS, false);
		if (r < 0)
			return r;
	}
	return r;
}

static int inject_run(struct inject_job *g)
{
	const struct inject_options *o = g->options;
	struct sandbox *s = &g->sandbox;
	int r = inject_find_container(g, g->line->operand[0]);

	if (!r)
		r = inject_check_origin(g);
	if (!r)
		r = inject_find_client(g);
	if (!r)
		r = inject_copy_files(g);
	s->engine = g->engine;
	s->inside = o->port ? (uint16_t)o->port : SANDBOX_PORT;
	s->state.port = s->inside;
	snprintf(s->state.engine, sizeof(s->state.engine), "%s", g->engine->path);
	if (!r)
		s->port = sandbox_published_port(&g->doc, s->inside);
	if (!r)
		r = state_make_key(&s->state, g->key_hash);
	/*
	 * The key is saved before the start: once the client runs, its key must not be
	 * lost.
	 */
	if (!r)
		r = state_save(&s->state);
	if (!r) {
		r = inject_start_client(g);
		if (r)
			state_remove(s->state.name);
	}
	if (!r)
		r = inject_wait_ready(g);
	return r ? r
		 : sandbox_info_print(g->engine, &s->state, g->line->json, NULL, NULL);
}

static int cmd_inject(const struct command_line *line)
{
	const struct inject_options *o = line->options;
	struct engine e;
	struct inject_job g = {.line = line, .options = o, .engine = &e};
	int r = engine_open(&e, line->host);

	reply_init(&g.description);
	if (!r)
		leftovers_collect(&e, LEFTOVERS_CONTAINERS);
	if (!r)
		r = inject_run(&g);
	state_wipe_key(&g.sandbox.state);
	program_free(&g.client);
	program_free(&g.busybox);
	json_doc_free(&g.doc);
	reply_free(&g.description);
	return r;
}

#define OPTIONS struct inject_options
static const struct option inject_options[] = {
	{SET(client_set, client)},
	{"port", "N", "serve the API on port N in the container", NUMBER(1, 65535),
		AT(port), DEFAULT("8000"), GROUP(CLIENT)},
	{SET(identity_set, identity)},
	{SET(ready_set, ready)},
	{0},
};
#undef OPTIONS

const struct command command_inject = {
	.name = "inject",
	.usage = "CONTAINER [OPTION...]",
	.purpose = "add the client to a running container and start it there",
	.examples = {"od-runtime inject web"},
	.operands = 1,
	.subject = SUBJECT_SANDBOX,
	.options = inject_options,
	.options_size = sizeof(struct inject_options),
	.run = cmd_inject,
};
