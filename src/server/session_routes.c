#include "server/session_routes.h"

#include "action/session.h"
#include "base/clock.h"
#include "limits.h"
#include "server/params.h"

#include <errno.h>

static const char *const state_names[] = {
	[SHELL_NONE] = "none",
	[SHELL_STARTING] = "starting",
	[SHELL_IDLE] = "idle",
	[SHELL_RUNNING] = "running",
	[SHELL_DONE] = "done",
	[SHELL_REPORTED] = "idle",
};

static void session_routes_put(struct jw *w, struct session *s)
{
	const struct shell *shell = session_shell(s);
	struct str command = shell_command(shell);
	pid_t pid = shell_pid(shell);
	bool told = shell_state(shell) == SHELL_REPORTED;

	jw_object(w);
	jw_key(w, "name");
	jw_cstr(w, session_name(s));
	jw_key(w, "state");
	if (session_is_ending(s))
		jw_cstr(w, "ending");
	else if (shell_is_restoring(shell))
		jw_cstr(w, "restoring");
	else
		jw_cstr(w, state_names[told && !pid ? SHELL_NONE : shell_state(shell)]);
	jw_key(w, "seconds");
	jw_uint(w, (clock_ms() - shell_get_state_time(shell)) / 1000);
	jw_key(w, "pid");
	if (pid)
		jw_int(w, pid);
	else
		jw_null(w);
	jw_key(w, "cwd");
	jw_str(w, shell_cwd(shell));
	jw_key(w, "tty");
	jw_bool(w, shell_no_terminal(shell) == 0);
	jw_key(w, "command");
	if (command.n)
		jw_str(w, command);
	else
		jw_null(w);
	jw_end(w);
}

void sessions_list(struct api *api, struct request *rq, struct str name)
{
	struct jw w;

	(void)name;
	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "sessions");
	jw_array(&w);
	for (struct session *s = api->box->session; s; s = session_next(s))
		session_routes_put(&w, s);
	jw_end(&w);
	jw_end(&w);
	request_reply(rq, 200, API_JSON);
}

/* The session of that name. NULL: there is none, and the request is answered. */
static struct session *session_routes_find(
	struct api *api, struct request *rq, struct str name)
{
	struct session *s = session_find(api->box, name);

	if (!s)
		request_fail(rq, 404,
			STR("No session has this name. GET /v1/sessions lists the "
			    "sessions."));
	return s;
}

static void session_routes_put_survivor(struct jw *w, const struct tree_survivor *left)
{
	jw_object(w);
	jw_key(w, "pid");
	jw_int(w, left->pid);
	jw_key(w, "name");
	jw_cstr(w, left->name);
	jw_key(w, "why");
	jw_cstr(w,
		left->err ? err_text(left->err) : "it was killed but has not ended yet");
	jw_end(w);
}

/* A request that waits for the end of a session. In the request's arena. */
struct session_end_wait {
	struct session *session;
	struct str name;
};

static void session_routes_on_end(void *arg, const struct tree *report)
{
	struct request *rq = arg;
	const struct session_end_wait *end = rq->user;
	struct jw w;

	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "name");
	jw_str(&w, end->name);
	jw_key(&w, "killed");
	jw_uint(&w, report->killed);
	jw_key(&w, "left");
	jw_array(&w);
	for (size_t i = 0; i < report->survivors_n; i++)
		session_routes_put_survivor(&w, &report->survivors[i]);
	jw_end(&w);
	jw_end(&w);
	rq->user = NULL;
	request_reply(rq, 200, API_JSON);
}

static void session_routes_on_close(struct request *rq)
{
	const struct session_end_wait *end = rq->user;

	session_end_abandon(end->session);
}

void sessions_end(struct api *api, struct request *rq, struct str name)
{
	static const struct request_ops ops = {.on_close = session_routes_on_close};
	struct session *s = session_routes_find(api, rq, name);
	struct session_end_wait *end;
	int r;

	if (!s)
		return;
	end = arena_alloc(&rq->arena, sizeof(*end));
	r = end ? session_end(s, session_routes_on_end, rq) : -ENOMEM;
	if (r == -EALREADY) {
		request_fail(rq, 409, STR("This session is already being ended."));
	} else if (r < 0) {
		api_reply_nomem(rq);
	} else {
		*end = (struct session_end_wait){.session = s, .name = name};
		rq->ops = &ops;
		rq->user = end;
	}
}

void sessions_output(struct api *api, struct request *rq, struct str name)
{
	static const struct param offset = {"offset", PARAM_NUMBER, .max = INT64_MAX};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct session *s = session_routes_find(api, rq, name);
	struct shell_part part;
	uint64_t from = 0;
	int r;

	if (!s)
		return;
	r = params_read(&p, &offset, 1, &from);
	if (r) {
		api_refuse(rq, (unsigned)r, p.error);
		return;
	}
	r = shell_raw(session_shell(s), from, SESSION_PART_MAX, request_out(rq), &part);
	if (r == ERR_RANGE) {
		request_fail(rq, 416, STR("The offset is beyond the end of the output."));
	} else if (r < 0) {
		api_reply_nomem(rq);
	} else {
		request_add_field(
			rq, STR("x-command"), shell_command_id(session_shell(s)));
		api_add_part(rq, part.asked, part.from, part.next);
		request_reply(rq, 200, "application/octet-stream");
	}
}
