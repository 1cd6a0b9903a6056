/* The built-in plugins. */
#ifndef PLUGIN_TABLE_H
#define PLUGIN_TABLE_H

#include "plugin/plugin.h"

extern const struct plugin plugin_agent_skills;
extern const struct plugin plugin_browser;
extern const struct plugin plugin_jupyter;
extern const struct plugin plugin_mcp;
extern const struct plugin plugin_vscode;

#endif
