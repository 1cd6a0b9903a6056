/* Lists and ends the shell sessions of a sandbox. */
#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/options/options_rows.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <errno.h>

struct sessions_options {
	const char *kill;
};

/* --- The list ----------------------------------------------------------------------- */

static void sessions_append_row(struct json_doc *d, struct json_val v, struct buf *out)
{
	static const struct {
		const char *member;
		size_t width;
	} columns[] = {{"name", 16}, {"state", 10}};
	struct buf age = BUF_INIT(32);

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		out_put_column(out, json_doc_str(d, json_get(v, columns[i].member)),
			columns[i].width);
	if (json_type(json_get(v, "seconds")) == JSON_NUMBER)
		out_put_age(&age, json_doc_int(json_get(v, "seconds"), 0));
	out_put_column(out, buf_view(&age), 6);
	out_put_column(out, json_doc_str(d, json_get(v, "cwd")), 24);
	out_put_column(out, json_doc_str(d, json_get(v, "command")), 0);
	out->n -= out->n > 0;
	buf_putc(out, '\n');
	buf_free(&age);
}

/* Copies the members of the server unchanged. */
static void sessions_append_json(struct json_val all, struct buf *out)
{
	struct json_val v;
	struct jw w;
	int it = 0;

	jw_init(&w, out);
	jw_array(&w);
	while (json_next(all, &it, NULL, &v))
		jw_raw(&w, json_raw(v));
	jw_end(&w);
	buf_putc(out, '\n');
}

static int sessions_print_rows(const struct command_line *line, struct json_doc *d)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	struct json_val all = json_get(json_doc_root(d), "sessions"), v;
	int it = 0, r;

	if (line->json) {
		sessions_append_json(all, &out);
	} else {
		buf_puts(&out,
			"NAME            STATE     SINCE CWD                     "
			"COMMAND\n");
		while (json_next(all, &it, NULL, &v))
			sessions_append_row(d, v, &out);
	}
	r = out_write_buf(&out);
	buf_free(&out);
	return r;
}

static int sessions_fetch_list(const struct command_line *line, const struct sandbox *s)
{
	struct reply reply;
	struct json_doc d = {0};
	int r = sandbox_request(
		s, "GET", TARGET("/v1/sessions"), STR(""), INJECT_ENGINE_MS, &reply);

	if (!r && reply.status != 200)
		r = sandbox_fail_reply(s, &reply);
	if (!r && json_doc_parse(&d, buf_view(&reply.body)))
		r = out_fail("its client may be of another version: od-runtime update "
			     "SANDBOX replaces it",
			"the sandbox %s did not return its sessions as JSON",
			s->state.name);
	if (!r)
		r = sessions_print_rows(line, &d);
	json_doc_free(&d);
	reply_free(&reply);
	return r;
}

/* --- The end of one ----------------------------------------------------------------- */

/* Prints an error line for each process that could not be ended. */
static int sessions_report_process(struct json_doc *d)
{
	struct json_val left = json_get(json_doc_root(d), "left"), v;
	int it = 0, r = 0;

	while (json_next(left, &it, NULL, &v)) {
		struct buf name = BUF_INIT(INJECT_TEXT_MAX),
			   why = BUF_INIT(INJECT_TEXT_MAX);

		out_clean(&name, json_doc_str(d, json_get(v, "name")), false);
		out_clean(&why, json_doc_str(d, json_get(v, "why")), false);
		r = out_fail(
			"od-runtime restart SANDBOX ends all processes of the sandbox",
			"process %lld (%.*s) of the session could not be ended: %.*s",
			(long long)json_doc_int(json_get(v, "pid"), 0),
			STR_ARG(buf_view(&name)), STR_ARG(buf_view(&why)));
		buf_free(&name);
		buf_free(&why);
	}
	return r;
}

static int sessions_print_result(const struct command_line *line, struct str body)
{
	const struct sessions_options *o = line->options;
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	struct json_doc d;
	int r = json_doc_parse(&d, body);

	if (r)
		return out_fail("its client may be of another version: od-runtime update "
				"SANDBOX replaces it",
			"the reply of the sandbox is not JSON");
	if (line->json)
		buf_str(&out, body);
	else
		buf_puts(&out, o->kill);
	r = out_write_line(&out);
	if (!r)
		r = sessions_report_process(&d);
	json_doc_free(&d);
	return r;
}

static int sessions_end_session(const struct command_line *line, const struct sandbox *s)
{
	const struct sessions_options *o = line->options;
	struct target target;
	struct reply reply = {0};
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/v1/sessions/%s", o->kill);
	if (target_error(&target))
		r = out_fail_usage("od-runtime sessions SANDBOX lists the names",
			"'%s' is not a valid name of a session", o->kill);
	else
		r = sandbox_request(
			s, "DELETE", &target, STR(""), INJECT_ENGINE_MS, &reply);
	target_free(&target);
	if (!r && reply.status == 404)
		r = out_fail("od-runtime sessions SANDBOX lists the names",
			"the sandbox %s has no session %s", s->state.name, o->kill);
	else if (!r && reply.status == 409)
		r = out_fail(
			"wait until od-runtime sessions SANDBOX does not list it any "
			"more",
			"the session %s of the sandbox %s is already being "
			"ended",
			o->kill, s->state.name);
	else if (!r && reply.status != 200)
		r = sandbox_fail_reply(s, &reply);
	if (!r)
		r = sessions_print_result(line, buf_view(&reply.body));
	reply_free(&reply);
	return r;
}

static int cmd_sessions(const struct command_line *line)
{
	const struct sessions_options *o = line->options;
	struct sandbox s = {0};
	struct engine e;
	int r = engine_open(&e, line->host);

	if (!r)
		r = sandbox_open(&e, line->operand[0], &s);
	if (!r)
		r = o->kill ? sessions_end_session(line, &s)
			    : sessions_fetch_list(line, &s);
	state_wipe_key(&s.state);
	return r;
}

#define OPTIONS struct sessions_options
static const struct option sessions_options[] = {
	{"kill", "NAME",
		"end session NAME and all its processes; the next command starts a new "
		"shell",
		TEXT, AT(kill), EXAMPLE("build"), GROUP(COMMAND)},
	{0},
};
#undef OPTIONS

const struct command command_sessions = {
	.name = "sessions",
	.usage = "SANDBOX [OPTION...]",
	.purpose = "list the shell sessions of a sandbox, or end one",
	.examples = {"od-runtime sessions box", "od-runtime sessions box --kill build"},
	.operands = 1,
	.subject = SUBJECT_SANDBOX,
	.options = sessions_options,
	.options_size = sizeof(struct sessions_options),
	.run = cmd_sessions,
};
