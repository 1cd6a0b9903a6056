/* Replaces the client of an existing sandbox, without an image and without a build. */
#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/timing.h"
#include "inject/image/client_files.h"
#include "inject/image/plan.h"
#include "inject/sandbox/sandbox_info.h"
#include "inject/sandbox/sandbox_ready.h"
#include "inject/sandbox/via.h"
#include "limits.h"

#include <errno.h>

enum { SANDBOX_STOP_MAX = 3600 }; /* seconds, as of stop --time */

/* Finds the client for the architecture of the container's image. */
static int find_client(const struct options *o, const struct engine *e,
	const struct sandbox *s, struct program *client)
{
	struct image im = {0};
	struct buf id = BUF_INIT(1024);
	struct reply reply;
	struct doc d;
	const char *name;
	int r = engine_ask(
		e, &reply, "GET", (struct str){0}, "/containers/%s/json", s->state.id);

	if (!r && reply.status == 200 && doc_parse(&d, buf_view(&reply.body)) == 0) {
		buf_str(&id, doc_str(&d, json_get(doc_root(&d), "Image")));
		doc_free(&d);
	}
	reply_free(&reply);
	name = r ? NULL : buf_cstr(&id);
	if (name && id.n)
		r = plan_inspect(e, name, &im);
	if (r >= 0)
		r = program_find_client(client, o->client, im.arch, !o->no_od_plugins);
	if (!r && im.arch.n && !str_eq(im.arch, str_c(client->arch)))
		r = out_fail("give the od-runtime-client of that architecture with "
			     "--client",
			"%s is for %.*s, the client binary for %s", s->state.name,
			STR_ARG(im.arch), client->arch);
	image_free(&im);
	buf_free(&id);
	return r;
}

static int put(
	const struct engine *e, const struct sandbox *s, const struct program *client)
{
	const struct client_files files = {
		.client = buf_view(&client->bytes),
		.plugins_program = program_plugins(client),
	};
	struct reply reply;
	int r = client_files_put(e, s->state.id, &files, &reply);

	if (!r && reply.status != 200)
		r = engine_refused(&reply,
			"its client may be a file of this machine: run it with --via put",
			"putting a client into %s", s->state.name);
	reply_free(&reply);
	return r;
}

/* If the sandbox has no stop limit, STOP_SECONDS is used, so that the command ends. */
static int update_stop_seconds(const struct options *o, const struct sandbox *s)
{
	if (o->has_stop_timeout)
		return (int)o->stop_timeout;
	return s->stop_seconds < 0 || s->stop_seconds > SANDBOX_STOP_MAX
		? STOP_SECONDS
		: s->stop_seconds;
}

/* The engine answers when the sandbox has started again. */
static int restart(
	const struct options *o, const struct engine *e, const struct sandbox *s)
{
	struct engine calm = engine_calm(e);
	const int seconds = update_stop_seconds(o, s);
	struct reply reply;
	int r;

	calm.idle_ms = (uint32_t)seconds * 1000 + INJECT_ENGINE_MS;
	r = engine_ask(&calm, &reply, "POST", (struct str){0},
		"/containers/%s/restart?t=%d", s->state.id, seconds);

	if (!r && reply.status != 204)
		r = engine_refused(&reply, NULL, "starting %s again", s->state.name);
	reply_free(&reply);
	return r;
}

/* The data of the JSON members that only update has. */
struct update_report {
	const struct program *client;
	const struct timing *timings;
};

static void update_put_more(void *arg, struct jw *w)
{
	const struct update_report *report = arg;

	jw_key(w, "client_sha256");
	jw_cstr(w, report->client->sha256);
	jw_key(w, "timings");
	timing_json(report->timings, w);
}

int cmd_update(const struct options *o)
{
	struct program client = {0};
	struct sandbox s = {0};
	struct engine e;
	struct timing t;
	struct update_report report = {&client, &t};
	int r;

	timing_start(&t);
	r = engine_open(&e, o->host);
	if (!r)
		r = sandbox_need(&e, o->operand[0], &s);
	if (!r && s.injected)
		r = out_fail("od-runtime inject puts another client into it",
			"%s is a container of somebody else, not to be started again",
			s.state.name);
	if (!r)
		r = find_client(o, &e, &s, &client);
	timing_step(&t, "resolve");
	if (!r)
		r = put(&e, &s, &client);
	timing_step(&t, "put");
	if (!r)
		r = restart(o, &e, &s);
	timing_step(&t, "start");
	if (!r)
		r = sandbox_ready_wait(&e, &s, START_SECONDS);
	timing_step(&t, "ready");
	if (!r)
		r = sandbox_info_print(&e, &s.state, o->json, update_put_more, &report);
	if (!r && o->timings)
		timing_print(&t);
	program_free(&client);
	state_forget(&s.state);
	return r;
}
