#include "plugin/table.h"

#include "proc/plugins_program.h"

/*
 * The skills are programs on the PATH, and modules of each Python: there is nothing to
 * start. If jupyter is requested, too, cells have their functions without an import.
 */
static int table_start_skills(struct plugin_instance *p)
{
	struct buf why = BUF_INIT(2 * FILE_PATH_MAX);
	char path[FILE_PATH_MAX];
	int r = plugins_program_find(path);

	if (r)
		plugins_program_explain(path, r, &why);
	if (!r)
		plugin_mark_ready(p);
	else
		plugin_mark_unavailable(p, buf_cstr(&why) ? why.p : err_text(r));
	buf_free(&why);
	return 0;
}

const struct plugin plugin_agent_skills = {.name = "agent_skills",
	.start = table_start_skills};

const struct plugin *const plugins[] = {
	&plugin_agent_skills,
	&plugin_browser,
	&plugin_jupyter,
	&plugin_mcp,
	&plugin_vscode,
};
const size_t plugins_n = ARRAY_LEN(plugins);
