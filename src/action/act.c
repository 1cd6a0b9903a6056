#include "action/act.h"

#include "action/observe.h"
#include "limits.h"
#include "shell/shell.h"

#include <errno.h>
#include <math.h>

int act_arg_str(struct act *a, const char *name, struct str fallback, struct str *out)
{
	struct json_val v = json_get(a->args, name);
	enum json_type type = json_type(v);

	if (type != JSON_ABSENT && type != JSON_NULL)
		return json_str(v, a->arena, out);
	if (!fallback.p)
		return ERR_TYPE;
	*out = fallback;
	return 0;
}

struct str act_box_cwd(const struct box *box)
{
	return str_c(box->shell_setup->cwd);
}

/* Models send "true" as a string, and upstream accepts such texts. */
bool act_arg_bool(struct act *a, const char *name, bool fallback)
{
	struct json_val v = json_get(a->args, name);
	struct str text;
	bool b;

	if (json_bool(v, &b) == 0)
		return b;
	if (json_type(v) == JSON_STRING && json_str(v, a->arena, &text) == 0)
		return text.n && !str_eq_nocase(text, STR("false")) &&
			!str_eq(text, STR("0"));
	return fallback;
}

int64_t act_arg_int(struct act *a, const char *name, int64_t fallback)
{
	int64_t v;

	return json_i64(json_get(a->args, name), &v) == 0 ? v : fallback;
}

const struct action *act_find(const struct box *box, struct str name)
{
	for (size_t i = 0; i < actions_n; i++)
		if (str_eq(name, str_c(actions[i]->name)))
			return actions[i];
	return box->find_plugin_action ? box->find_plugin_action(box, name) : NULL;
}

int act_start(struct act *a)
{
	a->hidden = act_arg_bool(a, "hidden", false);
	a->action = act_find(a->box, a->name);
	if (!a->action) {
		observe_errorf(a, "There is no action named %.*s.",
			(int)(a->name.n < 100 ? a->name.n : 100), a->name.p);
		return ACT_DONE;
	}
	return a->action->start(a);
}

int act_read_call(struct json_val event, struct arena *arena, struct act_call *call,
	const char **why)
{
	struct json_val timeout = json_get(event, "timeout");
	int r;

	*why = "the action is not an object";
	if (json_type(event) != JSON_OBJECT)
		return ERR_TYPE;
	*why = "the action has no name: \"action\" must be a string";
	r = json_str(json_get(event, "action"), arena, &call->name);
	if (r < 0)
		return r;
	call->args = json_get(event, "args");
	*why = "\"args\" must be an object";
	if (json_type(call->args) != JSON_OBJECT && json_type(call->args) != JSON_ABSENT)
		return ERR_TYPE;
	*why = "\"timeout\" must be a number of seconds or null";
	call->timeout = 0;
	if (json_type(timeout) != JSON_NULL && json_type(timeout) != JSON_ABSENT &&
		(json_double(timeout, &call->timeout) < 0 || !isfinite(call->timeout)))
		return ERR_TYPE;
	return 0;
}

bool act_is_late(struct act *a)
{
	const struct action *found = act_find(a->box, a->name);

	return found && found->late && found->late(a);
}

int act_before_effect(struct act *a)
{
	return a->before_effect ? a->before_effect(a) : 0;
}

int act_resume(struct act *a)
{
	a->hidden = act_arg_bool(a, "hidden", false);
	a->action = act_find(a->box, a->name);
	return a->action && a->action->resume ? a->action->resume(a) : ERR_CLOSED;
}

uint64_t act_timeout_ms(const struct act *a)
{
	double ms = a->timeout * 1000.0;

	if (!(ms > 0))
		return 0;
	/* A limit below one millisecond counts as one millisecond. */
	return ms < 1 ? 1 : ms < TIMEOUT_MAX ? (uint64_t)ms : TIMEOUT_MAX;
}

int act_stop(struct act *a, enum act_stop how)
{
	return a->action && a->action->stop ? a->action->stop(a, how) : ERR_CLOSED;
}

void act_abandon(struct act *a)
{
	if (a->action && a->action->abandon)
		a->action->abandon(a);
}

void act_cancel(struct act *a)
{
	if (a->action && a->action->cancel)
		a->action->cancel(a);
	else
		act_abandon(a);
}
