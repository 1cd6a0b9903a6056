#include "plug/table.h"

/*
 * The skills are programs on the PATH, and modules of each Python: there is nothing to
 * start. Where both were asked for, cells have their functions without an import.
 */
const struct plugin plugin_agent_skills = {.name = "agent_skills"};

const struct plugin *const plugins[] = {
	&plugin_agent_skills,
	&plugin_browser,
	&plugin_jupyter,
	&plugin_mcp,
	&plugin_vscode,
};
const size_t plugins_n = ARRAY_LEN(plugins);
