/* The MCP tools of the sandbox and their descriptions. */
#ifndef SERVER_MCP_TOOL_H
#define SERVER_MCP_TOOL_H

#include "action/act.h"
#include "server/files/search.h"

struct tool {
	const char *name;
	const char *about;
	const char *action; /* name of the action behind the tool, or NULL */
	const struct search_kind *search;
	const char *only; /* only argument that the tool has; NULL: all */
	const char *with; /* further members of the action's args, in JSON; or NULL */
	bool reads;       /* the tool changes nothing */
};

/* The tool of that name; NULL: there is none. */
const struct tool *mcp_tool_find(struct str name);
/* Writes the tools that this sandbox has, as the value of "tools". */
void mcp_tool_write_all(const struct box *box, struct jw *w);
/* Whether the tool has an argument of that name. */
bool mcp_tool_has_arg(const struct box *box, const struct tool *t, struct str name);

#endif
