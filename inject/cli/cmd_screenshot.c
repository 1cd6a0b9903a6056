/* Takes a picture of the browser of a sandbox. */
#include "inject/cli/commands.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "inject/console/out.h"
#include "inject/options/options_rows.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct screenshot_options {
	const char *output;
};

static int screenshot_fail_terminal(void)
{
	return out_fail_usage("give a file with -o FILE, or redirect the output",
		"the output is a terminal, which cannot show a PNG");
}

/* Writes the file atomically: a reader never sees a part of the picture. */
static int screenshot_write_file(const char *path, struct str png)
{
	static const struct atomic_file_attr attr = {
		.mode = 0644, .uid = (uid_t)-1, .gid = (gid_t)-1};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char above[FILE_PATH_MAX];
	int dir, r;

	if (!*name ||
		snprintf(above, sizeof(above), "%.*s", (int)(name - path), path) >=
			(int)sizeof(above))
		return out_fail_usage("give a file name such as --output page.png",
			"--output '%s' is not a file name", path);
	r = dir = fd_open(slash ? above : ".", O_RDONLY | O_DIRECTORY, 0);
	if (r >= 0)
		r = atomic_file_write(dir, name, &attr, &png, 1, NULL);
	fd_close(&dir);
	return r ? out_fail("choose another file with --output", "%s: %s", path,
			   err_text(r))
		 : 0;
}

static int screenshot_save(
	const struct screenshot_options *o, const struct sandbox *s, struct str png)
{
	static const struct str magic = {"\x89PNG\r\n\x1a\n", 8};

	if (!str_starts(png, magic))
		return out_fail("its client may be of another version: od-runtime update "
				"SANDBOX replaces it",
			"the reply of the sandbox %s is not a PNG picture",
			s->state.name);
	return o->output && strcmp(o->output, "-") != 0
		? screenshot_write_file(o->output, png)
		: fd_write_all(1, png.p, png.n);
}

/* Prints the server's error, and the command that starts a browser. */
static int screenshot_fail_browser(const struct sandbox *s)
{
	struct buf next = BUF_INIT(INJECT_TEXT_MAX);
	const char *hint;

	buf_fmt(&next,
		"open a page first: od-runtime action %s '{\"action\":\"browse\","
		"\"args\":{\"url\":\"http://localhost:8000\"}}'",
		s->state.name);
	hint = buf_cstr(&next);
	out_fail(hint, "no browser runs in the sandbox %s yet", s->state.name);
	buf_free(&next);
	return FAIL_ENVIRONMENT;
}

static int cmd_screenshot(const struct command_line *line)
{
	const struct screenshot_options *o = line->options;
	struct reply reply;
	struct sandbox s;
	struct engine e;
	int r;

	if ((!o->output || !strcmp(o->output, "-")) && isatty(STDOUT_FILENO))
		return screenshot_fail_terminal();
	r = engine_open(&e, line->host);
	if (!r)
		r = sandbox_open(&e, line->operand[0], &s);
	if (r)
		return r;
	r = sandbox_request(&s, "GET", TARGET("/v1/browser/screen"), STR(""),
		INJECT_ENGINE_MS, &reply);
	if (!r && reply.status == 409)
		r = screenshot_fail_browser(&s);
	else if (!r && reply.status != 200)
		r = sandbox_fail_reply(&s, &reply);
	if (!r)
		r = screenshot_save(o, &s, buf_view(&reply.body));
	reply_free(&reply);
	state_wipe_key(&s.state);
	return r;
}

#define OPTIONS struct screenshot_options
static const struct option screenshot_options[] = {
	{"output", "FILE", "write the PNG to FILE", TEXT, FILES, .letter = 'o',
		AT(output), DEFAULT("stdout"), EXAMPLE("page.png"), GROUP(FILES)},
	{0},
};
#undef OPTIONS

const struct command command_screenshot = {
	.name = "screenshot",
	.usage = "SANDBOX [OPTION...]",
	.purpose = "print a picture of the browser in a sandbox, as PNG",
	.examples = {"od-runtime screenshot box -o page.png"},
	.operands = 1,
	.subject = SUBJECT_SANDBOX,
	.options = screenshot_options,
	.options_size = sizeof(struct screenshot_options),
	.run = cmd_screenshot,
};
