/* Copies files to and from a sandbox. */
#include "inject/cli/commands.h"

#include "inject/cli/remote_path.h"
#include "inject/console/out.h"
#include "inject/sandbox/copy/copy.h"
#include "limits.h"

#include <stdio.h>

static int cp_open_sandbox(const struct engine *e, const char *name, struct sandbox *s)
{
	int r = sandbox_require(e, name, s);

	/*
	 * A running sandbox copies with its user's rights; a stopped one only by the
	 * engine.
	 */
	if (!r && s->running)
		r = sandbox_open(e, name, s);
	return r;
}

int cmd_cp(const struct options *o)
{
	bool down = options_is_remote(o->operand[0]);
	const char *remote = o->operand[down ? 0 : 1];
	struct str path = str_c(remote), name = str_cut(&path, ':');
	struct buf whole = BUF_INIT(FILE_PATH_MAX);
	char sandbox[STATE_NAME_MAX + 1];
	struct sandbox s = {0};
	struct engine e;
	struct copy c = {
		.engine = &e,
		.sandbox = &s,
		.local = o->operand[down ? 1 : 0],
	};
	int r = engine_open(&e, o->host);

	snprintf(sandbox, sizeof(sandbox), "%.*s", STR_ARG(name));
	c.remote = remote_path_make_absolute(&whole, path.p);
	if (!r && !c.remote)
		r = out_fail("a path has 4,095 bytes at most", "the path is too long");
	if (!r)
		r = cp_open_sandbox(&e, sandbox, &s);
	if (!r)
		r = down ? copy_down(&c) : copy_up(&c);
	state_wipe_key(&s.state);
	buf_free(&whole);
	return r;
}
