/* Replaces the client of an existing sandbox, without an image and without a build. */
#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/timing.h"
#include "inject/image/client_files.h"
#include "inject/image/plan.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "inject/sandbox/injection.h"
#include "inject/sandbox/sandbox_info.h"
#include "inject/sandbox/sandbox_ready.h"
#include "limits.h"

#include <errno.h>

struct update_options {
	struct client_options client;
	struct timings_options timings;
	uint64_t stop_timeout;
	bool has_stop_timeout;
};

enum { SANDBOX_STOP_MAX = 3600 }; /* seconds, as of stop --time */

/* Finds the client for the architecture of the container's image. */
static int update_find_client(const struct update_options *o, const struct engine *e,
	const struct sandbox *s, struct program *client)
{
	struct image im = {0};
	struct buf id = BUF_INIT(1024);
	struct reply reply;
	struct json_doc d;
	const char *name;
	int r = engine_request(
		e, &reply, "GET", (struct str){0}, "/containers/%s/json", s->state.id);

	if (!r && reply.status == 200 && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		buf_str(&id, json_doc_str(&d, json_get(json_doc_root(&d), "Image")));
		json_doc_free(&d);
	}
	reply_free(&reply);
	name = r ? NULL : buf_cstr(&id);
	if (name && id.n)
		r = plan_inspect(e, name, &im);
	if (r >= 0)
		r = program_find_client(
			client, o->client.client, im.arch, !o->client.no_od_plugins);
	if (!r && im.arch.n && !str_eq(im.arch, str_c(client->arch)))
		r = out_fail(
			"give the od-runtime-client for that architecture with --client",
			"%s is for %.*s, the client binary for %s", s->state.name,
			STR_ARG(im.arch), client->arch);
	image_free(&im);
	buf_free(&id);
	return r;
}

static int update_copy_client(
	const struct engine *e, const struct sandbox *s, const struct program *client)
{
	const struct client_files files = {
		.client = buf_view(&client->bytes),
		.plugins_program = program_plugins_bytes(client),
	};
	struct reply reply;
	int r = client_files_put(e, s->state.id, &files, &reply);

	if (!r && reply.status != 200)
		r = engine_fail_reply(&reply,
			"the client may be mounted from this machine, which cannot be "
			"replaced: run a new sandbox with --via put",
			"copying the client into the sandbox %s", s->state.name);
	reply_free(&reply);
	return r;
}

/* If the sandbox has no stop limit, STOP_SECONDS is used, so that the command ends. */
static int update_get_stop_limit(const struct update_options *o, const struct sandbox *s)
{
	if (o->has_stop_timeout)
		return (int)o->stop_timeout;
	return s->stop_seconds < 0 || s->stop_seconds > SANDBOX_STOP_MAX
		? STOP_SECONDS
		: s->stop_seconds;
}

/* The engine answers when the sandbox has started again. */
static int update_restart(
	const struct update_options *o, const struct engine *e, const struct sandbox *s)
{
	struct engine calm = engine_copy_nosignal(e);
	const int seconds = update_get_stop_limit(o, s);
	struct reply reply;
	int r;

	calm.idle_ms = (uint32_t)seconds * 1000 + INJECT_ENGINE_MS;
	r = engine_request(&calm, &reply, "POST", (struct str){0},
		"/containers/%s/restart?t=%d", s->state.id, seconds);

	if (!r && reply.status != 204)
		r = engine_fail_reply(
			&reply, NULL, "restarting the sandbox %s", s->state.name);
	reply_free(&reply);
	return r;
}

/* The data of the JSON members that only update has. */
struct update_report {
	const struct program *client;
	const struct timing *timings;
};

static void update_write_report(void *arg, struct jw *w)
{
	const struct update_report *report = arg;

	jw_key(w, "client_sha256");
	jw_cstr(w, report->client->sha256);
	jw_key(w, "timings");
	timing_write_json(report->timings, w);
}

static int cmd_update(const struct command_line *line)
{
	const struct update_options *o = line->options;
	struct program client = {0};
	struct sandbox s = {0};
	struct engine e;
	struct timing t;
	struct update_report report = {&client, &t};
	int r;

	timing_start(&t);
	r = engine_open(&e, line->host);
	if (!r)
		r = sandbox_require(&e, line->operand[0], &s);
	if (!r && s.injected)
		r = out_fail("od-runtime inject replaces its client",
			"the container %s was not created by od-runtime, so update does "
			"not restart it",
			s.state.name);
	if (!r)
		r = update_find_client(o, &e, &s, &client);
	timing_end_step(&t, "resolve");
	if (!r)
		r = update_copy_client(&e, &s, &client);
	timing_end_step(&t, "put");
	if (!r)
		r = update_restart(o, &e, &s);
	timing_end_step(&t, "start");
	if (!r)
		r = sandbox_ready_wait(&e, &s, START_SECONDS);
	timing_end_step(&t, "ready");
	if (!r)
		r = sandbox_info_print(
			&e, &s.state, line->json, update_write_report, &report);
	if (!r && o->timings.timings)
		timing_print(&t);
	program_free(&client);
	state_wipe_key(&s.state);
	return r;
}

#define OPTIONS struct update_options
static const struct option update_options[] = {
	{SET(client_path_set, client)},
	{"no-od-plugins", NULL, "keep the od-plugins of the sandbox unchanged", FLAG,
		AT(client.no_od_plugins), GROUP(CLIENT)},
	{SET(timings_set, timings)},
	{"stop-timeout", "DURATION",
		"kill the sandbox if it has not stopped DURATION after the stop signal",
		DURATION(0, 3600), AT(stop_timeout), SEEN(has_stop_timeout),
		DEFAULT("the --stop-timeout of the sandbox, else 10s"), EXAMPLE("1m"),
		GROUP(LIFECYCLE)},
	{0},
};
#undef OPTIONS

const struct command command_update = {
	.name = "update",
	.usage = "SANDBOX [OPTION...]",
	.purpose = "replace the client of a sandbox, and restart it with its files",
	.examples = {"od-runtime update box",
		"od-runtime update box --client ./od-runtime-client"},
	.operands = 1,
	.subject = SUBJECT_SANDBOX,
	.options = update_options,
	.options_size = sizeof(struct update_options),
	.run = cmd_update,
};
