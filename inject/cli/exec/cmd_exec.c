#include "inject/cli/commands.h"
#include "inject/cli/exec/exec.h"

int cmd_exec(const struct options *o)
{
	struct settings settings = {0};
	struct sandbox s = {0};
	struct engine e;
	int r = exec_check_options(o);

	exec_set_limit(o);
	if (!r)
		r = settings_read(&settings, o);
	if (!r)
		r = sandbox_open_quick(&e, o->host, o->operand[0], &s);
	if (!r)
		r = o->session ? exec_run_session(o, &s)
			       : exec_run_argv(o, &settings, &s);
	state_wipe_key(&s.state);
	settings_free(&settings);
	return r;
}
