/* The tools of the sandbox: the table of them, and what is told of each. */
#ifndef SRV_MCP_TOOL_H
#define SRV_MCP_TOOL_H

#include "act/act.h"
#include "srv/search.h"

struct tool {
	const char *name;
	const char *about;
	const char *action; /* that it is, or NULL */
	const struct search_kind *search;
	const char *only; /* the one argument of the action that it has; NULL: all */
	const char *with; /* members that its args have besides, in JSON; or NULL */
	bool reads;       /* it changes nothing */
};

/* NULL for none of that name. */
const struct tool *tool_find(struct str name);
/* Writes all that this box has, as the value of "tools". */
void tools_write(const struct box *box, struct jw *w);
/* Whether the tool has an argument of that name. */
bool tool_has(const struct box *box, const struct tool *t, struct str name);

#endif
