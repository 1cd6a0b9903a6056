/* The editor in a browser: so far the answer that there is none. */
#include "plug/table.h"

static void connection_token(struct plug *p, struct request *rq)
{
	(void)p;
	buf_puts(request_out(rq), "{\"token\":null}");
	request_reply(rq, 200, "application/json");
}

static const struct plug_route routes[] = {
	{"GET", "/vscode/connection_token", connection_token, NULL},
	{0},
};

const struct plugin plugin_vscode = {
	.name = "vscode",
	.routes = routes,
	.missing = "not part of this version",
};
