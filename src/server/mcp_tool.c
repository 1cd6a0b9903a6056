#include "server/mcp_tool.h"

#include "base/str.h"

static const struct tool tools[] = {
	{"bash",
		"Runs a command in a shell that stays: its directory and variables are "
		"there "
		"for the next one. The answer ends with the exit code.",
		.action = "run"},
	{"read", "Reads a text file, or shows an image.", .action = "read",
		.reads = true},
	{"write", "Writes a file, or some of its lines.", .action = "write"},
	{"edit",
		"Views, creates and edits text files. Every change can be undone by "
		"undo_edit.",
		.action = "edit"},
	{"list", "Lists a folder, given by its absolute path, two levels deep.",
		.action = "read", .only = "path", .with = "\"impl_source\":\"oh_aci\"",
		.reads = true},
	{"glob", "Finds files by their names. The answer is JSON.",
		.search = &search_kind_glob, .reads = true},
	{"grep", "Finds lines in files by a regular expression. The answer is JSON.",
		.search = &search_kind_grep, .reads = true},
	{"ipython",
		"Executes Python in a kernel that stays: variables are there for the "
		"next "
		"cell.",
		.action = "run_ipython"},
	{"browser_navigate",
		"Shows a page in the sandbox's browser. The answer is its text, with its "
		"links.",
		.action = "browse"},
	{"browser_act",
		"Acts in the page that the browser shows. The answer is what is on it "
		"then, each element with its bid, and the path of a picture.",
		.action = "browse_interactive"},
};

/* --- One argument -------------------------------------------------------------- */

static void mcp_tool_put_enum(struct jw *w, const char *const *words)
{
	jw_key(w, "enum");
	jw_array(w);
	for (; *words; words++)
		jw_cstr(w, *words);
	jw_end(w);
}

static void mcp_tool_begin_property(
	struct jw *w, const char *name, const char *type, const char *about)
{
	jw_key(w, name);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
	if (!about)
		return;
	jw_key(w, "description");
	jw_cstr(w, about);
}

static void mcp_tool_put_arg(struct jw *w, const struct arg *arg, const char *about)
{
	static const char *const types[] = {
		[ARG_TEXT] = "string",
		[ARG_BOOL] = "boolean",
		[ARG_INT] = "integer",
		[ARG_LINES] = "array",
		[ARG_TIMEOUT] = "number",
	};

	mcp_tool_begin_property(w, arg->name, types[arg->type], about);
	if (arg->choices)
		mcp_tool_put_enum(w, arg->choices);
	if (arg->type == ARG_LINES) {
		jw_key(w, "items");
		jw_raw(w, STR("{\"type\":\"integer\"}"));
		jw_key(w, "minItems");
		jw_uint(w, 2);
		jw_key(w, "maxItems");
		jw_uint(w, 2);
	}
	jw_end(w);
}

static void mcp_tool_put_param(struct jw *w, const struct param *p)
{
	static const char *const types[] = {
		[PARAM_TEXT] = "string",
		[PARAM_PATH] = "string",
		[PARAM_BOOL] = "boolean",
		[PARAM_NUMBER] = "integer",
		[PARAM_CHOICE] = "string",
	};

	mcp_tool_begin_property(w, p->name, types[p->type], p->about);
	if (p->type == PARAM_CHOICE)
		mcp_tool_put_enum(w, p->words);
	if (p->type == PARAM_NUMBER) {
		jw_key(w, "minimum");
		jw_uint(w, p->min);
		jw_key(w, "maximum");
		jw_uint(w, p->max);
	}
	jw_end(w);
}

/* --- All of a tool ------------------------------------------------------------- */

static bool mcp_tool_is_arg_listed(const struct tool *t, const struct arg *arg)
{
	return !t->only || str_eq(str_c(t->only), str_c(arg->name));
}

/* NULL: the sandbox has no such action. */
static const struct arg *mcp_tool_find_args(const struct box *box, const struct tool *t)
{
	const struct action *action = act_find(box, str_c(t->action));

	return action ? action->args : NULL;
}

static void mcp_tool_put_args(struct jw *w, const struct tool *t, const struct arg *args)
{
	for (const struct arg *arg = args; arg && arg->name; arg++)
		if (mcp_tool_is_arg_listed(t, arg))
			mcp_tool_put_arg(w, arg, t->only ? NULL : arg->description);
	jw_end(w);
	jw_key(w, "required");
	jw_array(w);
	for (const struct arg *arg = args; arg && arg->name; arg++)
		if (mcp_tool_is_arg_listed(t, arg) && arg->required)
			jw_cstr(w, arg->name);
	jw_end(w);
}

/* A parameter that is the default of two others is in the table twice. */
static bool mcp_tool_is_duplicate(const struct search_kind *kind, size_t i)
{
	return i &&
		str_eq(str_c(search_get_param(kind, i)->name),
			str_c(search_get_param(kind, i - 1)->name));
}

static void mcp_tool_put_params(struct jw *w, const struct search_kind *kind)
{
	const struct param *p;

	for (size_t i = 0; (p = search_get_param(kind, i)); i++)
		if (!mcp_tool_is_duplicate(kind, i))
			mcp_tool_put_param(w, p);
	jw_end(w);
	jw_key(w, "required");
	jw_array(w);
	for (size_t i = 0; (p = search_get_param(kind, i)); i++)
		if (p->required)
			jw_cstr(w, p->name);
	jw_end(w);
}

static void mcp_tool_put(struct jw *w, const struct tool *t, const struct arg *args)
{
	jw_object(w);
	jw_key(w, "name");
	jw_cstr(w, t->name);
	jw_key(w, "description");
	jw_cstr(w, t->about);
	jw_key(w, "inputSchema");
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, "object");
	jw_key(w, "properties");
	jw_object(w);
	if (t->search)
		mcp_tool_put_params(w, t->search);
	else
		mcp_tool_put_args(w, t, args);
	jw_key(w, "additionalProperties");
	jw_bool(w, false);
	jw_end(w);
	jw_key(w, "annotations");
	jw_object(w);
	jw_key(w, "readOnlyHint");
	jw_bool(w, t->reads);
	jw_end(w);
	jw_end(w);
}

const struct tool *mcp_tool_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (str_eq(name, str_c(tools[i].name)))
			return &tools[i];
	return NULL;
}

void mcp_tool_write_all(const struct box *box, struct jw *w)
{
	jw_array(w);
	for (const struct tool *t = tools; t < tools + ARRAY_LEN(tools); t++) {
		const struct arg *args = t->action ? mcp_tool_find_args(box, t) : NULL;

		if (t->search || args)
			mcp_tool_put(w, t, args);
	}
	jw_end(w);
}

bool mcp_tool_has_arg(const struct box *box, const struct tool *t, struct str name)
{
	const struct arg *arg = t->action ? mcp_tool_find_args(box, t) : NULL;
	const struct param *p;

	for (; arg && arg->name; arg++)
		if (mcp_tool_is_arg_listed(t, arg) && str_eq(name, str_c(arg->name)))
			return true;
	for (size_t i = 0; t->search && (p = search_get_param(t->search, i)); i++)
		if (str_eq(name, str_c(p->name)))
			return true;
	return false;
}
