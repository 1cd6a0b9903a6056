/* inspect: everything known about sandboxes, for programs. */
#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/sandbox/sandbox.h"
#include "inject/sandbox/sandbox_info.h"
#include "limits.h"

#include <errno.h>

enum { INDENT = 4 };

static void cmd_inspect_begin_line(struct buf *out, size_t depth)
{
	buf_putc(out, '\n');
	for (size_t i = 0; i < depth * INDENT; i++)
		buf_putc(out, ' ');
}

/* Indents JSON without blanks for people; [] and {} stay together. */
static void cmd_inspect_indent_json(struct str json, struct buf *out)
{
	bool text = false;
	size_t depth = 0;

	for (size_t i = 0; i < json.n; i++) {
		char c = json.p[i], next = i + 1 < json.n ? json.p[i + 1] : '\0';

		if (!text && (c == ']' || c == '}') && json.p[i - 1] != c - 2)
			cmd_inspect_begin_line(out, --depth);
		buf_putc(out, c);
		if (c == '"')
			text = !text;
		else if (text && c == '\\')
			buf_putc(out, json.p[++i]);
		else if (text)
			continue;
		else if (c == ':')
			buf_putc(out, ' ');
		else if (c == ',')
			cmd_inspect_begin_line(out, depth);
		else if ((c == '[' || c == '{') && next != c + 2)
			cmd_inspect_begin_line(out, ++depth);
	}
}

static int cmd_inspect_print(const struct command_line *line, struct str json)
{
	struct buf out = BUF_INIT(2 * (size_t)INJECT_REPLY_MAX);

	if (line->json)
		buf_str(&out, json);
	else
		cmd_inspect_indent_json(json, &out);
	return out_write_line(&out);
}

static int cmd_inspect_sandbox(const struct engine *e, const char *name, struct jw *all)
{
	struct buf json = BUF_INIT(INJECT_REPLY_MAX);
	struct sandbox s;
	struct jw w;
	int r = sandbox_require(e, name, &s);

	if (r)
		return r;
	jw_init(&w, &json);
	jw_object(&w);
	r = sandbox_info_request(e, s.state.id, SANDBOX_MEMBERS_INSPECT, &w);
	jw_end(&w);
	r = r ? r : json.err;
	if (!r)
		jw_raw(all, buf_view(&json));
	buf_free(&json);
	return r;
}

/* Prints an array, as docker inspect does; after a failure the rest is printed. */
static int cmd_inspect(const struct command_line *line)
{
	struct buf json = BUF_INIT(INJECT_REPLY_MAX);
	struct engine e;
	struct jw w;
	int first = 0, r = engine_open(&e, line->host);

	if (r)
		return r;
	jw_init(&w, &json);
	jw_array(&w);
	for (size_t i = 0; i < line->operand_n && r != -EINTR && r != -ENOMEM; i++) {
		r = cmd_inspect_sandbox(&e, line->operand[i], &w);
		first = first ? first : r;
	}
	jw_end(&w);
	r = json.err ? json.err : cmd_inspect_print(line, buf_view(&json));
	buf_free(&json);
	return first ? first : r;
}

const struct command command_inspect = {
	.name = "inspect",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "print the details of sandboxes as a JSON array",
	.examples = {"od-runtime inspect box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.run = cmd_inspect,
};
